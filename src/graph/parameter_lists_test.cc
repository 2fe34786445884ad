// Parameters of nodes as lists: which node has which list, and the lists after nodes are removed.

#include "graph/parameter_lists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "dynet/model.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/input.h"
#include "dynet/ops/linear.h"

#include "graph/graph.h"

namespace dynet::graph {
namespace {

constexpr auto kNone = ParameterLists::kNone;

struct ParameterListsTest : ::testing::Test {
  ParameterCollection model;
  Interner interner;
  Graph graph{interner};
  const NodeId b = parameter({2});
  const NodeId w = parameter({2, 2});
  const NodeId u = parameter({2, 2});
  const NodeId x = value(Dim({2}));
  const NodeId y = value(Dim({2}));
  const NodeId z = value(Dim({2}, 3));

  template <class Op>
  NodeId add(const Op& op, const std::vector<NodeId>& args, const ext::NodePayload& payload = {}) {
    return graph.add(ext::kRecord<Op>, &op, args, payload, {}, 1);
  }
  NodeId parameter(const Dim& dim) {
    const std::shared_ptr<void> storage = model.add_parameters(dim).p;
    ext::NodePayload payload;
    payload.storage = &storage;
    return add(ops::Parameter{dim, true}, {}, payload);
  }
  NodeId value(const Dim& dim) { return add(ops::Constant{dim, 2.0F}, {}); }
  NodeId affine(const std::vector<NodeId>& args) { return add(ops::AffineTransform{}, args); }

