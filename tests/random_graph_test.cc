// Thousands of random graphs over every operation: merged and one by one give the same values and
// the same gradient of everything. Also counts merged nodes.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "kernels/targets.h"
#include "ops/simd_rules.h"
#include "support/generator.h"
#include "support/observe.h"
#include "support/samples.h"
#include "testing/differences.h"
#include "testing/sanitized.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

constexpr int kGraphs = trials(5000, 1000);
constexpr long kWanted = trials(50L, 5L);

void print_counts(const Counts& counts, const std::vector<Combination>& combinations) {
  std::printf(
      "members of merged calls, by operation, batch pattern (1: one example, n: a batch) and "
      "argument\n");
  for (const auto& [what, count] : counts) {
    std::printf("%8ld  %s\n", count, what.c_str());
  }
  std::map<std::string, std::set<std::string>> alone;
  for (const Combination& c : combinations) {
    const std::string reason = c.reason_alone();
    if (!reason.empty()) {
      alone[reason].insert(std::string(c.sample->record->info->name) + ' ' + c.pattern());
    }
  }
  for (const auto& [reason, which] : alone) {
    std::printf("not merged: %s:", reason.c_str());
    for (const std::string& w : which) {
      std::printf(" %s,", w.c_str());
    }
    std::printf("\n");
  }
}

TEST(RandomGraphs, MergedEqualsOneByOne) {
  const std::vector<Combination> combinations = combinations_of(all_samples());
  const auto targets = kernels::supported_targets();
  const auto usual = kernels::current_target();
  Counts counts;
  int skipped = 0;
  int failures = 0;
  for (int g = 0, seed = 1; g < kGraphs && failures < 5; ++seed) {
    const Program program = random_program(static_cast<std::uint64_t>(seed), combinations, counts);
    const Result expected = run(program, {double_device(), false});
    if (expected.largest_gradient() > 1e3) {  // rounding would decide in float
      ++skipped;
      ASSERT_LT(skipped, kGraphs / 4);
      continue;
    }
    ++g;
    SCOPED_TRACE("seed " + std::to_string(seed));
    Observed observed;
    observed.count_into(&counts);
    RunOptions merged{double_device(), true};
    merged.hook = &observed;
    std::string bad = compare(program, run(program, merged), expected, tolerance::kMergedInDouble);
    kernels::use_target(targets[static_cast<std::size_t>(g) % targets.size()]);
    ops::install_simd_rules();
    const Result in_float = run(program, {float_device(), false});
    if (bad.empty()) {
      bad = compare(program, run(program, {float_device(), true}), in_float,
                    tolerance::kFloatAgainstDouble);
    }
    EXPECT_EQ(bad, "");
    failures += bad.empty() ? 0 : 1;
  }
  kernels::use_target(usual);
  ops::install_simd_rules();
  std::printf("%d graphs, %d passed over for gradients above 1000\n", kGraphs, skipped);
  print_counts(counts, combinations);
  for (const Combination& c : combinations) {
    if (!c.reason_alone().empty()) {
      continue;
    }
    for (std::size_t i = 0; i < std::max<std::size_t>(1, c.batched.size()); ++i) {
      if (!c.has(i)) {
        continue;
      }
      const bool shared = i < c.shared.size() && c.shared[i] != 0;
      const std::string what =
          Observed::combination(c.sample->record->info->name, c.pattern(), i, shared);
      EXPECT_GE(counts[what], kWanted) << what;
    }
  }
}

/// Merged and one by one could be wrong together: the gradients of some graphs against differences.
TEST(RandomGraphs, GradientsAgreeWithDifferences) {
  std::vector<Combination> combinations = combinations_of(all_samples());
  std::erase_if(combinations, [](const Combination& c) {
    return c.sample->record->stops_gradient || c.sample->record->surrogate_gradient;
  });
  const Counts counts;
  int checked = 0;
  for (std::uint64_t seed = 5001; checked < trials(150, 15); ++seed) {
    Program program = random_program(seed, combinations, counts);
    for (Step& s : program.steps) {  // steps without a gradient would differ
      if (s.leaf == LeafKind::kConstParameter) {
        s.leaf = LeafKind::kParameter;
      }
      if (s.leaf == LeafKind::kConstLookup) {
        s.leaf = LeafKind::kLookup;
      }
    }
    const Result result = run(program, {double_device(), true});
    if (result.largest_gradient() > 100.0) {
      continue;
    }  // the difference would not be exact enough
    ++checked;
    SCOPED_TRACE("seed " + std::to_string(seed));
    EXPECT_EQ(check_gradients(program, result, 2, 2), "");
  }
}

}  // namespace
}  // namespace dynet::testing
