// Chains: the float device against the double device, on every target, in one block and in several;
// tests/oracle compares the double device with all paths, one by one.

#include "dynet/ext/chain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/targets.h"
#include "test_operand_pair.h"
#include "testing/tolerance.h"
#include "testing/worst.h"

namespace dynet::kernels {
namespace {

using ext::Chain;
using ext::Direction;
using ext::Paths;
using testing::Layout;
using testing::layouts;
using testing::OperandPair;

class ChainTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use_target(GetParam()); }
  void TearDown() override { use_target(supported_targets().front()); }
  std::mt19937 random_{1};
};
INSTANTIATE_TEST_SUITE_P(EveryTarget, ChainTest, ::testing::ValuesIn(supported_targets()),
                         [](const auto& test) { return test.param; });

struct Sizes {
  unsigned states, steps, band;  ///< 0: not a band
  bool has_ends = true;
};

/// A chain of some examples in both numbers, with room for all that is written.
class ChainPair {
 public:
  ChainPair(const Sizes& s, Paths paths, const Layout& each, const Layout& out, bool shared,
            std::mt19937& random)
      : sizes_(s),
        paths_(paths),
        examples_(count(each)),
        weights_(shared ? Layout({1}) : each),
        emissions_({s.states, s.steps}, each, random),
        transitions_({s.states, s.band == 0 ? s.states : s.band}, weights_, random),
        start_({s.states}, weights_, random),
        end_({s.states}, weights_, random),
        lengths_({1}, each, random, 1.0, s.steps + 0.9),
        before_({s.states, s.steps}, Layout({examples_}), random),
        value_({1}, out, random),
        d_value_({1}, each, random),
        d_emissions_({s.states, s.steps}, out, random),
        d_transitions_({s.states, s.band == 0 ? s.states : s.band}, weights_, random),
        d_start_({s.states}, weights_, random),
        d_end_({s.states}, weights_, random),
        paths_of_({std::vector<std::uint32_t>(room()), std::vector<std::uint32_t>(room())}) {}

  void run(Direction direction, bool has_gradients = true) {
    cpu_kernels().chain(chain(&OperandPair::in_float, 0, has_gradients), direction);
    double_kernels().chain(chain(&OperandPair::in_double, 1, has_gradients), direction);
  }
  /// Floats and doubles have equal paths, as no two scores of paths are close.
  [[nodiscard]] bool has_one_path() const { return paths_of_[0] == paths_of_[1]; }
  void set_path(std::mt19937& random) {
    for (std::size_t i = 0; i < room(); ++i) {
      const auto state = static_cast<std::uint32_t>(random() % sizes_.states);
      // In a band no path goes back, nor further than it is wide.
      const auto step = static_cast<std::uint32_t>(i % sizes_.steps);
      paths_of_[0][i] = paths_of_[1][i] =
          sizes_.band == 0 ? state : std::min(sizes_.states - 1, step * (sizes_.band - 1));
    }
  }
  [[nodiscard]] double value_difference() const { return value_.difference(); }
  [[nodiscard]] double gradient_difference() const {
    dynet::testing::Worst worst;
    for (const OperandPair* p : {&d_emissions_, &d_transitions_, &d_start_, &d_end_}) {
      worst.add(p->difference());
    }
    return worst.get();
  }

 private:
  static std::int64_t count(const Layout& layout) {
    std::int64_t n = 0;
    for (const std::int64_t e : layout.examples) {
      n += e;
    }
    return n;
  }
  [[nodiscard]] std::size_t room() const {
    return static_cast<std::size_t>(examples_) * sizes_.steps;
  }
  Chain chain(ext::Operand (OperandPair::*numbers)() const, std::size_t which, bool has_gradients) {
    Chain c;
    c.paths = paths_;
    c.is_band = sizes_.band != 0;
    c.emissions = (emissions_.*numbers)();
    c.transitions = (transitions_.*numbers)();
    c.lengths = (lengths_.*numbers)();
    c.before = (before_.*numbers)();
    c.value = (value_.*numbers)();
    c.d_value = (d_value_.*numbers)();
    blocks_[which] = {paths_of_[which].data(), examples_, true};
    c.path = {.dim = Dim({sizes_.steps}),
              .examples = examples_,
              .blocks = &blocks_[which],
              .block_count = 1};
    if (has_gradients) {
      c.d_emissions = (d_emissions_.*numbers)();
      c.d_transitions = (d_transitions_.*numbers)();
    }
    if (sizes_.has_ends) {
      c.start = (start_.*numbers)();
      c.end = (end_.*numbers)();
      c.d_start = (d_start_.*numbers)();
      c.d_end = (d_end_.*numbers)();
    }
    return c;
  }

  Sizes sizes_;
  Paths paths_;
  std::int64_t examples_;
  Layout weights_;
  OperandPair emissions_, transitions_, start_, end_, lengths_, before_, value_, d_value_;
  OperandPair d_emissions_, d_transitions_, d_start_, d_end_;
  std::vector<std::vector<std::uint32_t>> paths_of_;
  ext::Block blocks_[2];
};

std::vector<Sizes> all_sizes() {
  return {{1, 1, 0}, {3, 4, 0}, {8, 5, 0}, {17, 3, 0}, {50, 6, 0, false},
          {1, 3, 3}, {7, 6, 3}, {9, 8, 1}, {33, 5, 2}, {21, 9, 5, false}};
}

TEST_P(ChainTest, ChainsOfFloatsAreThoseOfDoubles) {
  for (const Sizes& sizes : all_sizes()) {
    for (const Paths paths : {Paths::kSum, Paths::kBest, Paths::kGiven}) {
      for (const Layout& out : layouts(5)) {
        for (const bool shared : {false, true}) {
          const std::string where = std::to_string(sizes.states) + " states, band " +
                                    std::to_string(sizes.band) + ", paths " +
                                    std::to_string(static_cast<int>(paths));
          ChainPair c(sizes, paths, Layout({2, 3}), out, shared, random_);
          c.set_path(random_);
          c.run(Direction::kForward);
          EXPECT_LE(c.value_difference(), tolerance::kSumsInFloat) << where;
          EXPECT_TRUE(c.has_one_path()) << where;
          if (out.fresh.front() && out.fresh.size() == 1) {  // backward reads the value
            c.run(Direction::kBackward);
            EXPECT_LE(c.gradient_difference(), tolerance::kSumsInFloat) << where;
            c.run(Direction::kBackward, false);
            EXPECT_LE(c.gradient_difference(), tolerance::kSumsInFloat) << where;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace dynet::kernels
