// Random programs with steps of builders, sentences of many lengths and cells: merged and one by
// one give the same values and the same gradients of parameters, inputs and inner nodes; so do
// programs whose matrices have no lengths and whose cells are plain functions, and programs in an
// inference scope, values alone. The gradient is the difference of losses. A program in a graph in
// which another has run has the same bits.
//
// DYNET_TEST_SEED=n runs the program of that seed alone and prints its steps; DYNET_TEST_PROGRAMS=n
// runs n programs. With DYNET_PARANOID or a far device there are fewer.

#include "support/random_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "execute/verify.h"
#include "testing/device.h"
#include "testing/program.h"
#include "testing/sanitized.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

constexpr std::uint64_t kEnough = 100;  // programs, to say how often things are seen

std::string compare(const std::vector<std::vector<double>>& a,
                    const std::vector<std::vector<double>>& b, double bound) {
  if (a.size() != b.size()) {
    return std::to_string(a.size()) + " lists and " + std::to_string(b.size());
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string bad = testing::compare(a[i], b[i], bound);
    if (!bad.empty()) {
      return "list " + std::to_string(i) + " of " + std::to_string(a.size()) + ": " + bad;
    }
  }
  return "";
}

double largest(const std::vector<std::vector<double>>& lists) {
  double found = 0.0;
  for (const auto& list : lists) {
    for (const double x : list) {
      found = std::isfinite(x) ? std::max(found, std::fabs(x)) : 1e300;
    }
  }
  return found;
}

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Counts over all programs.
struct Seen {
  std::size_t programs = 0;
  std::size_t steep = 0;  ///< programs with gradients above 1000, in which rounding decides
  std::size_t in_float = 0;
  std::size_t rounded = 0;  ///< of these, programs whose numbers no float has, one by one either
  std::size_t joined = 0;   ///< sums that were begun in another group than the first of their call
  std::size_t pieces = 0;   ///< programs with gradients in pieces, one by one and merged
  std::size_t mixed = 0;    ///< programs in which nodes of several shapes ran together
  std::size_t moved = 0;    ///< programs whose gradients were compared with differences
  std::size_t bent = 0;     ///< of these, programs that needed smaller steps
};

void check_equal(const Numbers& found, const Numbers& wanted, double bound, const char* what) {
  EXPECT_EQ(compare(found.values, wanted.values, bound), "") << "values " << what;
  EXPECT_EQ(compare(found.gradients, wanted.gradients, bound), "") << "gradients " << what;
}

/// In one graph after another program, bit for bit.
void check_in_turn(std::uint64_t seed, RandomProgram& program, const Numbers& merged) {
  const DefaultDevice scope(double_device());
  RandomProgram other(seed + 1, double_device());
  ComputationGraph cg(true);
  static_cast<void>(other.run_in(cg, {}));
  cg.clear();
  cg.set_batching(true);
  check_equal(program.run_in(cg, {}), merged, 0.0, "after another program");
}

/// The gradients of all parameters at once, which the last run left in the model, against a central
/// difference. If the slope jumps within
/// the step, as that of rectify at 0 does, or bends too much, the difference has smaller steps, and
/// its error of the second order is taken away.
void check_slope(RandomProgram& program, Seen& seen) {
  constexpr float kStep = 0x1p-17F;  // see tolerance::kDifferences
  constexpr float kSmall = 0x1p-20F;
  const double slope = program.slope();
  const auto total_at = [&](float step) {
    program.move(step);
    const double total = program.run({}).total;
    program.move(-step);
    return total;
  };
  const auto difference = [&](float step) {
    return (total_at(step) - total_at(-step)) / (2.0 * static_cast<double>(step));
  };
  ++seen.moved;
  if (!testing::compare({slope}, {difference(kStep)}, tolerance::kDifferences).empty()) {
    ++seen.bent;
    const double limit = (4.0 * difference(kSmall / 2) - difference(kSmall)) / 3.0;
    EXPECT_EQ(testing::compare({slope}, {limit}, tolerance::kDifferences), "")
        << "slope against difference";
  }
}

