#include "support/suites.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdio>

#include "kernels/targets.h"
#include "ops/simd_rules.h"
#include "support/cases.h"
#include "support/differences.h"
#include "support/observe.h"

namespace dynet::testing {

void expect_right_gradients(const Sample& sample) {
  for (const Case& c : cases_of(sample)) {
    SCOPED_TRACE(sample.text() + ", " + c.name);
    const Result one_by_one = run(c.program, {double_device(), false});
    const Result merged = run(c.program, {double_device(), true});
    EXPECT_EQ(compare(c.program, merged, one_by_one, 1e-10), "");
    if (sample.record->stops_gradient) {
      for (const auto& source : one_by_one.source_gradients) {
        for (const double g : source) {
          EXPECT_EQ(g, 0.0);
        }
      }
      continue;
    }
    EXPECT_EQ(check_gradients(c.program, one_by_one), "");
    if (c.copies > 1) {
      EXPECT_EQ(check_gradients(c.program, merged), "");
    }
  }
}

void expect_float_agrees_with_double(const Sample& sample) {
  const std::vector<Case> cases = cases_of(sample);
  std::vector<Result> in_double;
  for (const Case& c : cases) {
    in_double.push_back(run(c.program, {double_device(), false}));
  }
  const auto targets = kernels::supported_targets();
  const auto usual = kernels::current_target();
  for (const auto& target : targets) {
    kernels::use_target(target);
    ops::install_simd_rules();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(sample.text() + ", " + cases[i].name + ", " + target);
      for (const bool batching : {false, true}) {
        const Result in_float = run(cases[i].program, {float_device(), batching});
        EXPECT_EQ(compare(cases[i].program, in_float, in_double[i], 1e-4), "");
      }
    }
  }
  kernels::use_target(usual);
  ops::install_simd_rules();
}

namespace {

/// Puts the first variant of a nudge that the shape rule accepts into the program's last step.
bool build_nudged(const Nudge& nudge, Program& program) {
  Draw draw(99);
  for (const OpBytes& variant : nudge.variants) {
    Program changed = program;
    changed.steps.back().op = variant;
    try {
      add_terms(changed, draw);
    } catch (const std::invalid_argument&) {
      continue;
    }
    program = std::move(changed);
    return true;
  }
  return false;
}

unsigned key_of_step(const Program& program, std::size_t step) {
  LiveProgram live(program, double_device(), true);
  for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
    live.build(i);
  }
  return key_of(live.expression({static_cast<int>(step), 0}));
}

std::vector<std::byte> packed(const Sample& sample, const OpBytes& op) {
  std::vector<std::byte> bytes(sample.record->attr_bytes);
  sample.record->pack(op.get(), bytes.data());
  return bytes;
}

}  // namespace

void expect_attributes_in_key(const Sample& sample) {
  for (const Nudge& nudge : sample.nudges) {
    SCOPED_TRACE(sample.text() + ", " + nudge.attribute);
    ASSERT_FALSE(nudge.variants.empty());
    for (const OpBytes& variant : nudge.variants) {
      EXPECT_NE(packed(sample, sample.op), packed(sample, variant));
    }
    const std::vector<Case> cases = cases_of(sample);
    Program program = cases.front().program;  // unbatched
    const Step first = program.steps.back();
    program.steps.push_back(first);
    if (!build_nudged(nudge, program)) {
      std::printf("%s: no neighbour of %s fits the example\n", sample.text().c_str(),
                  nudge.attribute.c_str());
      continue;
    }
    const Result one_by_one = run(program, {double_device(), false});
    EXPECT_EQ(compare(program, run(program, {double_device(), true}), one_by_one, 1e-10), "");
    const std::size_t last = program.steps.size() - 1;
    EXPECT_NE(key_of_step(program, last), key_of_step(program, last - 1));
  }
}

std::string test_name(const Sample& sample, std::size_t index) {
  std::string name;
  for (const char ch : sample.record->info->name) {
    name += std::isalnum(static_cast<unsigned char>(ch)) != 0 ? ch : '_';
  }
  return name + '_' + std::to_string(index);
}

}  // namespace dynet::testing
