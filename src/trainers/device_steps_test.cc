// CUDA kernels of updates against the plain loops. Built with -DDYNET_CUDA=ON; tests on a device
// are skipped, with a message, if there is none.

#include "trainers/device_steps.h"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <type_traits>

#include "dynet/trainers/all.h"
#include "dynet/training.h"

#include "testing/tolerance.h"

namespace dynet::trainers {
namespace {

constexpr std::int64_t kElements = 1000;

/// Runs f.operator()<Rule>() for every rule of the list.
template <class F>
void for_each_rule(F f) {
  AllUpdates::for_each([&]<class T>(const T* /*type*/) {
    f.template operator()<typename T::Rule>();
    if constexpr (!std::is_same_v<typename T::CatchUp, NoCatchUp>) {
      f.template operator()<typename T::CatchUp>();
    }
  });
}

TEST(DeviceSteps, EveryRuleHasAKernel) {
  for_each_rule([]<class Rule>() {
    EXPECT_NE(device_step(&ext::update_info<Rule>().rule), nullptr) << typeid(Rule).name();
  });
  EXPECT_EQ(device_step(nullptr), nullptr);
}

template <class Rule>
void compare() {
  using Numbers = ext::detail::Numbering<Rule>;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> draw(0.05, 0.95);
  std::array<double, sizeof(Rule) / sizeof(double)> members{};
  for (double& m : members) {
    m = draw(random);
  }
  ext::detail::Prepared<Rule> step{std::bit_cast<Rule>(members), {}};
  ext::update_info<Rule>().prepare(&step);
  std::array<void*, 2 * Numbers::kInputs> data{};
  for (std::size_t k = 0; k < Numbers::kInputs; ++k) {
    for (std::size_t side : {k, Numbers::kInputs + k}) {
      ASSERT_EQ(cudaMallocManaged(&data[side], kElements * sizeof(float)), cudaSuccess);
    }
    for (std::int64_t i = 0; i < kElements; ++i) {
      const auto x = static_cast<float>(draw(random));
      static_cast<float*>(data[k])[i] = x;
      static_cast<float*>(data[Numbers::kInputs + k])[i] = x;
    }
  }
  const auto streams = [&](std::size_t first, ext::Stream* in, ext::Stream* out) {
    for (std::size_t k = 0; k < Numbers::kInputs; ++k) {
      in[k] = {data[first + k], ext::Stream::kRun};
      out[k] = {data[first + k], ext::Stream::kStore};
    }
  };
  ext::Stream in[Numbers::kInputs];
  ext::Stream out[Numbers::kInputs];
  streams(0, in, out);
  ext::detail::plain_step<Rule, float>(&step, in, out, kElements);
  streams(Numbers::kInputs, in, out);
  device_step (&ext::update_info<Rule>().rule)(&step, in, out, kElements, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (std::size_t k = 0; k < Numbers::kInputs; ++k) {
    for (std::int64_t i = 0; i < kElements; ++i) {
      const float want = static_cast<float*>(data[k])[i];
      ASSERT_NEAR(static_cast<float*>(data[Numbers::kInputs + k])[i], want,
                  tolerance::kSumsInFloat * std::max(1.0F, std::fabs(want)))
          << typeid(Rule).name();
    }
  }
  for (void* p : data) {
    cudaFree(p);
  }
}

TEST(DeviceSteps, ComputeWhatThePlainLoopsCompute) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    GTEST_SKIP() << "no CUDA device";
  }
  for_each_rule([]<class Rule>() { compare<Rule>(); });
}

}  // namespace
}  // namespace dynet::trainers
