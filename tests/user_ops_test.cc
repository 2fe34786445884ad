// The hard operations written again by a "user" outside the tree (user_ops/): the same values and
// gradients as the library's, merged and not; and they pass every check that the library's pass.
// tests/plant/run compiles this file against damaged copies of user_ops/ and requires it to fail.

#include <gtest/gtest.h>

#include "dynet/ops/arithmetic.h"
#include "dynet/ops/linear.h"
#include "dynet/ops/pick.h"
#include "dynet/ops/random.h"
#include "dynet/ops/recurrent.h"
#include "dynet/ops/reduce.h"
#include "dynet/ops/shape.h"

#include "support/generator.h"
#include "support/samples.h"
#include "testing/cases.h"
#include "testing/tolerance.h"
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

/// What is a weight stands here and not in the operation, so that a wrong role is seen.
template <class Op>
Expectations expected() {
  if constexpr (std::is_same_v<Op, user::Affine>) {
    return {.weights = {1, 3}};
  } else if constexpr (std::is_same_v<Op, user::Product> ||
                       std::is_same_v<Op, user::ThereAndBack>) {
    return {.weights = {0}};
  } else {
    return {};
  }
}

const std::vector<Sample>& user_samples() {
  static const std::vector<Sample> all = [] {
    std::vector<Sample> made;
    UserOps::for_each([&]<class Op>() {
      for (const Sample& s : samples_of<Op>(expected<Op>())) {
        made.push_back(s);
      }
    });
    return made;
  }();
  return all;
}
std::vector<const Sample*> addresses() {
  std::vector<const Sample*> all;
  for (const Sample& s : user_samples()) {
    all.push_back(&s);
  }
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

class UserOp : public ::testing::TestWithParam<CheckOfSample> {};
INSTANTIATE_TEST_SUITE_P(All, UserOp,
                         ::testing::Combine(::testing::ValuesIn(all_checks()),
                                            ::testing::ValuesIn(addresses())),
                         [](const auto& p) { return test_name(p.param, p.index); });
TEST_P(UserOp, Passes) { expect_passes(GetParam()); }

class Twin : public ::testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static const Sample& sample() { return user_samples()[GetParam()]; }
};
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
      EXPECT_EQ(compare(c.program, mine, run(program, {double_device(), batching}),
                        tolerance::kMergedInDouble),
                "");
      const Result in_float = run(c.program, {float_device(), batching});
      EXPECT_EQ(compare(c.program, in_float, run(program, {float_device(), batching}),
                        tolerance::kSumsInFloat),
                "");
    }
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
    EXPECT_EQ(compare(program, run(program, {double_device(), true}), expected,
                      tolerance::kMergedInDouble),
              "");
  }
}

}  // namespace
}  // namespace dynet::testing