void check_in_float(std::uint64_t seed, const Numbers& in_double, Seen& seen) {
  RandomProgram program(seed, float_device());
  const Numbers one = program.run({.batching = false});
  ++seen.in_float;
  if (!compare(one.gradients, in_double.gradients, tolerance::kFloatAgainstDouble).empty()) {
    ++seen.rounded;
    return;
  }
  check_equal(program.run({}), one, tolerance::kFloatAgainstDouble, "in float");
}

void check(std::uint64_t seed, bool is_loud, Seen& seen) {
  RandomProgram program(seed, double_device());
  std::string names;
  for (const std::string& name : program.names()) {
    names += (names.empty() ? "" : ", ") + name;
  }
  SCOPED_TRACE("DYNET_TEST_SEED=" + std::to_string(seed) + ": " + names);
  const Numbers alone = program.run({.batching = false, .form = Form::kPlain, .is_loud = is_loud});
  const Numbers merged = program.run({});
  ++seen.programs;
  seen.joined += merged.joined;
  seen.mixed += merged.mixed == 0 ? 0 : 1;
  seen.pieces += alone.has_pieces && merged.has_pieces ? 1 : 0;
  if (largest(alone.gradients) > 1e3) {
    ++seen.steep;
    return;
  }
  check_equal(merged, alone, tolerance::kMergedInDouble, "merged");
  switch (Random(seed).below(5)) {  // each with all kinds of builders
    case 0:
      check_in_float(seed, alone, seen);
      break;
    case 1:
      check_slope(program, seen);
      break;
    case 2:
      check_in_turn(seed, program, merged);
      break;
    case 3:
      check_equal(program.run({.batching = false}), alone, tolerance::kMergedInDouble,
                  "one by one");
      check_equal(program.run({.form = Form::kPlain}), alone, tolerance::kMergedInDouble,
                  "merged without lengths and cells");
      break;
    default:
      break;
  }
  if (seed % 2 == 0) {
    const Numbers inferred = program.run({.infers = true});
    EXPECT_EQ(compare(inferred.values, alone.values, tolerance::kMergedInDouble), "")
        << "values in an inference scope";
  }
}

/// With the entries of a far device, a GPU and DYNET_PARANOID, 5,000 programs in all.
TEST(RandomPrograms, MergedEqualsOneByOne) {
  const std::uint64_t only = number_from("DYNET_TEST_SEED", 0);
  const bool is_far = !double_device()->is_host_visible();
  const std::uint64_t usual = execute::is_paranoid() ? 600U : (is_far ? 700U : 3000U);
  const std::uint64_t count =
      number_from("DYNET_TEST_PROGRAMS", trials(usual, std::max(kEnough, usual / 10)));
  Seen seen;
  if (only != 0) {
    check(only, true, seen);
    return;
  }
  for (std::uint64_t seed = 1; seed <= count && !HasFailure(); ++seed) {
    check(seed, false, seen);
  }
  std::printf("%zu programs, %zu with gradients above 1000; %zu in float, %zu of them rounded; ",
              seen.programs, seen.steep, seen.in_float, seen.rounded);
  std::printf("%zu sums joined from several groups; %zu with gradients in pieces; ", seen.joined,
              seen.pieces);
  std::printf(
      "%zu with groups of several shapes; %zu against differences, %zu of them with smaller "
      "steps\n",
      seen.mixed, seen.moved, seen.bent);
  if (!HasFailure()) {
    EXPECT_LE(seen.steep, seen.programs / 50);
    EXPECT_LE(seen.rounded, 1 + seen.in_float / 100);  // one by one is wrong beyond rounding, else
    EXPECT_LE(seen.bent, 1 + seen.moved / 50);
    if (seen.programs >= kEnough) {
      EXPECT_GE(seen.joined, seen.programs / 3);  // the purpose of the test
      EXPECT_GE(seen.pieces, seen.programs / 20);
      EXPECT_GE(seen.mixed, seen.programs / 10);
    }
  }
}

}  // namespace
}  // namespace dynet::testing
