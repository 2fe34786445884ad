// Asking in the middle: values before the graph is complete, inputs behind pointers, gradients of
// any node, several backward passes.

#include <gtest/gtest.h>

#include <string>

#include "dynet/expr.h"
#include "dynet/training.h"

#include "testing/errors.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

class Incremental : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Batching, Incremental, ::testing::Bool());

using Floats = std::vector<float>;

TEST_P(Incremental, ValueInTheMiddleDoesNotChangeTheRest) {
  const auto numbers = [&](bool ask) {
    ComputationGraph cg(GetParam());
    ParameterCollection model;
    Parameter w = model.add_parameters({2, 2}, ParameterInitFromVector({0.1F, 0.2F, 0.3F, 0.4F}));
    Expression h = input(cg, {2}, {1.0F, -1.0F});
    for (int i = 0; i < 6; ++i) {
      h = tanh(parameter(cg, w) * h + 0.1F);
      if (ask && i % 2 == 0) {
        static_cast<void>(h.value());
      }
    }
    const Expression loss = squared_norm(h);
    cg.backward(loss);
    return std::make_pair(as_vector(h.value()), as_vector(w.get_storage().g));
  };
  EXPECT_EQ(numbers(true).first, numbers(false).first);
  const Floats a = numbers(true).second;
  const Floats b = numbers(false).second;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], b[i], tolerance::kFewInFloat);
  }
}

/// The error has the name of the call that the program made, and no value is lost.
TEST_P(Incremental, NumbersOfNodesThatAreNotAreRefusedByNameOfTheCall) {
  ComputationGraph cg(GetParam());
  float number = 2.0F;
  const Expression x = input(cg, &number);
  EXPECT_EQ(as_scalar(x.value()), 2.0F);
  number = 3.0F;
  const auto refuses = [&](const std::string& name, const auto& call) {
    EXPECT_EQ(testing::text_of_error<errors::IndexError>(call),
              name + ": node 1 of a graph of 1 nodes");
  };
  refuses("forward", [&] { cg.forward(VariableIndex{1}); });
  refuses("incremental_forward", [&] { cg.incremental_forward(VariableIndex{1}); });
  refuses("get_value", [&] { cg.get_value(VariableIndex{1}); });
  refuses("get_gradient", [&] { cg.get_gradient(VariableIndex{1}); });
  refuses("backward", [&] { cg.backward(VariableIndex{1}); });
  refuses("get_dimension", [&] { static_cast<void>(cg.get_dimension(1)); });
  EXPECT_EQ(as_scalar(x.value()), 2.0F);
  EXPECT_EQ(as_scalar(cg.forward(x.i)), 3.0F);
}

TEST_P(Incremental, ControlFlowOnValues) {
  ComputationGraph cg(GetParam());
  Expression x = input(cg, 100.0F);
  int halvings = 0;
  while (as_scalar(x.value()) > 1.0F) {
    x = x * 0.5F;
    ++halvings;
  }
  EXPECT_EQ(halvings, 7);
}

TEST_P(Incremental, EarlierValuesStayReadable) {
  ComputationGraph cg(GetParam());
  std::vector<Expression> nodes{input(cg, 1.0F)};
  for (int i = 0; i < 300; ++i) {
    nodes.push_back(nodes.back() + 1.0F);
  }
  const Tensor& first = nodes[10].value();
  static_cast<void>(nodes.back().value());
  EXPECT_EQ(as_scalar(first), 11.0F);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(as_scalar(nodes[i].value()), static_cast<float>(i + 1));
  }
}

TEST_P(Incremental, PointersAreReadAgainAfterInvalidate) {
  ComputationGraph cg(GetParam());
  float scalar = 2.0F;
  Floats vector{1.0F, 2.0F};
  unsigned index = 0;
  const Expression x = input(cg, &scalar);
  const Expression v = input(cg, {2}, &vector);
  const Expression y = pick(v, &index) * 1.0F + x;
  EXPECT_EQ(as_scalar(y.value()), 3.0F);
  scalar = 10.0F;
  vector = {5.0F, 6.0F};
  index = 1;
  EXPECT_EQ(as_scalar(y.value()), 3.0F);  // nothing is noticed by itself
  cg.invalidate();
  EXPECT_EQ(as_scalar(y.value()), 16.0F);
  scalar = 20.0F;
  EXPECT_EQ(as_scalar(cg.forward(y)), 26.0F);
  EXPECT_EQ(as_scalar(cg.incremental_forward(y)), 26.0F);
}

