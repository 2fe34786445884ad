// Expressions that outlive their node: every use is an error and nothing else happens.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "dynet/expr.h"
#include "dynet/lstm.h"

namespace dynet {
namespace {

TEST(Stale, ValueOfAnExpressionOfADestroyedGraph) {
  Expression e;
  {
    ComputationGraph cg;
    e = input(cg, 5.0F);
    EXPECT_FALSE(e.is_stale());
    EXPECT_EQ(as_scalar(e.value()), 5.0F);
  }
  EXPECT_TRUE(e.is_stale());
  EXPECT_THROW(static_cast<void>(e.value()), errors::StaleExpression);
  EXPECT_THROW(static_cast<void>(e.gradient()), errors::StaleExpression);
  EXPECT_THROW(static_cast<void>(e.dim()), errors::StaleExpression);
  EXPECT_THROW(static_cast<void>(e.value()), std::runtime_error);
  EXPECT_THROW(static_cast<void>(e.value()), errors::Error);
}

/// A node of another graph is not the node of the same number.
TEST(Stale, AnExpressionOfAnotherGraph) {
  ComputationGraph cg;
  ComputationGraph other;
  const Expression mine = square(input(cg, 2.0F));
  const Expression e = square(input(other, 7.0F));
  EXPECT_THROW(static_cast<void>(cg.forward(e)), errors::GraphError);
  EXPECT_THROW(static_cast<void>(cg.incremental_forward(e)), errors::GraphError);
  EXPECT_THROW(static_cast<void>(cg.get_value(e)), errors::GraphError);
  EXPECT_THROW(cg.backward(e), errors::GraphError);
  cg.backward(mine);
  EXPECT_THROW(static_cast<void>(cg.get_gradient(e)), errors::GraphError);
  EXPECT_EQ(as_scalar(cg.get_value(mine)), 4.0F);
  EXPECT_EQ(as_scalar(other.forward(e)), 49.0F);
}

TEST(Stale, OperationOnAnExpressionOfADestroyedGraph) {
  Expression e;
  {
    ComputationGraph cg;
    e = input(cg, 5.0F);
  }
  EXPECT_THROW(tanh(e), errors::StaleExpression);
  ComputationGraph other;
  const Expression x = input(other, 1.0F);
  EXPECT_THROW(x + e, errors::StaleExpression);
  EXPECT_THROW(e + x, errors::StaleExpression);
  EXPECT_THROW(sum({x, e}), errors::StaleExpression);
  EXPECT_EQ(other.nodes.size(), 1U);
  EXPECT_EQ(as_scalar((x + 1.0F).value()), 2.0F);
}

/// Calls that can be repeated note how many numbers a graph has drawn: no graph, nothing to note.
TEST(Stale, RandomNodesOnExpressionsOfADestroyedGraph) {
  Expression x;
  Expression w;
  {
    ComputationGraph cg;
    x = input(cg, {3}, std::vector<float>(3, 0.5F));
    w = input(cg, {12, 3}, std::vector<float>(36, 0.5F));
  }
  EXPECT_THROW(vanilla_lstm_gates(x, x, w, w, x, 0.5F), errors::StaleExpression);
  EXPECT_THROW(vanilla_lstm_gates(x, x, Expression(), w, x, 0.5F), errors::StaleExpression);
  EXPECT_THROW(sample_categorical(x), errors::StaleExpression);
  ParameterCollection model;
  VanillaLSTMBuilder lstm(1, 3, 4, model);
  ComputationGraph cg;
  lstm.new_graph(cg);
  lstm.start_new_sequence();
  EXPECT_THROW(lstm.transduce({x}), errors::StaleExpression);
  EXPECT_THROW(lstm.transduce({Expression()}), errors::StaleExpression);
}

TEST(Stale, ClearedGraphWithANewNodeInTheSamePlace) {
  ComputationGraph cg;
  const Expression one = input(cg, 1.0F);
  EXPECT_EQ(as_scalar(one.value()), 1.0F);
  cg.clear();
  const Expression five = input(cg, 5.0F);
  EXPECT_EQ(one.i, five.i);
  EXPECT_TRUE(one.is_stale());
  EXPECT_FALSE(five.is_stale());
  EXPECT_THROW(static_cast<void>(one.value()), errors::StaleExpression);
  EXPECT_THROW(tanh(one), errors::StaleExpression);
  EXPECT_EQ(as_scalar(five.value()), 5.0F);
}

/// A graph that takes the address of a dead one does not bring its expressions back to life.
TEST(Stale, NewGraphAtTheSameAddress) {
  alignas(ComputationGraph) std::byte room[sizeof(ComputationGraph)];
  auto* cg = new (room) ComputationGraph;
  const Expression one = input(*cg, 1.0F);
  cg->~ComputationGraph();
  cg = new (room) ComputationGraph;
  const Expression five = input(*cg, 5.0F);
  EXPECT_EQ(one.pg, five.pg);
  EXPECT_TRUE(one.is_stale());
  EXPECT_THROW(static_cast<void>(one.value()), errors::StaleExpression);
  EXPECT_EQ(as_scalar(five.value()), 5.0F);
  cg->~ComputationGraph();
}

TEST(Stale, RevertEndsOnlyWhatLiesAboveTheMark) {
  ComputationGraph cg;
  const Expression below = input(cg, 2.0F);
  cg.checkpoint();
  const Expression above = below * 3.0F;
  EXPECT_EQ(as_scalar(above.value()), 6.0F);
  cg.revert();
  EXPECT_FALSE(below.is_stale());
  EXPECT_TRUE(above.is_stale());
  EXPECT_EQ(as_scalar(below.value()), 2.0F);
  EXPECT_THROW(static_cast<void>(above.value()), errors::StaleExpression);
  const Expression again = below * 4.0F;
  EXPECT_EQ(again.i, above.i);
  EXPECT_TRUE(above.is_stale());
  EXPECT_EQ(as_scalar(again.value()), 8.0F);
  EXPECT_EQ(as_scalar((again + below).value()), 10.0F);
}

TEST(Stale, GraphFunctionsRefuseThemToo) {
  ComputationGraph cg;
  const Expression old = input(cg, 1.0F);
  cg.clear();
  input(cg, 2.0F);
  EXPECT_THROW(cg.forward(old), errors::StaleExpression);
  EXPECT_THROW(cg.backward(old), errors::StaleExpression);
  EXPECT_THROW(cg.get_value(old), errors::StaleExpression);
  EXPECT_THROW(cg.get_gradient(old), errors::StaleExpression);
  EXPECT_THROW(cg.incremental_forward(old), errors::StaleExpression);
}

TEST(Stale, UnsetExpression) {
  const Expression unset;
  EXPECT_TRUE(unset.is_stale());
  EXPECT_THROW(static_cast<void>(unset.value()), errors::Error);
  EXPECT_THROW(tanh(unset), errors::Error);
}

TEST(Stale, ExpressionIsSixteenBytes) { EXPECT_EQ(sizeof(Expression), 16U); }

TEST(Stale, ParametersOutliveTheirCollection) {
  Parameter p;
  LookupParameter t;
  {
    ParameterCollection model;
    p = model.add_parameters({2}, ParameterInitConst(3.0F));
    t = model.add_lookup_parameters(2, {2}, ParameterInitConst(4.0F));
  }
  ComputationGraph cg;
  EXPECT_EQ(as_vector((parameter(cg, p) + lookup(cg, t, 1U)).value()),
            (std::vector<float>{7.0F, 7.0F}));
}

TEST(Stale, ManyGraphsAtOnceEachWithItsOwnExpressions) {
  std::vector<std::unique_ptr<ComputationGraph>> graphs;
  std::vector<Expression> nodes;
  for (int i = 0; i < 50; ++i) {
    graphs.push_back(std::make_unique<ComputationGraph>());
    nodes.push_back(input(*graphs.back(), static_cast<float>(i)) * 2.0F);
  }
  for (std::size_t i = 0; i < graphs.size(); i += 2) {
    graphs[i].reset();
  }
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    EXPECT_EQ(nodes[i].is_stale(), i % 2 == 0);
    if (i % 2 == 1) {
      EXPECT_EQ(as_scalar(nodes[i].value()), static_cast<float>(2 * i));
    }
  }
  EXPECT_THROW(nodes[1] + nodes[3], errors::GraphError);
  EXPECT_EQ(graphs[1]->nodes.size(), 2U);
}

TEST(Nodes, TheViewEndsWithTheGraph) {
  ComputationGraph cg;
  constant(cg, {3}, 1.0F);
  EXPECT_EQ(cg.nodes[0]->dim, Dim({3}));
  EXPECT_THROW(cg.nodes[1], errors::IndexError);
  EXPECT_THROW(cg.nodes[std::size_t{1} << 32], errors::IndexError);
  EXPECT_THROW(static_cast<void>(cg.get_dimension(1)), errors::IndexError);
  static_assert(std::is_same_v<decltype(cg.get_dimension(0)), const Dim&>);
}

/// References to shapes stay valid while the table of shapes grows.
TEST(Nodes, ShapesStayInTheirPlace) {
  ComputationGraph cg;
  const Dim& d = constant(cg, {3}, 1.0F).dim();
  for (unsigned i = 1; i < 2000; ++i) {
    constant(cg, {3, i}, 1.0F);
  }
  EXPECT_EQ(&d, &cg.get_dimension(0));
  EXPECT_EQ(d, Dim({3}));
}

}  // namespace
}  // namespace dynet
