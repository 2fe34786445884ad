// CUDA kernels of the rules against the plain loops. Built with -DDYNET_CUDA=ON; without a device,
// tests that need one are skipped, with a message.

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

/// Calls f.operator()<Op, Form>() for every rule of the list: the rule itself, and each of its
/// forms without some optional arguments, which have kernels of their own.
void for_each_form(auto f) {
  AllOps::for_each([&]<class Op>() {
    if constexpr (ext::Rule<Op>) {
      ext::for_each_form<Op>([&]<class Form>() { f.template operator()<Op, Form>(); });
    }
  });
}

TEST(DeviceRules, EveryFormOfARuleHasKernels) {
  std::int64_t forms = 0;
  for_each_form([&]<class Op, class Form>() {
    ++forms;
    const DeviceLoops* loops = device_loops(&ext::kRuleInfo<Form>);
    ASSERT_NE(loops, nullptr) << Op::kInfo.name;
    EXPECT_NE(loops->forward, nullptr) << Op::kInfo.name;
    EXPECT_NE(loops->backward, nullptr) << Op::kInfo.name;
  });
  EXPECT_EQ(forms, device_loop_count());
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
  for_each_form([]<class Op, class Form>() {
    using Arity = ext::RuleArity<Form>;
    const DeviceLoops* loops = device_loops(&ext::kRuleInfo<Form>);
    ASSERT_NE(loops, nullptr) << Op::kInfo.name;
    for (const auto& e : Op::examples()) {
      compare(e, ext::detail::plain_forward<Form, float>, loops->forward, Arity::inputs(),
              Arity::results());
      compare(e, ext::detail::plain_backward<Form, float>, loops->backward,
              Arity::backward_inputs(), Arity::gradients());
    }
  });
}

}  // namespace
}  // namespace dynet::ops
