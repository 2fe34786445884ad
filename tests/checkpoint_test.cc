// Checkpoint and revert: trying something in a graph and taking it back.

#include <gtest/gtest.h>

#include "dynet/expr.h"
#include "dynet/ext/add_node.h"

#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

class Checkpoint : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Batching, Checkpoint, ::testing::Bool());

TEST_P(Checkpoint, RevertRemovesNodesAboveTheMark) {
  ComputationGraph cg(GetParam());
  const Expression x = input(cg, {3}, {1.0F, 2.0F, 3.0F});
  cg.checkpoint();
  const Expression y = tanh(x);
  EXPECT_EQ(cg.nodes.size(), 2U);
  static_cast<void>(y.value());
  cg.revert();
  EXPECT_EQ(cg.nodes.size(), 1U);
  EXPECT_EQ(as_vector(square(x).value()), (std::vector<float>{1.0F, 4.0F, 9.0F}));
}

TEST_P(Checkpoint, WithoutAMarkRevertDoesNothing) {
  ComputationGraph cg(GetParam());
  const Expression x = input(cg, 2.0F);
  cg.revert();
  EXPECT_EQ(cg.nodes.size(), 1U);
  EXPECT_EQ(as_scalar(x.value()), 2.0F);
}

TEST_P(Checkpoint, MarksNest) {
  ComputationGraph cg(GetParam());
  const Expression x = input(cg, 2.0F);
  cg.checkpoint();
  const Expression y = x * 2.0F;
  cg.checkpoint();
  const Expression z = y * 2.0F;
  EXPECT_EQ(as_scalar(z.value()), 8.0F);
  cg.revert();
  EXPECT_TRUE(z.is_stale());
  EXPECT_EQ(as_scalar((y + 1.0F).value()), 5.0F);
  cg.revert();
  EXPECT_TRUE(y.is_stale());
  EXPECT_EQ(as_scalar((x + 1.0F).value()), 3.0F);
}

TEST_P(Checkpoint, ClearForgetsMarks) {
  ComputationGraph cg(GetParam());
  input(cg, 1.0F);
  cg.checkpoint();
  cg.clear();
  const Expression x = input(cg, 2.0F);
  cg.revert();
  EXPECT_EQ(cg.nodes.size(), 1U);
  EXPECT_EQ(as_scalar(x.value()), 2.0F);
}

/// Beam search: the same scorer tried with several continuations from one state.
TEST_P(Checkpoint, ManyTriesFromOneState) {
  ComputationGraph cg(GetParam());
  ParameterCollection model;
  Parameter w = model.add_parameters({4, 4}, ParameterInitUniform(0.5F));
  LookupParameter table = model.add_lookup_parameters(6, {4}, ParameterInitUniform(0.5F));
  Expression state = lookup(cg, table, 0U);
  for (int step = 0; step < 5; ++step) {
    float best = -1e9F;
    unsigned which = 0;
    for (unsigned word = 0; word < 6; ++word) {
      cg.checkpoint();
      const Expression next = tanh(parameter(cg, w) * state + lookup(cg, table, word));
      const float score = as_scalar(sum_elems(next).value());
      if (score > best) {
        best = score;
        which = word;
      }
      cg.revert();
    }
    state = tanh(parameter(cg, w) * state + lookup(cg, table, which));
    EXPECT_NEAR(as_scalar(sum_elems(state).value()), best, tolerance::kSumsInFloat);
  }
  const Expression loss = squared_norm(state);
  cg.backward(loss);
  EXPECT_GT(model.gradient_l2_norm(), 0.0F);
}

/// The same numbers with and without a reverted attempt in between, gradients too; also after a
/// backward above the mark.
TEST_P(Checkpoint, RevertedNodesLeaveNoTraceInValuesAndGradients) {
  const auto gradient = [&](bool attempt) {
    ComputationGraph cg(GetParam());
    ParameterCollection model;
    Parameter w =
        model.add_parameters({3, 3}, ParameterInitFromVector({1, 2, 3, 4, 5, 6, 7, 8, 9}));
    const Expression x = input(cg, {3}, {0.1F, 0.2F, 0.3F});
    const Expression y = tanh(parameter(cg, w) * x);
    if (attempt) {
      static_cast<void>(y.value());
      cg.checkpoint();
      const Expression z = squared_norm(exp(y) * 2.0F);
      cg.backward(z);
      cg.revert();
      model.reset_gradient();
    }
    const Expression loss = squared_norm(y);
    cg.backward(loss);
    return std::make_pair(as_vector(w.get_storage().g), as_vector(y.gradient()));
  };
  EXPECT_EQ(gradient(true), gradient(false));
}

