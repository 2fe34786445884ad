// Chains on CUDA against those of the CPU. Built with -DDYNET_CUDA=ON; skipped, and says so, where
// there is no device.

#include "kernels/device_chain.h"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "testing/tolerance.h"
#include "testing/worst.h"

namespace dynet::kernels {
namespace {

/// An operand in memory that both the host and the device see.
class Shared {
 public:
  Shared(const Dim& dim, std::int64_t examples, double low, double high, std::mt19937& random)
      : size_(static_cast<std::size_t>(dim.example_elements() * examples)) {
    EXPECT_EQ(cudaMallocManaged(&block_.data, size_ * sizeof(float)), cudaSuccess);
    block_.examples = examples;
    operand_ = {.dim = dim, .examples = examples, .blocks = &block_, .block_count = 1};
    std::uniform_real_distribution<float> draw(static_cast<float>(low), static_cast<float>(high));
    for (std::size_t i = 0; i < size_; ++i) {
      floats()[i] = draw(random);
    }
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { cudaFree(block_.data); }
  [[nodiscard]] float* floats() const { return static_cast<float*>(block_.data); }
  [[nodiscard]] std::vector<float> numbers() const { return {floats(), floats() + size_}; }
  [[nodiscard]] const ext::Operand& operand() const { return operand_; }

 private:
  std::size_t size_;
  ext::Block block_;
  ext::Operand operand_;
};

/// What a call leaves in its operands.
struct Computed {
  std::vector<float> numbers;
  std::vector<std::uint32_t> path;
};

/// Runs a chain forward and backward, and gives back all that was written. Examples have emissions
/// and lengths of their own, or (`ends_differ`) starts and ends.
Computed computed(ext::Paths paths, unsigned band, bool ends_differ, bool on_device) {
  constexpr unsigned kStates = 150;
  constexpr unsigned kSteps = 7;
  constexpr std::int64_t kExamples = 3;
  const std::int64_t steps_count = ends_differ ? 1 : kExamples;
  const std::int64_t ends_count = ends_differ ? kExamples : 1;
  const std::int64_t path_count = paths == ext::Paths::kGiven ? steps_count : kExamples;
  std::mt19937 random(1);
  const Dim table{kStates, kSteps};
  const Dim weights{kStates, band == 0 ? kStates : band};
  std::vector<std::unique_ptr<Shared>> all;
  const auto make = [&](const Dim& d, std::int64_t n, double low = -1.0, double high = 1.0) {
    return all.emplace_back(std::make_unique<Shared>(d, n, low, high, random))->operand();
  };
  ext::Chain c;
  c.paths = paths;
  c.is_band = band != 0;
  c.emissions = make(table, steps_count);
  c.transitions = make(weights, 1);
  c.start = make({kStates}, ends_count);
  c.end = make({kStates}, ends_count);
  c.lengths = make({1}, steps_count, 1.0, kSteps + 0.9);
  c.before = make(table, kExamples);
  c.value = make({1}, kExamples);
  c.d_value = make({1}, kExamples);
  c.d_emissions = make(table, steps_count);
  c.d_transitions = make(weights, 1);
  c.d_start = make({kStates}, ends_count);
  c.d_end = make({kStates}, ends_count);
  const Shared path({kSteps}, path_count, 0.0, 1.0, random);
  c.path = path.operand();
  auto* const states = c.path.data<std::uint32_t>();
  for (std::int64_t i = 0; i < path_count * kSteps; ++i) {
    states[i] = static_cast<std::uint32_t>(i % kSteps);
  }
  const Shared scratch({2 * kStates}, kExamples, 0.0, 1.0, random);
  for (const ext::Direction direction : {ext::Direction::kForward, ext::Direction::kBackward}) {
    if (direction == ext::Direction::kBackward && paths == ext::Paths::kGiven) {
      c.value = {};  // which it does not read
    }
    if (on_device) {
      start_chain(c, direction, scratch.floats(), nullptr);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    } else {
      cpu_kernels().chain(c, direction);
    }
  }
  Computed result{{}, {states, states + path_count * kSteps}};
  for (const std::unique_ptr<Shared>& x : all) {
    const std::vector<float> numbers = x->numbers();
    result.numbers.insert(result.numbers.end(), numbers.begin(), numbers.end());
  }
  return result;
}

/// Equal infinities are equal: a given path that a band does not have scores -inf. No number of
/// these chains is NaN, as what is drawn is finite and nothing is subtracted from an infinity; so
/// NaN is a mistake even where both sides have it.
bool is_near(float found, float wanted) {
  return !std::isnan(found) &&
         dynet::testing::relative_error(static_cast<double>(found), static_cast<double>(wanted)) <=
             tolerance::kSumsInFloat;
}

void compare(const Computed& found, const Computed& wanted) {
  constexpr int kMessages = 5;
  EXPECT_EQ(found.path, wanted.path);
  ASSERT_EQ(found.numbers.size(), wanted.numbers.size());
  int different = 0;
  for (std::size_t i = 0; i < wanted.numbers.size(); ++i) {
    if (!is_near(found.numbers[i], wanted.numbers[i]) && ++different <= kMessages) {
      ADD_FAILURE() << "number " << i << " is " << found.numbers[i] << ", not "
                    << wanted.numbers[i];
    }
  }
  EXPECT_EQ(different, 0) << "of " << wanted.numbers.size() << " numbers; the first are above";
}

TEST(DeviceChain, ComputesWhatTheCpuComputes) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    GTEST_SKIP() << "no CUDA device";
  }
  for (const ext::Paths paths : {ext::Paths::kSum, ext::Paths::kBest, ext::Paths::kGiven}) {
    for (const unsigned band : {0U, 1U, 3U}) {
      SCOPED_TRACE("paths " + std::to_string(static_cast<int>(paths)) + ", band " +
                   std::to_string(band));
      for (const bool ends_differ : {false, true}) {
        compare(computed(paths, band, ends_differ, true),
                computed(paths, band, ends_differ, false));
      }
    }
  }
}

}  // namespace
}  // namespace dynet::kernels
