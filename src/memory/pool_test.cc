#include "memory/pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "dynet/devices.h"
#include "dynet/except.h"

#include "memory/pools.h"
#include "params/host_memory.h"
#include "testing/errors.h"

namespace dynet::memory {
namespace {

TEST(Pool, BlocksAreAlignedAndApart) {
  Pool pool(params::host_memory());
  std::byte* last = nullptr;
  for (std::int64_t bytes = 0; bytes < 5000; bytes += 37) {
    auto* p = static_cast<std::byte*>(pool.allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0U);
    EXPECT_NE(p, last);
    std::memset(p, 1, static_cast<std::size_t>(bytes));
    last = bytes == 0 ? nullptr : p;
  }
}

/// Single numbers lie close together; none of the small blocks crosses a cache line.
TEST(Pool, SmallBlocksTakeLittle) {
  Pool pool(params::host_memory());
  const auto* first = static_cast<std::byte*>(pool.allocate(4));
  for (int i = 1; i < 16; ++i) {
    EXPECT_EQ(pool.allocate(4), first + std::ptrdiff_t{4} * i);
  }
  EXPECT_EQ(pool.mark().used, 64U);
  const std::byte* end = first + 64;
  for (const std::int64_t bytes : {4, 24, 8, 32, 12, 16, 1, 31}) {
    const auto* p = static_cast<std::byte*>(pool.allocate(bytes));
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    EXPECT_EQ(at / 64, (at + static_cast<std::uintptr_t>(bytes) - 1) / 64) << bytes;
    EXPECT_GE(p, end);
    end = p + bytes;
  }
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.allocate(33)) % 64, 0U);
}

TEST(Pool, ReleaseGivesTheSameMemoryAgain) {
  Pool pool(params::host_memory());
  pool.allocate(1000);
  const Pool::Mark mark = pool.mark();
  void* a = pool.allocate(3 << 20);
  const std::size_t held = pool.held();
  pool.release(mark);
  pool.allocate(64);
  pool.release(mark);
  EXPECT_EQ(pool.allocate(3 << 20), a);
  EXPECT_EQ(pool.held(), held);
}

TEST(Pool, TheCapIsAnErrorAndNothingIsLost) {
  Pool pool(params::host_memory());
  auto* before = static_cast<std::byte*>(pool.allocate(100));
  before[0] = std::byte{7};
  set_cap(bytes_held() + (std::size_t{2} << 20));
  EXPECT_THROW(pool.allocate(std::int64_t{64} << 20), out_of_memory);
  EXPECT_EQ(before[0], std::byte{7});
  EXPECT_NE(pool.allocate(100), nullptr);
  set_cap(0);
  EXPECT_NE(pool.allocate(std::int64_t{64} << 20), nullptr);
}

TEST(Pool, GivesBackWhatLiesBeyondWhatIsInUse) {
  Pool pool(params::host_memory());
  auto* first = static_cast<std::byte*>(pool.allocate(100));
  const std::size_t held = pool.held();
  const std::size_t held_by_all = bytes_held();
  const Pool::Mark mark = pool.mark();
  pool.allocate(std::int64_t{8} << 20);
  pool.allocate(std::int64_t{64} << 20);
  pool.release(mark);
  pool.give_back_unused();
  EXPECT_EQ(pool.held(), held);
  EXPECT_EQ(bytes_held(), held_by_all);
  first[99] = std::byte{1};
  EXPECT_EQ(static_cast<std::byte*>(pool.allocate(100)), first + 128);
  pool.reset();
  pool.give_back_unused();
  EXPECT_EQ(pool.held(), 0U);
  EXPECT_NE(pool.allocate(100), nullptr);
}

TEST(Pool, TheFirstSizeIsWhatWasAskedFor) {
  std::atomic<std::size_t> first{std::size_t{3} << 20};
  Pool pool(params::host_memory(), &first);
  pool.allocate(64);
  EXPECT_EQ(pool.held(), std::size_t{3} << 20);
  pool.trim(64);  // the requested memory is kept
  EXPECT_EQ(pool.held(), std::size_t{3} << 20);
  pool.trim(0);
  EXPECT_EQ(pool.held(), 0U);
  first = 0;
  pool.allocate(64);
  EXPECT_EQ(pool.held(), std::size_t{1} << 20);
}

