#include "util/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace dynet::util {
namespace {

/// Pieces of random sizes, each full of a byte of its own.
class Pieces {
 public:
  explicit Pieces(Arena& arena) : arena_(&arena) {}
  void add(std::size_t bytes) {
    void* const memory = arena_->allocate(bytes);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 8, 0U);
    std::memset(memory, byte(pieces_.size()), bytes);
    pieces_.emplace_back(static_cast<unsigned char*>(memory), bytes);
  }
  void keep(std::size_t count) { pieces_.resize(count); }
  [[nodiscard]] std::size_t count() const { return pieces_.size(); }
  void check() const {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      for (std::size_t k = 0; k < pieces_[i].second; ++k) {
        ASSERT_EQ(pieces_[i].first[k], byte(i)) << "piece " << i << ", byte " << k;
      }
    }
  }

 private:
  static unsigned char byte(std::size_t i) { return static_cast<unsigned char>(i * 7 + 1); }
  Arena* arena_;
  std::vector<std::pair<unsigned char*, std::size_t>> pieces_;
};

TEST(Arena, KeepsWhatStandsBeforeAMarkOverChunks) {
  Arena arena;
  Pieces pieces(arena);
  std::vector<std::pair<Arena::Mark, std::size_t>> marks{{arena.mark(), 0}};  // before any chunk
  std::mt19937 random(3);
  for (int step = 0; step < 600; ++step) {
    pieces.add(random() % 20 == 0 ? 40000 + random() % 90000 : 1 + random() % 200);
    if (random() % 8 == 0) {
      marks.emplace_back(arena.mark(), pieces.count());
    } else if (random() % 25 == 0) {
      arena.release(marks.back().first);
      pieces.keep(marks.back().second);
      if (marks.size() > 1) {
        marks.pop_back();
      }
    }
    if (step % 50 == 0) {
      pieces.check();
    }
  }
  pieces.check();
  arena.release(marks.front().first);
  EXPECT_NE(arena.capacity(), 0U);
}

TEST(Arena, NeedsNoMoreMemoryForTheSameAgain) {
  Arena arena;
  EXPECT_EQ(arena.capacity(), 0U);
  const auto fill = [&arena] {
    for (std::size_t i = 0; i < 3000; ++i) {
      arena.allocate(1 + i % 300);
    }
  };
  fill();
  const std::size_t needed = arena.capacity();
  arena.reset();
  void* const first = arena.allocate(8);
  for (int round = 0; round < 3; ++round) {
    arena.reset();
    EXPECT_EQ(arena.allocate(8), first);
    fill();
    EXPECT_EQ(arena.capacity(), needed);
  }
}

std::size_t taken = 0;
constexpr std::size_t kMost = 150000;
struct Refused {};
constexpr Budget kBudget{[](std::size_t bytes) { return taken + bytes <= kMost; },
                         [](std::size_t bytes) {
                           if (taken + bytes > kMost) {
                             throw Refused();
                           }
                           taken += bytes;
                         },
                         [](std::size_t bytes) noexcept { taken -= bytes; }};

TEST(Arena, TakesWhatItsBudgetHas) {
  {
    Arena arena(kBudget);
    Pieces pieces(arena);
    pieces.add(1000);
    const std::size_t first = taken;
    EXPECT_EQ(first, arena.capacity());
    pieces.add(first);  // a chunk of twice the size would be too much
    EXPECT_EQ(taken, 2 * first);
    const Arena::Mark mark = arena.mark();
    EXPECT_THROW(arena.allocate(kMost - taken + 8), Refused);
    pieces.add(kMost - taken - 8);
    pieces.check();
    EXPECT_LE(taken, kMost);
    EXPECT_EQ(taken, arena.capacity());
    arena.release(mark);
    arena.reset();
    EXPECT_EQ(taken, arena.capacity());
  }
  EXPECT_EQ(taken, 0U);
}

}  // namespace
}  // namespace dynet::util
