// CUDA kernels of the rules over rows against the plain loops in double. Built with
// -DDYNET_CUDA=ON; without a device, tests that need one are skipped, with a message.

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory_resource>
#include <new>
#include <set>

#include "dynet/ops/all.h"

#include "kernels/launch.h"
#include "ops/device_rules.h"
#include "row_test_cases.h"
#include "testing/tolerance.h"

namespace dynet::ops {
namespace {

TEST(DeviceRows, EveryRuleHasKernels) {
  std::set<const ext::RowLoops*> rules;  // a rule may be in the list twice
  ext::WithSteps<AllOps>::for_each([&]<class Op>() {
    if constexpr (ext::RowOperation<Op>) {
      rules.insert(&ext::row_loops<Op>());
      const DeviceRowLoops* loops = device_row_loops(&ext::kRowRule<Op>);
      ASSERT_NE(loops, nullptr) << Op::kInfo.name;
      EXPECT_NE(loops->forward, nullptr) << Op::kInfo.name;
      EXPECT_NE(loops->backward, nullptr) << Op::kInfo.name;
    }
  });
  EXPECT_EQ(static_cast<std::int64_t>(rules.size()), device_row_loop_count());
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

bool has_device() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

/// Runs a call of Op on the device.
template <class Op>
void run_on_device(ext::Direction direction, const ext::RowCall& call) {
  const DeviceRowLoops* loops = device_row_loops(&ext::kRowRule<Op>);
  if (loops == nullptr) {
    FAIL() << Op::kInfo.name << " has no kernels";
  }
  (direction == ext::Direction::kForward ? loops->forward : loops->backward)(call, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << Op::kInfo.name;
}

TEST(DeviceRows, ComputeWhatThePlainLoopsCompute) {
  if (!has_device()) {
    GTEST_SKIP() << "no CUDA device";
  }
  Managed managed;
  // The same memory again and again, for thousands of cases with dozens of vectors each.
  std::pmr::unsynchronized_pool_resource memory({.largest_required_pool_block = 1 << 16}, &managed);
  testing::for_each_row_example([&]<class Op>(const ext::Example<Op>& example) {
    testing::compare_with_double(example, run_on_device<Op>, &memory);
  });
}

/// A grid has at most 2^16 blocks of 8 rows: each block then goes on to further rows.
TEST(DeviceRows, AreMoreThanAGridHasWarps) {
  if (!has_device()) {
    GTEST_SKIP() << "no CUDA device";
  }
  Managed memory;
  testing::RowCase<Softmax> call(
      Softmax::examples()[0], testing::rows_of(2, 1, std::int64_t{8} * kernels::most_blocks() + 5),
      0, &memory);
  for (const ext::Direction direction : {ext::Direction::kForward, ext::Direction::kBackward}) {
    call.in_float(direction, run_on_device<Softmax>);
    call.in_double(direction);
    EXPECT_LE(call.out().difference(), tolerance::kRuleInFloat);
    call.out().round();
  }
  EXPECT_LE(call.gradients().difference(), tolerance::kRuleInFloat);
}

/// Rows that share gains and biases add their gradients to the same numbers.
TEST(DeviceRows, AddToSharedGradients) {
  if (!has_device()) {
    GTEST_SKIP() << "no CUDA device";
  }
  Managed memory;
  testing::RowCase<LayerNorm> call(LayerNorm::examples()[0], testing::rows_of(24, 1, 17), 0,
                                   &memory);
  call.in_double(ext::Direction::kForward);
  call.out().round();
  call.in_float(ext::Direction::kBackward, run_on_device<LayerNorm>);
  call.in_double(ext::Direction::kBackward);
  EXPECT_LE(call.gradients().difference(), tolerance::kRuleInFloat);
}

}  // namespace
}  // namespace dynet::ops