/// Deals out one block from its start to its end, so that chunks lie one behind the other.
class OneBlock : public ext::Memory {
 public:
  OneBlock() : Memory(true), block_(std::size_t{8} << 20) {}
  void* allocate(std::size_t bytes, ext::Contents /*contents*/) override {
    void* const begin = block_.data() + used_;
    used_ += bytes;
    return used_ <= block_.size() ? begin : nullptr;
  }
  void free(void* data, std::size_t /*bytes*/) noexcept override { freed.push_back(data); }
  void copy_in(const void* from, void* to, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void copy_out(const void* from, void* to, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void wait() override {}
  std::vector<void*> freed;

 private:
  std::vector<std::byte> block_;
  std::size_t used_ = 0;
};

/// A device says more than null about memory that is not there, or cannot answer at all.
TEST(Pool, CountsNothingForMemoryThatThrows) {
  class Throws final : public OneBlock {
   public:
    void* allocate(std::size_t bytes, ext::Contents /*contents*/) override {
      if (bytes > std::size_t{1} << 20) {
        throw out_of_memory("GPU:0 refused");
      }
      throw std::runtime_error("GPU:0 failed");
    }
  } memory;
  Pool pool(memory);
  const std::size_t before = bytes_held();
  EXPECT_EQ(testing::text_of_error<out_of_memory>([&] { pool.allocate(std::int64_t{2} << 20); }),
            "out of memory: GPU:0 refused (" + std::to_string(before) + " held)");
  EXPECT_EQ(testing::text_of_error<std::runtime_error>([&] { pool.allocate(64); }), "GPU:0 failed");
  EXPECT_EQ(bytes_held(), before);
}

/// An address at the end of a chunk lies in the next chunk.
TEST(Pool, SharesTheChunkThatTheNumbersLieIn) {
  OneBlock memory;
  std::shared_ptr<const void> kept;
  void* first = nullptr;
  void* second = nullptr;
  {
    Pool pool(memory);
    first = pool.allocate(std::int64_t{1} << 20);
    second = static_cast<std::byte*>(first) + (std::size_t{1} << 20);
    EXPECT_FALSE(pool.contains(second));
    ASSERT_EQ(pool.allocate(64), second);
    EXPECT_TRUE(pool.contains(second));
    kept = pool.share(second);
    EXPECT_EQ(kept.get(), second);
  }
  EXPECT_EQ(memory.freed, std::vector<void*>{first});
  kept.reset();
  EXPECT_EQ(memory.freed, (std::vector<void*>{first, second}));
}

/// Marks cover all pools, also pools made after the mark.
TEST(Pools, AMarkCoversAllMemories) {
  ext::Memory& own = params::host_memory();
  ext::Memory& far = *get_device_manager()->get_global_device("FAR:0")->memory;
  ext::Memory& other = *get_device_manager()->get_global_device("FAR:1")->memory;
  Pools pools(own);
  const Pools::Mark start = pools.mark();
  void* const first = pools.of(far).allocate(100);
  const Pools::Mark middle = pools.mark();
  void* const second = pools.of(far).allocate(100);
  void* const here = pools.of(own).allocate(100);
  void* const there = pools.of(other).allocate(100);
  EXPECT_TRUE(pools.contains(far, second));
  EXPECT_FALSE(pools.contains(own, second));
  EXPECT_EQ(pools.used(), 4 * 128U);
  for (int round = 0; round < 3; ++round) {
    pools.release(middle);
    EXPECT_EQ(pools.used(), 128U);
    EXPECT_EQ(pools.of(far).allocate(100), second);
    const Pools::Mark inner = pools.mark();
    pools.of(far).allocate(1000);
    pools.release(inner);
    pools.of(far).allocate(1000);
    EXPECT_EQ(pools.of(other).allocate(100), there);
    EXPECT_EQ(pools.of(own).allocate(100), here);
  }
  pools.release(start);
  EXPECT_EQ(pools.used(), 0U);
  EXPECT_EQ(pools.of(far).allocate(100), first);
  pools.reset();
  EXPECT_EQ(pools.used(), 0U);
  const std::size_t held = pools.held();
  pools.set_own(other);
  EXPECT_LT(pools.held(), held);
  EXPECT_EQ(pools.held(), 0U);
  pools.of(other).allocate(64);
  EXPECT_TRUE(pools.contains(other, pools.of(other).allocate(64)));
}

}  // namespace
}  // namespace dynet::memory