TEST_P(Incremental, LookupThroughPointer) {
  ComputationGraph cg(GetParam());
  ParameterCollection model;
  LookupParameter t =
      model.add_lookup_parameters(3, {1}, ParameterInitFromVector({10.0F, 20.0F, 30.0F}));
  unsigned index = 0;
  std::vector<unsigned> indices{0, 1};
  const Expression one = lookup(cg, t, &index);
  const Expression two = sum_batches(lookup(cg, t, &indices));
  EXPECT_EQ(as_scalar((one + two).value()), 40.0F);
  index = 2;
  indices = {2, 2};
  EXPECT_EQ(as_scalar(cg.forward(one + two)), 90.0F);
}

/// Changing parameters shows after the values are forgotten.
TEST_P(Incremental, ParametersAreReadAgain) {
  ComputationGraph cg(GetParam());
  ParameterCollection model;
  Parameter w = model.add_parameters({1}, ParameterInitConst(1.0F));
  const Expression loss = square(parameter(cg, w));
  SimpleSGDTrainer trainer(model, 0.25F);
  EXPECT_EQ(as_scalar(cg.forward(loss)), 1.0F);
  cg.backward(loss);
  trainer.update();
  EXPECT_EQ(as_scalar(cg.forward(loss)), 0.25F);
  cg.backward(loss);
  trainer.update();
  EXPECT_EQ(as_scalar(cg.forward(loss)), 0.0625F);
}

TEST_P(Incremental, GradientOfAnyNode) {
  ComputationGraph cg(GetParam());
  ParameterCollection model;
  Parameter w = model.add_parameters({2}, ParameterInitFromVector({2.0F, 3.0F}));
  const Expression p = parameter(cg, w);
  const Expression x = input(cg, {2}, {5.0F, 7.0F});
  const Expression y = cmult(p, x);
  const Expression s = sum_elems(y);
  const Expression loss = square(s);
  cg.backward(loss, true);
  EXPECT_EQ(as_vector(loss.gradient()), Floats{1.0F});
  EXPECT_EQ(as_vector(s.gradient()), Floats{62.0F});
  EXPECT_EQ(as_vector(y.gradient()), (Floats{62.0F, 62.0F}));
  EXPECT_EQ(as_vector(p.gradient()), (Floats{310.0F, 434.0F}));
  EXPECT_EQ(as_vector(x.gradient()), (Floats{124.0F, 186.0F}));
  EXPECT_EQ(as_vector(cg.get_gradient(y)), (Floats{62.0F, 62.0F}));
}

TEST_P(Incremental, NodesThatNothingFlowedToHaveZeroGradient) {
  ComputationGraph cg(GetParam());
  ParameterCollection model;
  Parameter w = model.add_parameters({2}, ParameterInitConst(1.0F));
  const Expression p = parameter(cg, w);
  const Expression beside = tanh(p);
  const Expression loss = sum_elems(p);
  cg.backward(loss);
  EXPECT_EQ(as_vector(beside.gradient()), (Floats{0.0F, 0.0F}));
}

TEST_P(Incremental, FullComputesGradientsThatNoParameterNeeds) {
  ComputationGraph cg(GetParam());
  const Expression x = input(cg, {2}, {3.0F, 4.0F});
  const Expression loss = squared_norm(x);
  cg.backward(loss, true);
  EXPECT_EQ(as_vector(x.gradient()), (Floats{6.0F, 8.0F}));
  cg.backward(loss);
  EXPECT_EQ(as_vector(x.gradient()), (Floats{0.0F, 0.0F}));
}

