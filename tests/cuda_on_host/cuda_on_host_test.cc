// The mistakes that the library finds: each is planted, with its right form beside it.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "mistakes.h"

namespace cuda_on_host::testing {
namespace {

/// Memory of the device.
class Numbers {
 public:
  explicit Numbers(int count) : count_(static_cast<std::size_t>(count)) {
    void* p = nullptr;
    EXPECT_EQ(cudaMalloc(&p, bytes()), cudaSuccess);
    data_ = static_cast<float*>(p);
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  ~Numbers() { cudaFree(data_); }
  [[nodiscard]] float* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(float); }
  [[nodiscard]] std::vector<float> get() const {
    std::vector<float> v(count_);
    EXPECT_EQ(cudaMemcpy(v.data(), data_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    return v;
  }

 private:
  std::size_t count_;
  float* data_;
};

/// Pinned memory of the host.
class Pinned {
 public:
  explicit Pinned(int count) {
    EXPECT_EQ(cudaMallocHost(&data_, static_cast<std::size_t>(count) * sizeof(float)), cudaSuccess);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { cudaFreeHost(data_); }
  [[nodiscard]] float* data() const { return static_cast<float*>(data_); }

 private:
  void* data_ = nullptr;
};

/// A program started anew dies in a test of deaths: a child after fork() may not use the device.
class CudaOnHost : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void wait() { EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess); }

TEST_F(CudaOnHost, BarrierThatIsMissing) {
  const Numbers y(12);
  start_sums(y.data(), Barriers::kBoth);
  const std::vector<float> sums = y.get();
  for (std::size_t k = 0; k < 12; ++k) {
    EXPECT_EQ(sums[k], 127.0F * 64 + 128.0F * static_cast<float>(k % 4));
  }
  const auto run = [&](Barriers barriers) {
    start_sums(y.data(), barriers);
    wait();
  };
  EXPECT_DEATH(run(Barriers::kFirst), "a race: a thread .* another thread");
  EXPECT_DEATH(run(Barriers::kLast), "a race: a thread .* another thread");
}

TEST_F(CudaOnHost, MaskThatIsTooSmallOrTooLarge) {
  constexpr unsigned kAll = 0xffffffffU;
  const Numbers y(1);
  start_warp_sum(y.data(), 32, kAll);
  EXPECT_EQ(y.get()[0], 496.0F);
  const auto run = [&](int active, unsigned mask) {
    start_warp_sum(y.data(), active, mask);
    wait();
  };
  EXPECT_DEATH(run(32, 0xffffU), "__shfl_xor_sync: (reads lane|the mask)");
  EXPECT_DEATH(run(20, kAll), "__shfl_xor_sync: lanes .* have returned|no thread can go on");
}

TEST_F(CudaOnHost, ExchangeThatIsMissing) {
  const Numbers y(1);
  start_warp_leaves(y.data(), true);
  EXPECT_EQ(y.get()[0], 496.0F);
  const auto run = [&] {
    start_warp_leaves(y.data(), false);
    wait();
  };
  EXPECT_DEATH(run(), "a race");
}

TEST_F(CudaOnHost, ThreadThatReturnsBeforeABarrier) {
  const Numbers y(128);
  const auto run = [&] {
    start_early_return(y.data());
    wait();
  };
  EXPECT_DEATH(run(), "__syncthreads");
}

TEST_F(CudaOnHost, TwoThreadsThatWriteOnePlace) {
  const Numbers y(1);
  start_set(y.data(), 0.0F, 1);
  start_count(y.data(), Adds::kAtomic);
  EXPECT_EQ(y.get()[0], 256.0F);
  const auto run = [&] {
    start_count(y.data(), Adds::kPlain);
    wait();
  };
  EXPECT_DEATH(run(), "a race");
}

TEST_F(CudaOnHost, BlockThatNeedsTheBlockBefore) {
  const Numbers y(16);
  const auto run = [&] {
    start_in_order(y.data());
    wait();
  };
  EXPECT_DEATH(run(), "a race");
}

TEST_F(CudaOnHost, MemoryThatNobodySet) {
  const Numbers y(8);
  EXPECT_TRUE(std::isnan(y.get()[0]));
  start_unset_shared(y.data());
  EXPECT_TRUE(std::isnan(y.get()[0]));
  start_set(y.data(), 1.0F, 8);
  EXPECT_EQ(y.get()[7], 1.0F);
}

TEST_F(CudaOnHost, MemoryOfTheHostInAKernel) {
  float here[8] = {};
  EXPECT_DEATH(start_set(here, 1.0F, 8), "arguments begins an address of the host");
  const Numbers y(1);
  const auto run = [&](void (*start)(float*)) {
    start(y.data());
    wait();
  };
  EXPECT_DEATH(run(start_host_variable), "an access to 4 bytes of the host");
  EXPECT_DEATH(run(start_foreign_local), "a local variable of another thread");
}

TEST_F(CudaOnHost, MemoryBeyondAnAllocation) {
  const Numbers y(8);
  const auto run = [&] {
    start_set(y.data(), 1.0F, 9);
    wait();
  };
  EXPECT_DEATH(run(), "not in one allocation");
  std::vector<float> v(9);
  EXPECT_DEATH(cudaMemcpy(v.data(), y.data(), v.size() * sizeof(float), cudaMemcpyDeviceToHost),
               "the source of a copy: 36 bytes .* are not in one allocation");
}

TEST_F(CudaOnHost, HostThatTouchesTheDevice) {
  const Numbers y(8);
  start_set(y.data(), 1.0F, 8);
  wait();
  EXPECT_EXIT(std::_Exit(y.data()[0] == 1.0F ? 0 : 1), ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(CudaOnHost, CopyInTheWrongDirection) {
  const Numbers y(1);
  float here = 1.0F;
  EXPECT_DEATH(cudaMemcpy(y.data(), &here, sizeof here, cudaMemcpyDeviceToHost),
               "the target of a copy at .* is memory of the device");
  EXPECT_DEATH(cudaMemcpy(&here, y.data(), sizeof here, cudaMemcpyHostToDevice),
               "the target of a copy at .* is memory of the host");
}

TEST_F(CudaOnHost, WaitThatIsMissing) {
  const Numbers y(1);
  const Pinned copy(1);
  const auto copy_out = [&] {
    start_set(y.data(), 3.0F, 1);
    cudaMemcpyAsync(copy.data(), y.data(), y.bytes(), cudaMemcpyDeviceToHost);
  };
  wait();
  copy_out();
  EXPECT_TRUE(std::isnan(*copy.data()));
  wait();
  EXPECT_EQ(*copy.data(), 3.0F);
}

TEST_F(CudaOnHost, PinnedMemoryThatIsWrittenTooEarly) {
  const Numbers a(1), b(1);
  const Pinned from(1);
  const auto copy_both = [&](bool waits) {
    for (const Numbers* to : {&a, &b}) {
      *from.data() = to == &a ? 1.0F : 2.0F;
      cudaMemcpyAsync(to->data(), from.data(), to->bytes(), cudaMemcpyHostToDevice);
      if (waits) {
        wait();
      }
    }
  };
  copy_both(true);
  EXPECT_EQ(a.get()[0], 1.0F);
  copy_both(false);
  EXPECT_EQ(a.get()[0], 2.0F);
}

TEST_F(CudaOnHost, StreamsWithoutAnEvent) {
  cudaStream_t streams[2];
  for (cudaStream_t& s : streams) {
    ASSERT_EQ(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
  }
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  const Numbers y(1);
  const auto last = [&](bool has_event) {
    start_set(y.data(), 1.0F, 1, streams[0]);
    cudaEventRecord(event, streams[0]);
    if (has_event) {
      cudaStreamWaitEvent(streams[1], event);
    }
    start_set(y.data(), 2.0F, 1, streams[1]);
    cudaStreamSynchronize(streams[1]);
    cudaStreamSynchronize(streams[0]);
    return y.get()[0];
  };
  EXPECT_EQ(last(true), 2.0F);
  EXPECT_EQ(last(false), 1.0F);
  cudaEventDestroy(event);
  for (cudaStream_t s : streams) {
    cudaStreamDestroy(s);
  }
}

TEST_F(CudaOnHost, LaunchThatCudaRefuses) {
  const Numbers y(8);
  start_set(y.data(), 1.0F, 8, nullptr, 2048);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(CudaOnHost, MemoryThatIsNotThere) {
  std::size_t free = 0;
  std::size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  void* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, total + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  ASSERT_EQ(cudaMalloc(&p, 1), cudaSuccess);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST_F(CudaOnHost, ChildOfAProcessThatUsesTheDevice) {
  const Numbers y(1);
  const pid_t child = fork();
  if (child == 0) {
    void* p = nullptr;
    _Exit(cudaMalloc(&p, 4) == cudaErrorInitializationError ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace cuda_on_host::testing
