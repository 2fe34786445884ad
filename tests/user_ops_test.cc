// The hard operations written again by a "user" outside the tree (user_ops/): the same values and
// gradients as the library's, merged and not; and they pass every check that the library's pass.
// tests/plant/run compiles this file against damaged copies of user_ops/ and requires it to fail.

#include <gtest/gtest.h>

#include "dynet/ops/all.h"

#include "support/cases.h"
#include "support/generator.h"
#include "support/observe.h"
#include "support/suites.h"
#include "user_ops/elementwise.h"
#include "user_ops/indices.h"
#include "user_ops/linear.h"

namespace dynet::testing {
namespace {

using Twins = ext::OpList<user::Scale, user::Add, user::LstmCell, user::Product, user::Affine,
                          user::Concatenate, user::Pick, user::SumBatches, user::Dropout>;
using Others = ext::OpList<user::SelectRows, user::SumOfSome, user::Largest, user::ThereAndBack,
                           user::SumOfThose, user::Shuffle>;
using UserOps = ext::JoinLists<Twins, Others>;

const std::vector<Sample>& user_samples() {
  static const std::vector<Sample> all = samples_of_list<UserOps>();
  return all;
}

// The library's operation for each of the user's.
ops::MultiplyScalar twin_of(const user::Scale&) { return {}; }
ops::Add twin_of(const user::Add&) { return {}; }
ops::LstmCell twin_of(const user::LstmCell& op) { return {op.forget_bias}; }
ops::MatMul twin_of(const user::Product&) { return {}; }
ops::AffineTransform twin_of(const user::Affine&) { return {}; }
ops::Concatenate twin_of(const user::Concatenate& op) { return {op.d}; }
ops::Pick twin_of(const user::Pick& op) { return {op.d}; }
ops::SumBatches twin_of(const user::SumBatches&) { return {}; }
ops::Dropout twin_of(const user::Dropout& op) { return {op.p}; }

/// In the order of user_samples(), which begin with the twins.
const std::vector<Sample>& twins() {
  static const std::vector<Sample> all = [] {
    std::vector<Sample> made;
    Twins::for_each([&]<class Op>() {
      for (const ext::Example<Op>& e : Op::examples()) {
        const auto op = twin_of(e.op);
        Sample s;
        s.record = &ext::kRecord<std::remove_const_t<decltype(op)>>;
        s.op = detail::bytes_of(op);
        made.push_back(s);
      }
    });
    return made;
  }();
  return all;
}

class UserOp : public ::testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static const Sample& sample() { return user_samples()[GetParam()]; }
};
INSTANTIATE_TEST_SUITE_P(All, UserOp, ::testing::Range(std::size_t{0}, user_samples().size()),
                         [](const auto& p) { return test_name(user_samples()[p.param], p.index); });

TEST_P(UserOp, GradientsAgreeWithDifferences) { expect_right_gradients(sample()); }
TEST_P(UserOp, FloatAgreesWithDoubleOnEveryTarget) { expect_float_agrees_with_double(sample()); }
TEST_P(UserOp, AttributesAreInTheKey) { expect_attributes_in_key(sample()); }

class Twin : public UserOp {};
INSTANTIATE_TEST_SUITE_P(All, Twin, ::testing::Range(std::size_t{0}, twins().size()),
                         [](const auto& p) { return test_name(user_samples()[p.param], p.index); });

TEST_P(Twin, AgreesWithTheLibrarys) {
  for (const Case& c : cases_of(sample())) {
    SCOPED_TRACE(c.name);
    Program program = c.program;
    for (Step& s : program.steps) {
      if (s.sample == nullptr) {
        continue;
      }
      s.sample = &twins()[GetParam()];
      s.op = s.sample->op;
    }
    for (const bool batching : {false, true}) {
      const Result mine = run(c.program, {double_device(), batching});
      EXPECT_EQ(compare(c.program, mine, run(program, {double_device(), batching}), 1e-10), "");
      const Result in_float = run(c.program, {float_device(), batching});
      EXPECT_EQ(compare(c.program, in_float, run(program, {float_device(), batching}), 1e-5), "");
    }
  }
}

/// Copies run in one call, their weights shared and the rest an example each. What is a weight
/// stands here and not in the operation, so that a wrong role is seen.
TEST_P(UserOp, CopiesMerge) {
  const std::string name(sample().record->info->name);
  std::set<std::size_t> weights;
  if (name == "user_affine") {
    weights = {1, 3};
  }
  if (name == "user_product" || name == "user_there_and_back") {
    weights = {0};
  }
  Observed observed;
  Counts counts;
  observed.count_into(&counts);
  RunOptions options{double_device(), true};
  options.observer = &observed;
  run(copies_sharing(sample(), weights).program, options);
  std::string pattern;
  for (const Dim& d : sample().inputs) {
    pattern += ext::is_absent(d) ? '-' : '1';
  }
  for (std::size_t a = 0; a < sample().inputs.size(); ++a) {
    if (ext::is_absent(sample().inputs[a])) {
      continue;
    }
    const std::string what = Observed::combination(name, pattern, a, weights.contains(a));
    EXPECT_EQ(counts[what], 3) << what;
  }
}

/// Random graphs of the user's operations among the library's.
TEST(UserOps, RandomGraphs) {
  const std::vector<Combination> combinations = combinations_of(user_samples());
  Counts counts;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = random_program(seed, combinations, counts);
    const Result expected = run(program, {double_device(), false});
    EXPECT_EQ(compare(program, run(program, {double_device(), true}), expected, 1e-10), "");
  }
}

}  // namespace
}  // namespace dynet::testing
