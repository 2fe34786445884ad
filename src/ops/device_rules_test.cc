// CUDA kernels of the rules against the plain loops. Built with -DDYNET_CUDA=ON; what needs a
// device is skipped, and says so, where there is none.

#include "ops/device_rules.h"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "dynet/ops/all.h"

#include "testing/tolerance.h"

namespace dynet::ops {
namespace {

constexpr std::int64_t kElements = 1000;

TEST(DeviceRules, EveryRuleHasKernels) {
  std::int64_t rules = 0;
  AllOps::for_each([&]<class Op>() {
    if constexpr (ext::Rule<Op>) {
      ++rules;
      const DeviceLoops* loops = device_loops(&ext::kRuleInfo<Op>);
      ASSERT_NE(loops, nullptr) << Op::kInfo.name;
      EXPECT_NE(loops->forward, nullptr);
      EXPECT_NE(loops->backward, nullptr);
    }
  });
  EXPECT_EQ(rules, device_loop_count());
  EXPECT_EQ(device_loops(nullptr), nullptr);
}

/// Numbers that both the host and the device see.
class Shared {
 public:
  Shared() { EXPECT_EQ(cudaMallocManaged(&data_, kElements * sizeof(float)), cudaSuccess); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { cudaFree(data_); }
  [[nodiscard]] float* data() const { return static_cast<float*>(data_); }

 private:
  void* data_ = nullptr;
};

template <class Op>
void compare(const ext::Example<Op>& e, ext::RuleLoop plain, DeviceLoop device, std::size_t inputs,
             std::size_t outputs) {
  std::vector<Shared> in(inputs), out(2 * outputs);
  std::vector<ext::Stream> read, expected, found;
  std::mt19937 rng(1);
  std::uniform_real_distribution<float> draw(static_cast<float>(e.low), static_cast<float>(e.high));
  for (const Shared& x : in) {
    for (std::int64_t i = 0; i < kElements; ++i) {
      x.data()[i] = draw(rng);
    }
    read.push_back({x.data(), ext::Stream::kRun});
  }
  for (std::size_t k = 0; k < outputs; ++k) {
    expected.push_back({out[2 * k].data(), ext::Stream::kStore});
    found.push_back({out[2 * k + 1].data(), ext::Stream::kStore});
  }
  plain(&e.op, read.data(), expected.data(), kElements);
  device(&e.op, read.data(), found.data(), kElements, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (std::size_t k = 0; k < outputs; ++k) {
    for (std::int64_t i = 0; i < kElements; ++i) {
      const float want = out[2 * k].data()[i];
      ASSERT_NEAR(out[2 * k + 1].data()[i], want,
                  tolerance::kSumsInFloat * std::max(1.0F, std::fabs(want)))
          << Op::kInfo.name;
    }
  }
}

TEST(DeviceRules, ComputeWhatThePlainLoopsCompute) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    GTEST_SKIP() << "no CUDA device";
  }
  AllOps::for_each([&]<class Op>() {
    if constexpr (ext::Rule<Op>) {
      using Arity = ext::RuleArity<Op>;
      const DeviceLoops* loops = device_loops(&ext::kRuleInfo<Op>);
      for (const auto& e : Op::examples()) {
        compare(e, ext::detail::plain_forward<Op, float>, loops->forward, Arity::inputs(),
                Arity::results());
        compare(e, ext::detail::plain_backward<Op, float>, loops->backward,
                Arity::backward_inputs(), Arity::gradients());
      }
    }
  });
}

}  // namespace
}  // namespace dynet::ops