TEST_P(Checkpoint, CheckpointComputesWhatWasBuilt) {
  ComputationGraph cg(GetParam());
  float number = 1.0F;
  const Expression x = input(cg, &number);
  const Expression y = x + 1.0F;
  cg.checkpoint();
  number = 100.0F;
  EXPECT_EQ(as_scalar(y.value()), 2.0F);
  cg.revert();
  EXPECT_EQ(as_scalar(y.value()), 2.0F);
}

/// A parameter first used above the mark.
TEST_P(Checkpoint, ParameterUsedOnlyInTheAttempt) {
  ComputationGraph cg(GetParam());
  ParameterCollection model;
  Parameter a = model.add_parameters({2}, ParameterInitConst(1.0F));
  Parameter b = model.add_parameters({2}, ParameterInitConst(2.0F));
  const Expression x = parameter(cg, a);
  cg.checkpoint();
  static_cast<void>((parameter(cg, b) + x).value());
  cg.revert();
  const Expression y = cmult(parameter(cg, b), x);
  const Expression loss = sum_elems(y);
  EXPECT_EQ(as_scalar(loss.value()), 4.0F);
  cg.backward(loss);
  EXPECT_EQ(as_vector(a.get_storage().g), (std::vector<float>{2.0F, 2.0F}));
  EXPECT_EQ(as_vector(b.get_storage().g), (std::vector<float>{1.0F, 1.0F}));
}

/// Random nodes keep their numbers: revert does not lower the ordinal, so a later draw differs from
/// the draw that was taken back.
TEST_P(Checkpoint, RandomNodesAfterRevertDrawAnew) {
  ComputationGraph cg(GetParam());
  cg.set_random_stream(3);
  const Expression x = input(cg, {64}, std::vector<float>(64, 1.0F));
  cg.checkpoint();
  const std::vector<float> first = as_vector(dropout(x, 0.5F).value());
  cg.revert();
  EXPECT_NE(as_vector(dropout(x, 0.5F).value()), first);
}

/// A value asked for anew inside a mark computes nodes from both sides of the mark together.
enum class Anew { kForward, kInvalidate, kSet };

class AnewInsideAMark : public ::testing::TestWithParam<std::tuple<bool, Anew>> {};
INSTANTIATE_TEST_SUITE_P(Ways, AnewInsideAMark,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(Anew::kForward, Anew::kInvalidate,
                                                              Anew::kSet)));

TEST_P(AnewInsideAMark, RevertLeavesValuesAndGradientsRight) {
  const auto [batching, how] = GetParam();
  ComputationGraph cg(batching);
  ParameterCollection model;
  Parameter w = model.add_parameters({2, 2}, ParameterInitFromVector({0.1F, 0.2F, 0.3F, 0.4F}));
  const Expression x = input(cg, {2}, std::vector<float>{1.0F, 2.0F});
  Expression h = tanh(parameter(cg, w) * x);
  Expression above;
  for (int mark = 0; mark < 3; ++mark) {
    cg.checkpoint();
    above = tanh(parameter(cg, w) * h) + dot_product(h, h);
    if (mark == 1) {
      static_cast<void>(above.value());
    }
  }
  const std::vector<float> other{3.0F, -1.0F};
  if (how == Anew::kSet) {
    ext::set_payload(x, std::span<const float>(other));
  }
  if (how == Anew::kInvalidate) {
    cg.invalidate();
  }
  if (how == Anew::kForward) {
    cg.forward(above);
  } else {
    static_cast<void>(above.value());
  }
  for (int mark = 0; mark < 3; ++mark) {
    cg.revert();
    EXPECT_EQ(cg.nodes.size(), 4U + 5U * static_cast<unsigned>(2 - mark));
    const Expression late = h * 2.0F + tanh(x);
    static_cast<void>(late.value());
  }
  const Expression loss = squared_norm(h) + squared_norm(tanh(h));
  cg.backward(loss);
  const std::vector<float> gradient = as_vector(w.get_storage().g);
  const std::vector<float> value = as_vector(h.value());

  model.reset_gradient();
  ComputationGraph fresh(batching);
  const Expression fx =
      input(fresh, {2}, how == Anew::kSet ? other : std::vector<float>{1.0F, 2.0F});
  const Expression fh = tanh(parameter(fresh, w) * fx);
  fresh.backward(squared_norm(fh) + squared_norm(tanh(fh)));
  EXPECT_EQ(as_vector(fh.value()), value);
  const std::vector<float> expected = as_vector(w.get_storage().g);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(gradient[i], expected[i], tolerance::kFewInFloat);
  }
}

}  // namespace
}  // namespace dynet::testing
