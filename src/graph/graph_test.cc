#include "graph/graph.h"

#include <gtest/gtest.h>

#include "dynet/ops/activation.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/input.h"
#include "dynet/ops/pick.h"
#include "dynet/ops/recurrent.h"

namespace dynet::graph {
namespace {

/// A graph with a helper that adds operations by value.
struct Fixture : ::testing::Test {
  Interner interner;
  Graph graph{interner};
  const float zeros[64] = {};

  template <class Op>
  NodeId add(const Op& op, std::vector<NodeId> args, const ext::NodePayload& payload = {}) {
    return graph.add(ext::kRecord<Op>, &op, args, payload, Where::here("model.cc", 7), 1);
  }
  NodeId input(const Dim& d) {
    return add(ops::Input{d}, {},
               ext::NodePayload::of(std::span(zeros, static_cast<std::size_t>(d.elements()))));
  }
};

using GraphTest = Fixture;

TEST_F(GraphTest, ShapesFollowTheBatchRule) {
  const NodeId a = input(Dim({4}, 3));
  const NodeId b = input({4});
  EXPECT_EQ(graph.dim(add(ops::Tanh{}, {a})), Dim({4}, 3));
  EXPECT_EQ(graph.dim(add(ops::Add{}, {a, b})), Dim({4}, 3));
  const NodeId c = input(Dim({4}, 2));
  EXPECT_THROW(add(ops::Add{}, {a, c}), errors::ShapeError);
}

TEST_F(GraphTest, AFailedAddLeavesTheGraphUnchanged) {
  const NodeId a = input({4});
  const NodeId b = input({5});
  const NodeId size = graph.size();
  try {
    add(ops::Add{}, {a, b});
    FAIL();
  } catch (const errors::ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("{4}"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("{5}"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("built at model.cc:7"), std::string::npos) << e.what();
  }
  EXPECT_EQ(graph.size(), size);
  EXPECT_EQ(graph.dim(add(ops::Tanh{}, {a})), Dim({4}));
}

TEST_F(GraphTest, KeysTellAttributesShapesAndBatchPatternsApart) {
  const NodeId a = input({4});
  const NodeId b = input({4});
  const NodeId wide = input({5});
  const NodeId batched = input(Dim({4}, 3));
  const auto key = [&](NodeId n) { return graph[n].signature->key; };
  EXPECT_EQ(key(add(ops::Elu{1.0F}, {a})), key(add(ops::Elu{1.0F}, {b})));
  EXPECT_EQ(key(add(ops::Elu{1.0F}, {a})), key(add(ops::Elu{1.0F}, {batched})));
  EXPECT_NE(key(add(ops::Elu{1.0F}, {a})), key(add(ops::Elu{std::nextafter(1.0F, 2.0F)}, {a})));
  EXPECT_NE(key(add(ops::Elu{1.0F}, {a})), key(add(ops::Elu{1.0F}, {wide})));
  EXPECT_NE(key(add(ops::Elu{1.0F}, {a})), key(add(ops::Rectify{}, {a})));
  // One example beside n: another pattern. Stacked arguments then do not merge at all.
  const NodeId mixed = add(ops::Add{}, {a, batched});
  EXPECT_NE(key(mixed), key(add(ops::Add{}, {batched, batched})));
  EXPECT_TRUE(graph[mixed].signature->alone);
}

TEST_F(GraphTest, PayloadIsNotPartOfTheKey) {
  const NodeId a = input({4});
  const unsigned one = 1;
  const unsigned two = 2;
  const NodeId x = add(ops::Pick{}, {a}, ext::NodePayload::of(one));
  const NodeId y = add(ops::Pick{}, {a}, ext::NodePayload::of(two));
  EXPECT_EQ(graph[x].signature->key, graph[y].signature->key);
  EXPECT_EQ(graph.indices(x)[0], 1U);
  EXPECT_EQ(graph.indices(y)[0], 2U);
}

TEST_F(GraphTest, IndicesAreCheckedByValueWhenBuiltAndByPointerWhenRead) {
  const NodeId a = input({4});
  const unsigned bad = 4;
  EXPECT_THROW(add(ops::Pick{}, {a}, ext::NodePayload::of(bad)), errors::IndexError);
  unsigned index = 9;
  const NodeId p = add(ops::Pick{}, {a}, ext::NodePayload::of(&index));
  EXPECT_THROW(static_cast<void>(graph.indices(p)), errors::IndexError);
  index = 3;
  EXPECT_EQ(graph.indices(p)[0], 3U);
}

TEST_F(GraphTest, RevertRemovesNodesAndKeepsTheRest) {
  const NodeId a = input({4});
  const Graph::Mark mark = graph.mark();
  add(ops::Tanh{}, {a});
  add(ops::Elu{}, {a});
  graph.revert(mark);
  EXPECT_EQ(graph.size(), 1U);
  EXPECT_EQ(graph.call_text(add(ops::Elu{2.5F}, {a})), "elu(v0, alpha=2.5)");
}

TEST_F(GraphTest, SeveralOutputsAreConsecutiveNodes) {
  const NodeId a = input({8});
  const NodeId c = input({2});
  const NodeId cell = add(ops::LstmCell{}, {a, c});
  EXPECT_EQ(graph.size(), cell + 2);
  EXPECT_EQ(graph.owner(cell + 1), cell);
  EXPECT_EQ(graph.dim(cell + 1), Dim({2}));
}

TEST_F(GraphTest, TheInternerFindsContentAndNothingElse) {
  std::vector<ShapeId> ids;
  for (unsigned i = 1; i < 2000; ++i) {
    ids.push_back(interner.intern({i, i + 1}, default_device));
  }
  for (unsigned i = 1; i < 2000; ++i) {
    EXPECT_EQ(interner.intern({i, i + 1}, default_device), ids[i - 1]);
  }
  EXPECT_NE(interner.intern({3}, default_device), interner.intern({3, 1}, default_device));
  EXPECT_NE(interner.intern({3}, default_device), interner.intern(Dim({3}, 2), default_device));
}

}  // namespace
}  // namespace dynet::graph