TEST_P(Incremental, BackwardTwiceAdds) {
  ComputationGraph cg(GetParam());
  ParameterCollection model;
  Parameter w = model.add_parameters({2, 2}, ParameterInitFromVector({1.0F, 2.0F, 3.0F, 4.0F}));
  LookupParameter t = model.add_lookup_parameters(2, {2}, ParameterInitConst(1.0F));
  const Expression loss = squared_norm(parameter(cg, w) * lookup(cg, t, 1U));
  cg.backward(loss);
  const Floats once = as_vector(w.get_storage().g);
  const Floats row = as_vector(t.get_storage().all_grads);
  cg.backward(loss);
  const Floats twice = as_vector(w.get_storage().g);
  const Floats row_twice = as_vector(t.get_storage().all_grads);
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(twice[i], 2.0F * once[i]);
    EXPECT_NE(once[i], 0.0F);
    EXPECT_EQ(row_twice[i], 2.0F * row[i]);
  }
}

TEST_P(Incremental, BackwardFromTwoScalarsOfOneGraph) {
  ComputationGraph cg(GetParam());
  ParameterCollection model;
  Parameter w = model.add_parameters({1}, ParameterInitConst(3.0F));
  const Expression p = parameter(cg, w);
  const Expression a = square(p);
  const Expression b = a * p;
  cg.backward(b);
  EXPECT_EQ(as_vector(w.get_storage().g), Floats{27.0F});
  EXPECT_EQ(as_vector(a.gradient()), Floats{3.0F});
  cg.backward(a);
  EXPECT_EQ(as_vector(w.get_storage().g), Floats{33.0F});
  EXPECT_EQ(as_vector(a.gradient()), Floats{1.0F});
}

TEST_P(Incremental, SeveralNodesOfOneParameterHaveTheirOwnGradients) {
  ComputationGraph cg(GetParam());
  ParameterCollection model;
  Parameter w = model.add_parameters({1}, ParameterInitConst(3.0F));
  const Expression p = parameter(cg, w);
  const Expression q = parameter(cg, w);
  const Expression loss = p * 2.0F + square(q) * 1.0F;
  cg.backward(loss);
  EXPECT_EQ(as_vector(w.get_storage().g), Floats{8.0F});
  EXPECT_EQ(as_vector(p.gradient()), Floats{2.0F});
  EXPECT_EQ(as_vector(q.gradient()), Floats{6.0F});
  EXPECT_EQ(as_vector(w.get_storage().g), Floats{8.0F});  // asking adds nothing
}

/// The test above with a matrix whose products are put off to the end of the pass.
TEST_P(Incremental, SeveralNodesOfOneWeightHaveTheirOwnGradients) {
  ComputationGraph cg(GetParam());
  ParameterCollection model;
  Parameter w = model.add_parameters({1, 2}, ParameterInitFromVector({1.0F, 2.0F}));
  const Expression p = parameter(cg, w);
  const Expression q = parameter(cg, w);
  const Expression loss = p * input(cg, {2}, {10.0F, 20.0F}) + q * input(cg, {2}, {3.0F, 4.0F});
  cg.backward(loss);
  EXPECT_EQ(as_vector(w.get_storage().g), (Floats{13.0F, 24.0F}));
  EXPECT_EQ(as_vector(p.gradient()), (Floats{10.0F, 20.0F}));
  EXPECT_EQ(as_vector(q.gradient()), (Floats{3.0F, 4.0F}));
}

TEST_P(Incremental, FrozenParametersGetNoGradient) {
  ComputationGraph cg(GetParam());
  ParameterCollection model;
  Parameter w = model.add_parameters({2}, ParameterInitConst(1.0F));
  Parameter frozen = model.add_parameters({2}, ParameterInitConst(2.0F));
  frozen.set_updated(false);
  const Expression f = parameter(cg, frozen);
  const Expression loss = dot_product(parameter(cg, w), f);
  cg.backward(loss);
  EXPECT_EQ(as_vector(w.get_storage().g), (Floats{2.0F, 2.0F}));
  EXPECT_EQ(as_vector(frozen.get_storage().g), (Floats{0.0F, 0.0F}));
  EXPECT_NEAR(model.gradient_l2_norm(), std::sqrt(8.0F), tolerance::kFewInFloat);
  SimpleSGDTrainer trainer(model, 0.5F);
  trainer.update();
  EXPECT_EQ(as_vector(*frozen.values()), (Floats{2.0F, 2.0F}));
  EXPECT_EQ(as_vector(*w.values()), (Floats{0.0F, 0.0F}));
}

