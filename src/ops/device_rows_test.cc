// CUDA kernels of the rules over rows against the plain loops in double. Built with
// -DDYNET_CUDA=ON; what needs a device is skipped, and says so, where there is none.

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory_resource>
#include <new>

#include "dynet/ops/all.h"

#include "ops/device_rules.h"
#include "row_test_cases.h"

namespace dynet::ops {
namespace {

TEST(DeviceRows, EveryRuleHasKernels) {
  std::int64_t rules = 0;
  ext::WithSteps<AllOps>::for_each([&]<class Op>() {
    if constexpr (ext::RowOperation<Op>) {
      ++rules;
      const DeviceRowLoops* loops = device_row_loops(&ext::kRowRule<Op>);
      ASSERT_NE(loops, nullptr) << Op::kInfo.name;
      EXPECT_NE(loops->forward, nullptr) << Op::kInfo.name;
      EXPECT_NE(loops->backward, nullptr) << Op::kInfo.name;
    }
  });
  EXPECT_EQ(rules, device_row_loop_count());
  EXPECT_EQ(device_row_loops(nullptr), nullptr);
}

/// Memory that both the host and the device see.
class Managed : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t /*alignment*/) override {
    void* data = nullptr;
    if (cudaMallocManaged(&data, bytes) != cudaSuccess) {
      throw std::bad_alloc();
    }
    return data;
  }
  void do_deallocate(void* data, std::size_t /*bytes*/, std::size_t /*alignment*/) override {
    cudaFree(data);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

TEST(DeviceRows, ComputeWhatThePlainLoopsCompute) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    GTEST_SKIP() << "no CUDA device";
  }
  Managed managed;
  // Thousands of cases with dozens of vectors each: they use the same memory again.
  std::pmr::unsynchronized_pool_resource memory({.largest_required_pool_block = 1 << 16}, &managed);
  testing::for_each_row_example([&]<class Op>(const ext::Example<Op>& example) {
    const DeviceRowLoops* loops = device_row_loops(&ext::kRowRule<Op>);
    if (loops == nullptr) {
      return;  // the test above says so
    }
    const auto run = [&](ext::Direction direction, const ext::RowCall& call) {
      (direction == ext::Direction::kForward ? loops->forward : loops->backward)(call, nullptr);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << Op::kInfo.name;
    };
    testing::compare_with_double(example, run, &memory);
  });
}

}  // namespace
}  // namespace dynet::ops
