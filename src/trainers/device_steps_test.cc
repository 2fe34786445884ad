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
void compare(const std::vector<std::int64_t>& cuts, bool swapped) {
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
  // The runs of `cuts`: elements from one to the next. With `swapped`, every other operand of run k
  // lies where run k of the reverse order would.
  struct Run {
    ext::Stream in[Numbers::kInputs], out[Numbers::kInputs];
    std::int64_t n;
  };
  const auto runs_of = [&](std::size_t first) {
    std::vector<Run> runs(cuts.size() - 1);
    for (std::size_t r = 0; r + 1 < cuts.size(); ++r) {
      runs[r].n = cuts[r + 1] - cuts[r];
      for (std::size_t k = 0; k < Numbers::kInputs; ++k) {
        const std::int64_t at = swapped && k % 2 == 1 ? kElements - cuts[r + 1] : cuts[r];
        float* const x = static_cast<float*>(data[first + k]) + at;
        runs[r].in[k] = {x, ext::Stream::kRun};
        runs[r].out[k] = {x, ext::Stream::kStore};
      }
    }
    return runs;
  };
  for (const Run& run : runs_of(0)) {
    ext::detail::plain_step<Rule, float>(&step, run.in, run.out, run.n);
  }
  const std::vector<Run> there = runs_of(Numbers::kInputs);
  std::vector<ext::RuleRun> list;
  for (const Run& run : there) {
    list.push_back({run.in, run.out, run.n});
  }
  device_step (&ext::update_info<Rule>().rule)(&step, list, nullptr);
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
  std::vector<std::int64_t> many;  // for some rules their addresses do not fit in parameters
  for (std::int64_t k = 0; k < kElements; k += 16) {
    many.push_back(k);
  }
  many.push_back(kElements);
  for_each_rule([&]<class Rule>() {
    for (const bool swapped : {false, true}) {
      compare<Rule>({0, kElements}, swapped);
      compare<Rule>({0, 300, 300, 301, kElements}, swapped);
      compare<Rule>({0, kElements / 2, kElements}, swapped);
      compare<Rule>(many, swapped);
    }
  });
}

}  // namespace
}  // namespace dynet::trainers