TEST_P(Incremental, ConstFormsGetNoGradient) {
  ComputationGraph cg(GetParam());
  ParameterCollection model;
  Parameter w = model.add_parameters({2}, ParameterInitConst(1.0F));
  LookupParameter t = model.add_lookup_parameters(2, {2}, ParameterInitConst(2.0F));
  const Expression loss = dot_product(const_parameter(cg, w), const_lookup(cg, t, 1U)) +
                          dot_product(parameter(cg, w), lookup(cg, t, 0U));
  cg.backward(loss);
  EXPECT_EQ(as_vector(w.get_storage().g), (Floats{2.0F, 2.0F}));
  EXPECT_EQ(as_vector(t.get_storage().all_grads), (Floats{1.0F, 1.0F, 0.0F, 0.0F}));
}

TEST_P(Incremental, BackwardOfALeafAndOfAnAlias) {
  ComputationGraph cg(GetParam());
  ParameterCollection model;
  Parameter w = model.add_parameters({1}, ParameterInitConst(3.0F));
  cg.backward(parameter(cg, w));
  EXPECT_EQ(as_vector(w.get_storage().g), Floats{1.0F});
  Parameter v = model.add_parameters({1}, ParameterInitConst(3.0F));
  cg.backward(reshape(square(parameter(cg, v)), {1, 1}));
  EXPECT_EQ(as_vector(v.get_storage().g), Floats{6.0F});
}

TEST_P(Incremental, NodesAddedAfterBackward) {
  ComputationGraph cg(GetParam());
  ParameterCollection model;
  Parameter w = model.add_parameters({1}, ParameterInitConst(3.0F));
  const Expression p = parameter(cg, w);
  const Expression a = square(p);
  cg.backward(a);
  const Expression b = a * 2.0F;
  EXPECT_EQ(as_scalar(b.value()), 18.0F);
  model.reset_gradient();
  cg.backward(b);
  EXPECT_EQ(as_vector(w.get_storage().g), Floats{12.0F});
}

TEST_P(Incremental, ImmediateCompute) {
  ComputationGraph cg(GetParam());
  cg.set_immediate_compute(true);
  cg.set_check_validity(true);
  const Expression x = input(cg, -1.0F);
  EXPECT_EQ(as_scalar(square(x).value()), 1.0F);
  EXPECT_THROW(log(x), errors::NumericError);
}

TEST_P(Incremental, SwitchingBatchingInTheMiddle) {
  ComputationGraph cg(GetParam());
  const Expression x = input(cg, {2}, {1.0F, 2.0F});
  const Expression a = square(x);
  static_cast<void>(a.value());
  cg.set_batching(!GetParam());
  EXPECT_EQ(cg.batching(), !GetParam());
  EXPECT_EQ(as_vector((a + square(x)).value()), (Floats{2.0F, 8.0F}));
}

TEST_P(Incremental, DropoutUsesOneDrawForForwardAndBackward) {
  ComputationGraph cg(GetParam());
  ParameterCollection model;
  Parameter w = model.add_parameters({200}, ParameterInitConst(1.0F));
  const Expression y = dropout(parameter(cg, w), 0.25F);
  cg.backward(sum_elems(y));
  EXPECT_EQ(as_vector(w.get_storage().g), as_vector(y.value()));
  const Floats before = as_vector(y.value());
  const Floats again = as_vector(cg.forward(y));  // draws anew
  EXPECT_NE(before, again);
}

}  // namespace
}  // namespace dynet
