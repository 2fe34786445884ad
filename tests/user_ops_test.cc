// The hard operations written again by a "user" outside the tree (user_ops/): equal values and
// gradients as the library's operations, merged and not, and the same checks. tests/plant/run
// compiles this file against damaged copies of user_ops/ and requires it to fail.

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <vector>

#include "dynet/expr.h"
#include "dynet/expr/gradient.h"
#include "dynet/ext/add_node.h"
#include "dynet/model.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/linear.h"
#include "dynet/ops/pick.h"
#include "dynet/ops/random.h"
#include "dynet/ops/recurrent.h"
#include "dynet/ops/reduce.h"
#include "dynet/ops/shape.h"

#include "support/generator.h"
#include "support/gradient_program.h"
#include "support/observe.h"
#include "support/samples.h"
#include "testing/cases.h"
#include "testing/tolerance.h"
#include "user_ops/elementwise.h"
#include "user_ops/gradients.h"
#include "user_ops/indices.h"
#include "user_ops/linear.h"

namespace dynet::testing {
namespace {

using Twins = ext::OpList<user::Scale, user::Add, user::LstmCell, user::Product, user::Affine,
                          user::Concatenate, user::Pick, user::SumBatches, user::Dropout>;
using Others = ext::OpList<user::SelectRows, user::SumOfSome, user::Largest, user::ThereAndBack,
                           user::SumOfThose, user::Shuffle, user::RecurrentStep, user::Gram,
                           user::Centred, user::Halved, user::Crossed>;
using UserOps = ext::JoinLists<Twins, Others>;

/// The weights are listed here and not in the operation, so that a wrong role is seen.
template <class Op>
Expectations expected() {
  if constexpr (std::is_same_v<Op, user::Affine> || std::is_same_v<Op, user::RecurrentStep>) {
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
  const Counts counts;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = random_program(seed, combinations, counts);
    const Result expected = run(program, {double_device(), false});
    EXPECT_EQ(compare(program, run(program, {double_device(), true}), expected,
                      tolerance::kMergedInDouble),
              "");
  }
}

/// The members gradient(to) of user_ops/gradients.h as nodes, against their runs.
TEST(UserOps, GradientsWrittenOnceAreNodesToo) {
  std::size_t count = 0;
  ext::OpList<user::Gram, user::Centred, user::Halved, user::Crossed>::for_each([&]<class Op>() {
    const std::vector<Sample> samples = samples_of<Op>();
    for (const Sample& sample : samples) {
      for (const Case& c : cases_of(sample)) {
        SCOPED_TRACE(sample.text() + ", " + c.name);
        GradientProgram live(c.program, true);
        const std::vector<Expression> nodes = gradient(live.loss(), live.leaves());
        const Numbers run = live.backward(live.loss());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
          EXPECT_EQ(compare(numbers(nodes[i].value()), run[i], tolerance::kLongInDouble), "");
          ++count;
        }
      }
    }
  });
  EXPECT_GT(count, 0U);
}

TEST(UserOps, GradientsOfAListAreGivenInItsOrder) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({3});
  ComputationGraph cg;
  const Expression xs[] = {parameter(cg, p) * 2.0F, parameter(cg, p) * 3.0F};
  const Expression y =
      ext::add_node(user::Backwards{}, std::span<const Expression>(xs), Where::here());
  EXPECT_THROW(cg.backward(squared_norm(y)), std::logic_error);
}

TEST(UserOps, AGradientMayHaveAnyNumberOfIntermediateResults) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({3});
  ComputationGraph cg;
  std::vector<Expression> xs;
  for (unsigned i = 0; i < 40; ++i) {
    xs.push_back(parameter(cg, p) * static_cast<float>(i));
  }
  cg.backward(sum_elems(ext::add_node(user::Doubled{}, std::span<const Expression>(xs), Where())));
  EXPECT_EQ(as_vector(*p.gradients()), std::vector<float>(3, 2.0F * 40 * 39 / 2));
}

/// Three sequences of six steps, from zeros: the loss, and the gradients of all parameters.
/// `widest` gets the members of the largest call of a step.
std::vector<std::vector<float>> run_steps(ParameterCollection& model, bool batching,
                                          std::size_t& widest) {
  const auto& p = model.parameters_list();
  ComputationGraph cg(batching);
  std::vector<Expression> losses;
  for (unsigned sequence = 0; sequence < 3; ++sequence) {
    Expression h = zeros(cg, {4});
    for (unsigned t = 0; t < 6; ++t) {
      const Expression x =
          input(cg, {3}, {0.1F * static_cast<float>(t), 0.5F, static_cast<float>(sequence)});
      const Expression list[] = {parameter(cg, Parameter(p[0])), parameter(cg, Parameter(p[1])), h,
                                 parameter(cg, Parameter(p[2])), x};
      h = ext::add_node(user::RecurrentStep{}, std::span<const Expression>(list), Where::here());
    }
    losses.push_back(squared_norm(h));
  }
  const Expression loss = sum(losses);
  Observed observed;
  observe(cg, &observed);
  std::vector<std::vector<float>> found{as_vector(loss.value())};
  for (const Observed::Call& call : observed.calls()) {
    widest = call.shared != 0 ? std::max(widest, call.members.size()) : widest;
  }
  observe(cg, nullptr);
  model.reset_gradient();
  cg.backward(loss);
  for (const auto& storage : p) {
    found.push_back(as_vector(storage->g));
  }
  return found;
}

/// Products with the inputs of all steps after the first are one call, and the numbers equal the
/// numbers of one step after the other.
TEST(UserOps, AStepOfARecurrenceIsDivided) {
  ParameterCollection model;
  model.add_parameters({4});
  model.add_parameters({4, 4});
  model.add_parameters({4, 3});
  std::size_t widest[] = {0, 0};
  const auto alone = run_steps(model, false, widest[0]);
  const auto merged = run_steps(model, true, widest[1]);
  EXPECT_EQ(widest[0], 1U);
  EXPECT_EQ(widest[1], 3U * 5U);
  ASSERT_EQ(merged.size(), alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    ASSERT_EQ(merged[i].size(), alone[i].size());
    for (std::size_t k = 0; k < alone[i].size(); ++k) {
      EXPECT_NEAR(merged[i][k], alone[i][k], tolerance::kManyTermsInFloat) << i << ' ' << k;
    }
  }
}

}  // namespace
}  // namespace dynet::testing