  ParameterLists::Id list(NodeId n) const { return graph[n].parameters; }
  std::vector<NodeId> parameters_of(NodeId n) const {
    EXPECT_LT(list(n), graph.parameter_lists().size());
    const std::span<const NodeId> nodes = graph.parameter_lists()[list(n)];
    return {nodes.begin(), nodes.end()};
  }
  std::vector<NodeId> own_arguments(NodeId n) const {
    std::vector<NodeId> own;
    graph[n].visit_own_arguments([&](std::uint32_t a, NodeId arg) {
      EXPECT_EQ(graph.args(n)[a], arg);
      own.push_back(arg);
    });
    return own;
  }
};

using Nodes = std::vector<NodeId>;

TEST_F(ParameterListsTest, StepsShareThem) {
  const NodeId first = affine({b, w, x, u, y});
  const NodeId second = affine({b, w, y, u, first});
  EXPECT_EQ(parameters_of(first), (Nodes{b, w, u}));
  EXPECT_EQ(own_arguments(second), (Nodes{y, first}));
  EXPECT_TRUE(graph[first].shares_parameters(graph[second]));
  EXPECT_EQ(graph[first].signature, graph[second].signature);
  EXPECT_EQ(graph.args(second)[3], u);
}

TEST_F(ParameterListsTest, OtherParametersOrPlacesMakeAnotherList) {
  const NodeId first = affine({b, w, x, u, y});
  for (const NodeId other : {affine({b, u, x, w, y}), affine({b, w, x, w, y}), affine({b, w, x}),
                             affine({b, w, b, u, y})}) {
    EXPECT_NE(list(other), list(first));
    EXPECT_FALSE(graph[first].shares_parameters(graph[other]));
  }
  EXPECT_EQ(list(affine({b, w, y, u, x})), list(first)) << "though others were made since";
}

/// A parameter, or a value of another shape, may stand in the place of the value of the step
/// before.
TEST_F(ParameterListsTest, ANodeLikeTheLastOneInAllButOne) {
  const NodeId first = affine({b, w, x});
  const NodeId of_parameter = affine({b, w, b});
  EXPECT_EQ(parameters_of(of_parameter), (Nodes{b, w, b}));
  EXPECT_TRUE(own_arguments(of_parameter).empty());
  const NodeId of_batch = affine({b, w, z});
  EXPECT_EQ(list(of_batch), list(first));
  EXPECT_EQ(graph.dim(of_batch), Dim({2}, 3));
  EXPECT_EQ(graph.dim(affine({b, w, x})), Dim({2}));
  const NodeId computed = affine({x, w, x});
  EXPECT_NE(list(computed), list(first));
  EXPECT_EQ(graph.dim(add(ops::Add{}, {b, x})), Dim({2})) << "another operation";
  EXPECT_THROW(affine({b, w, w, w, b}), errors::ShapeError);
  EXPECT_EQ(list(affine({b, w, y})), list(first)) << "after one that was refused";
}

TEST_F(ParameterListsTest, WhatHasNone) {
  EXPECT_EQ(list(add(ops::Add{}, {x, y})), kNone);
  EXPECT_EQ(list(add(ops::Add{}, {x, b})), kNone) << "the first argument is no parameter";
  EXPECT_EQ(own_arguments(add(ops::Add{}, {x, b})), (Nodes{x, b}));
  EXPECT_EQ(list(b), kNone);
  Nodes many(65, x);
  many[0] = b;
  EXPECT_EQ(list(add(ops::Sum{}, many)), kNone) << "a mask has 64 bits";
  EXPECT_EQ(own_arguments(graph.size() - 1), many);
  Nodes fewer = many;
  fewer.pop_back();
  const Graph::Mark mark = graph.mark();
  EXPECT_EQ(parameters_of(add(ops::Sum{}, fewer)), (Nodes{b}));
  graph.revert(mark);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(list(add(ops::Sum{}, many)), kNone) << "where the other one was";
  }
}

/// The search has an end: the parameters of later nodes count as the nodes' own arguments.
TEST_F(ParameterListsTest, ManyListsWithOneFirst) {
  Nodes nodes;
  for (int i = 0; i < 12; ++i) {
    const NodeId matrix = parameter({2, 2});
    nodes.push_back(affine({b, matrix, x}));
    EXPECT_EQ(graph.args(nodes.back())[1], matrix);
  }
  EXPECT_EQ(parameters_of(nodes[0]).size(), 2U);
  EXPECT_EQ(list(nodes[11]), kNone);
  EXPECT_EQ(own_arguments(nodes[11]).size(), 3U);
  EXPECT_EQ(list(affine({b, graph.args(nodes[0])[1], y})), list(nodes[0]));
}

TEST_F(ParameterListsTest, RevertTakesThemBack) {
  const NodeId kept = affine({b, w, x});
  for (int round = 0; round < 3; ++round) {
    const Graph::Mark mark = graph.mark();
    const NodeId own = parameter({2, 2});
    EXPECT_EQ(parameters_of(affine({b, own, x})), (Nodes{b, own}));
    EXPECT_EQ(parameters_of(add(ops::MatMul{}, {own, y})), (Nodes{own}));
    EXPECT_EQ(list(affine({b, w, y})), list(kept));
    graph.revert(mark);
    EXPECT_EQ(graph.parameter_lists().size(), 1U);
    EXPECT_EQ(list(affine({b, w, y})), list(kept));
    // Takes the number of a node that was a list's example.
    EXPECT_EQ(list(add(ops::Add{}, {x, y})), kNone);
    EXPECT_EQ(graph.dim(affine({b, w, z})), Dim({2}, 3));
    graph.revert(mark);
    EXPECT_EQ(graph.dim(affine({b, w, z})), Dim({2}, 3));
    graph.revert(mark);
    for (const NodeId& arg : {y, z, y}) {
      EXPECT_EQ(graph.dim(affine({b, w, arg})), graph.dim(arg)) << "where its example was";
      graph.revert(mark);
    }
  }
  graph.clear();
  EXPECT_EQ(graph.parameter_lists().size(), 0U);
  const NodeId only = value({2});
  EXPECT_EQ(list(add(ops::Add{}, {only, only})), kNone);
}

}  // namespace
}  // namespace dynet::graph
