// The groups that the frontier policy makes of small graphs, in the order in which they run.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dynet/ops/activation.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/elementary.h"
#include "dynet/ops/input.h"
#include "dynet/ops/linear.h"

#include "schedule/policy.h"

namespace dynet::schedule {
namespace {

std::unique_ptr<Policy> frontier() { return find_policy("frontier").make(); }

struct FrontierTest : ::testing::Test {
  graph::Interner interner;
  graph::Graph graph{interner};
  Plan plan;

  template <class Op>
  NodeId add(const Op& op, const std::vector<NodeId>& args) {
    return graph.add(ext::kRecord<Op>, &op, args, {}, {}, 1);
  }
  NodeId constant(const Dim& dim) { return add(ops::Constant{dim, 1.0F}, {}); }

  /// Each group as its operation, its number of members, and its part.
  std::vector<std::string> groups() {
    std::vector<NodeId> all;
    for (NodeId n = 0; n < graph.size(); ++n) {
      all.push_back(n);
    }
    plan.clear();
    frontier()->plan(graph, all, plan);
    std::vector<std::string> found;
    for (const Group& g : plan.groups) {
      const char* const part = g.part == Part::kFirst  ? " first"
                               : g.part == Part::kRest ? " rest"
                                                       : "";
      found.push_back(std::string(graph[plan.members[g.first]].record().info->name) + ' ' +
                      std::to_string(g.members) + part);
    }
    return found;
  }
};

using Groups = std::vector<std::string>;

TEST_F(FrontierTest, ChainsOfOneLengthRunInStep) {
  for (int chain = 0; chain < 3; ++chain) {
    NodeId n = constant({2});
    for (int step = 0; step < 2; ++step) {
      n = add(ops::Tanh{}, {n});
    }
  }
  EXPECT_EQ(groups(), (Groups{"constant 3", "tanh 3", "tanh 3"}));
  EXPECT_EQ(plan.bound, 3U);
}

/// The exponentials wait for each other in one example: those of level 0 run together first.
TEST_F(FrontierTest, ATypeWaitsUntilItsLowestLevelIsReady) {
  const NodeId x = constant({2});
  const NodeId y = constant({2});
  add(ops::Exp{}, {add(ops::Exp{}, {x})});
  add(ops::Exp{}, {add(ops::Tanh{}, {y})});
  EXPECT_EQ(groups(), (Groups{"constant 2", "tanh 1", "exp 2", "exp 1"}));
  EXPECT_EQ(plan.bound, 4U);
}

TEST_F(FrontierTest, NodesOfOtherShapesRunApart) {
  for (const unsigned size : {2U, 3U, 2U}) {
    add(ops::Tanh{}, {constant({size})});
  }
  // A type that is complete runs first, and the only constant of size 3 is complete before the
  // second constant of size 2 is found.
  EXPECT_EQ(groups(), (Groups{"constant 1", "constant 2", "tanh 1", "tanh 2"}));
}

TEST_F(FrontierTest, NothingToMergeStaysInTheOrderOfTheNodes) {
  const NodeId x = constant({2});
  add(ops::Exp{}, {add(ops::Tanh{}, {x})});
  EXPECT_EQ(groups(), (Groups{"constant 1", "tanh 1", "exp 1"}));
  EXPECT_EQ(plan.bound, 3U);
}

/// h = tanh(b + w x + u h): the products with all inputs that leave run as one group.
TEST_F(FrontierTest, FirstTermsOfARecurrenceRunAtOnce) {
  const NodeId b = constant({4});
  const NodeId w = constant({4, 3});
  const NodeId u = constant({4, 4});
  NodeId h = b;
  for (int step = 0; step < 3; ++step) {
    h = add(ops::Tanh{}, {add(ops::AffineTransform{}, {b, w, constant({3}), u, h})});
  }
  const Groups found = groups();
  EXPECT_EQ(std::count(found.begin(), found.end(), "affine_transform 2 first"), 1);
  EXPECT_EQ(std::count(found.begin(), found.end(), "affine_transform 1 rest"), 2);
  EXPECT_EQ(std::count(found.begin(), found.end(), "tanh 1"), 3);
}

}  // namespace
}  // namespace dynet::schedule
