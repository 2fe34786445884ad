// Chains on CUDA against chains on the CPU. Built with -DDYNET_CUDA=ON; skipped, with a message,
// without a device.

#include "kernels/device_chain.h"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "testing/tolerance.h"
#include "testing/worst.h"

namespace dynet::kernels {
namespace {

/// An operand in memory that both the host and the device see, with random numbers.
class Shared {
 public:
  Shared(const Dim& dim, std::int64_t examples, std::mt19937& random)
      : size_(static_cast<std::size_t>(dim.example_elements() * examples)) {
    EXPECT_EQ(cudaMallocManaged(&block_.data, size_ * sizeof(float)), cudaSuccess);
    block_.examples = examples;
    operand_ = {.dim = dim, .examples = examples, .blocks = &block_, .block_count = 1};
    std::uniform_real_distribution<float> draw(-1.0F, 1.0F);
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

constexpr float kNone = -std::numeric_limits<float>::infinity();
constexpr unsigned kStates = 150;  // more than a block has threads
constexpr unsigned kSteps = 7;
constexpr std::int64_t kExamples = 3;

/// The options of a call.
struct Case {
  ext::Paths paths = ext::Paths::kSum;
  unsigned band = 0;  ///< 0: none
  /// Examples have starts and ends of their own, or else emissions, lengths and given paths.
  bool ends_differ = false;
  bool has_lengths = true;
  bool has_ends = true;
  bool has_weight_gradients = true;  ///< of transitions and starts
  bool has_missing = false;          ///< some emissions, transitions and starts are -inf

  [[nodiscard]] std::string text() const {
    return "paths " + std::to_string(static_cast<int>(paths)) + ", band " + std::to_string(band) +
           (ends_differ ? ", own ends" : "") + (has_lengths ? "" : ", no lengths") +
           (has_ends ? "" : ", no ends") + (has_weight_gradients ? "" : ", no weight gradients") +
           (has_missing ? ", some -inf" : "");
  }
};

/// The operands of a case, with room for all that is written.
class Operands {
 public:
  explicit Operands(const Case& of)
      : of_(of),
        steps_count_(of.ends_differ ? 1 : kExamples),
        ends_count_(of.ends_differ ? kExamples : 1) {
    const Dim table{kStates, kSteps};
    const Dim weights{kStates, of.band == 0 ? kStates : of.band};
    chain_.paths = of.paths;
    chain_.is_band = of.band != 0;
    chain_.emissions = make(table, steps_count_);
    chain_.transitions = make(weights, 1);
    chain_.before = make(table, kExamples);
    chain_.value = make({1}, kExamples);
    chain_.d_value = make({1}, kExamples);
    chain_.d_emissions = make(table, steps_count_);
    if (of.has_ends) {
      chain_.start = make({kStates}, ends_count_);
      chain_.end = make({kStates}, ends_count_);
      chain_.d_end = make({kStates}, ends_count_);
    }
    if (of.has_weight_gradients) {
      chain_.d_transitions = make(weights, 1);
      chain_.d_start = of.has_ends ? make({kStates}, ends_count_) : ext::Operand();
    }
    if (of.has_lengths) {
      set_lengths();
    }
    if (of.has_missing) {
      take_away();
    }
    set_paths();
  }
  [[nodiscard]] const ext::Chain& chain() const { return chain_; }
  void set_backward() {
    if (of_.paths == ext::Paths::kGiven) {
      chain_.value = {};  // which it does not read
    }
  }
  [[nodiscard]] float* scratch() const { return scratch_.floats(); }
  /// All but the path.
  [[nodiscard]] std::vector<float> numbers() const {
    std::vector<float> all;
    for (const std::unique_ptr<Shared>& x : made_) {
      const std::vector<float> numbers = x->numbers();
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    return all;
  }
  [[nodiscard]] std::vector<std::uint32_t> path() const {
    const auto* const states = chain_.path.data<std::uint32_t>();
    return {states, states + chain_.path.size() * chain_.path.examples};
  }

 private:
  const ext::Operand& make(const Dim& dim, std::int64_t examples) {
    return made_.emplace_back(std::make_unique<Shared>(dim, examples, random_))->operand();
  }
  /// Lengths of the examples: more than all steps, some, and below the least of one step; a shared
  /// length: some.
  void set_lengths() {
    constexpr float kLengths[kExamples] = {kSteps + 1.5F, 3.7F, 0.2F};
    chain_.lengths = make({1}, steps_count_);
    for (std::int64_t e = 0; e < steps_count_; ++e) {
      chain_.lengths.data<float>()[e] = kLengths[steps_count_ == 1 ? 1 : e];
    }
  }
  /// From every third state a path only stays, and at even steps every fifth state does not exist.
  /// If examples have emissions or starts of their own, the second example has no path; nor has the
  /// third one if more than its first step is read.
  void take_away() {
    take_transitions_away();
    for (std::int64_t e = 0; e < steps_count_; ++e) {
      take_emissions_away(e);
    }
    if (!chain_.start.absent() && ends_count_ > 1) {
      std::fill_n(chain_.start.example<float>(1), kStates, kNone);
    }
  }
  void take_transitions_away() {
    auto* const transitions = chain_.transitions.data<float>();
    const unsigned sources = chain_.transitions.dim[1];
    for (unsigned i = 0; i < kStates; ++i) {
      for (unsigned k = 0; k < sources; ++k) {
        const bool stays = of_.band == 0 ? i == k : k == 0;
        const unsigned from = of_.band == 0 ? k : i - std::min(i, k);
        if (!stays && from % 3 == 0) {
          transitions[i + k * kStates] = kNone;
        }
      }
    }
  }
  void take_emissions_away(std::int64_t e) {
    auto* const emissions = chain_.emissions.example<float>(e);
    for (unsigned t = 0; t < kSteps; ++t) {
      const bool has_none = steps_count_ > 1 && (e == 1 ? t == 2 : e == 2 && t == 1);
      for (unsigned i = 0; i < kStates; ++i) {
        float& emission = emissions[t * kStates + i];
        emission = has_none || (t % 2 == 0 && i % 5 == 0) ? kNone : emission;
      }
    }
  }
  /// Given paths: inside a band, beyond a band of 1, and back, which no band has. Without lengths
  /// the paths are shorter than the chain.
  void set_paths() {
    const bool is_given = of_.paths == ext::Paths::kGiven;
    const unsigned places = is_given && !of_.has_lengths ? kSteps - 2 : kSteps;
    const std::int64_t count = is_given ? steps_count_ : kExamples;
    path_ = std::make_unique<Shared>(Dim{places}, count, random_);
    chain_.path = path_->operand();
    for (std::int64_t e = 0; e < count; ++e) {
      auto* const path = chain_.path.example<std::uint32_t>(e);
      for (unsigned t = 0; t < places; ++t) {
        path[t] = e == 0 ? 1 + t * (std::max(of_.band, 1U) - 1) : e == 1 ? t : kStates - 1 - t;
      }
    }
  }

  Case of_;
  std::int64_t steps_count_, ends_count_;
  std::mt19937 random_{1};
  std::vector<std::unique_ptr<Shared>> made_;
  std::unique_ptr<Shared> path_;
  Shared scratch_{{2 * kStates}, kExamples, random_};
  ext::Chain chain_;
};

/// The results of a call.
struct Computed {
  std::vector<float> numbers;
  std::vector<std::uint32_t> path;
};

/// Runs a chain forward and backward, and gives back all that was written.
Computed computed(const Case& of, bool on_device) {
  Operands operands(of);
  for (const ext::Direction direction : {ext::Direction::kForward, ext::Direction::kBackward}) {
    if (direction == ext::Direction::kBackward) {
      operands.set_backward();
    }
    if (on_device) {
      start_chain(operands.chain(), direction, operands.scratch(), nullptr);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    } else {
      cpu_kernels().chain(operands.chain(), direction);
    }
  }
  return {operands.numbers(), operands.path()};
}

/// Equal infinities are equal: a path that does not exist scores -inf. No number of these chains is
/// NaN, as no number is +inf and nothing is subtracted from -inf; so NaN is a mistake even on both
/// sides.
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

/// The cases of one kind of paths and one band.
std::vector<Case> cases(ext::Paths paths, unsigned band) {
  std::vector<Case> all;
  for (const bool ends_differ : {false, true}) {
    for (const bool has_missing : {false, true}) {
      const Case of{
          .paths = paths, .band = band, .ends_differ = ends_differ, .has_missing = has_missing};
      all.insert(all.end(), 4, of);
      const auto some = all.end() - 4;
      some[1].has_lengths = false;
      some[2].has_weight_gradients = false;
      some[3].has_ends = some[3].has_lengths = false;
    }
  }
  return all;
}

TEST(DeviceChain, ComputesWhatTheCpuComputes) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    GTEST_SKIP() << "no CUDA device";
  }
  for (const ext::Paths paths : {ext::Paths::kSum, ext::Paths::kBest, ext::Paths::kGiven}) {
    for (const unsigned band : {0U, 1U, 3U}) {
      for (const Case& of : cases(paths, band)) {
        SCOPED_TRACE(of.text());
        compare(computed(of, true), computed(of, false));
      }
    }
  }
}

}  // namespace
}  // namespace dynet::kernels
