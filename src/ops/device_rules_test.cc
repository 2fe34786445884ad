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
  start_run(device, &e.op, read.data(), read.size(), found.data(), found.size(), kElements,
            nullptr);
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

bool has_device() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

TEST(DeviceRules, ComputeWhatThePlainLoopsCompute) {
  if (!has_device()) {
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

/// The streams of a rule: n numbers each, with one more before and one behind.
class Modes {
 public:
  Modes(std::int64_t n, std::size_t inputs, std::size_t results)
      : n_(n), inputs_(inputs), memory_(inputs + 2 * results) {
    for (const Shared& numbers : memory_) {
      for (std::int64_t i = 0; i < kElements; ++i) {
        numbers.data()[i] = static_cast<float>(i % 13) - 6.0F;
      }
    }
  }
  /// The rule by both loops; the results must be equal, and the numbers around them untouched.
  void compare(ext::RuleLoop plain, DeviceLoop device, const void* op, ext::Stream::Mode in,
               ext::Stream::Mode out) {
    std::vector<ext::Stream> read, wanted, found;
    for (std::size_t k = 0; k < memory_.size(); ++k) {
      const bool is_input = k < inputs_;
      auto& streams = is_input ? read : (k - inputs_) % 2 == 0 ? wanted : found;
      // The first operand is the one whose mode differs.
      const auto mode = is_input ? (k == 0 ? in : ext::Stream::kRun)
                                 : (k < inputs_ + 2 ? out : ext::Stream::kStore);
      streams.push_back({memory_[k].data() + 1, mode});
    }
    plain(op, read.data(), wanted.data(), n_);
    start_run(device, op, read.data(), read.size(), found.data(), found.size(), n_, nullptr);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (std::size_t k = inputs_; k < memory_.size(); k += 2) {
      for (std::int64_t i = 0; i < n_ + 2; ++i) {
        const float want = memory_[k].data()[i];
        ASSERT_NEAR(memory_[k + 1].data()[i], want,
                    tolerance::kSumsInFloat * std::max(1.0F, std::fabs(want)))
            << "number " << i << " of " << n_ << ", modes " << in << " and " << out;
      }
    }
  }

 private:
  std::int64_t n_;
  std::size_t inputs_;
  std::vector<Shared> memory_;
};

TEST(DeviceRules, ReadAndWriteInEveryMode) {
  if (!has_device()) {
    GTEST_SKIP() << "no CUDA device";
  }
  using S = ext::Stream;
  using Arity = ext::RuleArity<CMult>;
  const DeviceLoops* loops = device_loops(&ext::kRuleInfo<CMult>);
  ASSERT_NE(loops, nullptr);
  const CMult op{};
  for (const std::int64_t n : {0, 1, 31, 32, 33, 255, 256, 257, 513}) {
    for (const S::Mode in : {S::kRun, S::kRepeat}) {
      for (const S::Mode out : {S::kStore, S::kAdd, S::kSum, S::kSkip}) {
        Modes(n, Arity::inputs(), Arity::results())
            .compare(ext::detail::plain_forward<CMult, float>, loops->forward, &op, in, out);
        Modes(n, Arity::backward_inputs(), Arity::gradients())
            .compare(ext::detail::plain_backward<CMult, float>, loops->backward, &op, in, out);
      }
    }
  }
}

}  // namespace
}  // namespace dynet::ops
