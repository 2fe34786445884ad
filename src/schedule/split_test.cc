#include "split.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "dynet/ops/activation.h"
#include "dynet/ops/input.h"
#include "dynet/ops/linear.h"

namespace dynet::schedule {
namespace {

using Arguments = std::vector<std::uint32_t>;

/// Graphs of sums of products, and the arguments of each sum that leave its recurrence.
struct SplitTest : ::testing::Test {
  graph::Interner interner;
  graph::Graph graph{interner};

  template <class Op>
  NodeId add(const Op& op, const std::vector<NodeId>& args) {
    return graph.add(ext::kRecord<Op>, &op, args, {}, {}, 1);
  }
  NodeId constant(const Dim& dim) { return add(ops::Constant{dim, 1.0F}, {}); }
  NodeId sum(const std::vector<NodeId>& args) { return add(ops::AffineTransform{}, args); }

  [[nodiscard]] std::map<NodeId, Arguments> first_terms() const {
    Waits waits;
    Split split;
    std::map<graph::KeyId, std::uint32_t> number_of_key;
    std::vector<std::uint32_t> number;
    std::vector<Type> types(graph.size());
    waits.begin(graph, graph.size());
    split.begin(graph.size());
    for (NodeId n = 0; n < graph.size(); ++n) {
      const graph::KeyId key = graph[n].signature->key;
      const auto count = static_cast<std::uint32_t>(number_of_key.size());
      number.push_back(number_of_key.emplace(key, count).first->second);
      Above above = waits.add(graph[n], n);
      above.sites |= split.add(graph, waits, n, n, number[n], types[number[n]], above.sites);
      above.types |= Above::bit_of(number[n]);
      waits.finish(graph[n], n, n, above);
    }
    std::map<NodeId, Arguments> found;
    for (NodeId n = 0; n < graph.size(); ++n) {
      const std::uint64_t mask = split.first_terms(graph, waits, graph[n], n, number[n]);
      for (std::uint32_t a = 0; mask != 0 && a < graph[n].arity; ++a) {
        if (((mask >> a) & 1) != 0) {
          found[n].push_back(a);
        }
      }
    }
    return found;
  }
};

/// h = tanh(b + w x + u h)
TEST_F(SplitTest, TheTermOfTheInputLeaves) {
  const NodeId b = constant({4});
  const NodeId w = constant({4, 3});
  const NodeId u = constant({4, 4});
  NodeId h = constant({4});
  std::vector<NodeId> sums;
  for (int step = 0; step < 3; ++step) {
    sums.push_back(sum({b, w, constant({3}), u, h}));
    h = add(ops::Tanh{}, {sums.back()});
  }
  const auto found = first_terms();
  EXPECT_EQ(found.count(sums[0]), 0U) << "the first step waits for no sum";
  EXPECT_EQ(found.at(sums[1]), (Arguments{0, 1, 2}));
  EXPECT_EQ(found.at(sums[2]), (Arguments{0, 1, 2}));
}

TEST_F(SplitTest, NothingLeavesASumWithoutRecurrence) {
  const NodeId b = constant({4});
  const NodeId w = constant({4, 3});
  const NodeId u = constant({4, 4});
  for (int i = 0; i < 3; ++i) {
    sum({b, w, constant({3}), u, constant({4})});
  }
  EXPECT_TRUE(first_terms().empty());
}

/// h = tanh(h + w x + u h): the head waits, so the node stays whole.
TEST_F(SplitTest, NothingLeavesASumWhoseHeadWaits) {
  const NodeId w = constant({4, 3});
  const NodeId u = constant({4, 4});
  NodeId h = constant({4});
  for (int step = 0; step < 3; ++step) {
    h = add(ops::Tanh{}, {sum({h, w, constant({3}), u, h})});
  }
  EXPECT_TRUE(first_terms().empty());
}

/// A place is told by its weights: the left child's term stays although this left child is a leaf.
TEST_F(SplitTest, APlaceThatWaitsInOneNodeStaysInAllNodesOfTheSite) {
  const NodeId b = constant({4});
  const NodeId left = constant({4, 4});
  const NodeId right = constant({4, 4});
  const NodeId leaf = constant({4});
  const NodeId both = sum({b, left, leaf, right, leaf});
  const NodeId deeper = sum({b, left, both, right, both});
  const NodeId mixed = sum({b, left, leaf, right, deeper});
  const auto found = first_terms();
  EXPECT_EQ(found.count(mixed), 0U);

  // With other weights it is another site, which no node of the site waits in.
  const NodeId other = constant({4, 4});
  const NodeId alone = sum({b, other, leaf, right, deeper});
  EXPECT_EQ(first_terms().count(alone), 0U);
}

/// The inputs of an upper layer leave only if large weights meet few columns.
TEST_F(SplitTest, AnUpperLayerIsSplitForLargeWeightsAndFewColumns) {
  for (const auto& [size, batch, leaves] :
       {std::tuple{8U, 1U, false}, std::tuple{128U, 1U, true}, std::tuple{128U, 4U, false}}) {
    graph.clear();
    const NodeId b = constant({size});
    std::vector<NodeId> xs(3);
    for (NodeId& x : xs) {
      x = constant(Dim({size}, batch));
    }
    NodeId last = 0;
    for (int layer = 0; layer < 2; ++layer) {
      const NodeId w = constant({size, size});
      const NodeId u = constant({size, size});
      NodeId h = b;
      for (NodeId& x : xs) {
        last = sum({b, w, x, u, h});
        x = h = add(ops::Tanh{}, {last});
      }
    }
    const auto found = first_terms();
    EXPECT_EQ(found.count(last), leaves ? 1U : 0U) << size << ' ' << batch;
  }
}

}  // namespace
}  // namespace dynet::schedule
