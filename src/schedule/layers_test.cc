// Two layers of one size: whether the inputs of the upper one leave the recurrence.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "dynet/ops/activation.h"
#include "dynet/ops/input.h"
#include "dynet/ops/linear.h"

#include "schedule/policy.h"

namespace dynet::schedule {
namespace {

constexpr std::uint32_t kSteps = 6;

/// Sums of two layers that have one key, layer after layer, and the plan for all of them.
struct TwoLayers : ::testing::Test {
  graph::Interner interner;
  graph::Graph graph{interner};
  Plan plan;
  std::vector<std::vector<NodeId>> sums;

  template <class Op>
  NodeId add(const Op& op, const std::vector<NodeId>& args) {
    return graph.add(ext::kRecord<Op>, &op, args, {}, {}, 1);
  }
  NodeId constant(const Dim& dim) { return add(ops::Constant{dim, 2.0F}, {}); }

  void plan_layers(unsigned size, unsigned batch) {
    std::vector<NodeId> xs(kSteps);
    std::generate(xs.begin(), xs.end(), [&] { return constant(Dim({size}, batch)); });
    const NodeId start = constant({size});
    sums.resize(2);
    for (std::vector<NodeId>& layer : sums) {
      const NodeId of_x = constant({size, size});
      const NodeId of_h = constant({size, size});
      NodeId h = start;
      for (NodeId& x : xs) {
        layer.push_back(add(ops::AffineTransform{}, {start, of_x, x, of_h, h}));
        x = h = add(ops::Tanh{}, {layer.back()});
      }
    }
    std::vector<NodeId> all(graph.size());
    for (NodeId n = 0; n < graph.size(); ++n) {
      all[n] = n;
    }
    Scheduler scheduler;
    scheduler.choose(kBatching);
    scheduler.plan(graph, all, plan);
  }
  /// The groups of first terms. Each group reads what groups before it computed.
  std::vector<Group> first_terms() {
    std::vector<Group> found;
    std::set<NodeId> done;
    for (const Group& g : plan.groups) {
      for (std::uint32_t m = g.first; m < g.first + g.members; ++m) {
        const auto args = graph.args(plan.members[m]);
        for (std::uint32_t a = 0; a < args.size(); ++a) {
          EXPECT_TRUE(((g.args >> a) & 1) == 0 || done.count(args[a]) != 0);
        }
      }
      if (g.part == Part::kFirst) {
        found.push_back(g);
        continue;
      }
      done.insert(plan.members.begin() + g.first, plan.members.begin() + g.first + g.members);
    }
    EXPECT_EQ(done.size(), graph.size());
    return found;
  }
};

/// The second one's inputs wait for the first layer: they stay, so that the layers run side by
/// side.
TEST_F(TwoLayers, OfSmallWeightsTheFirstOnesInputsLeave) {
  plan_layers(3, 1);
  const std::vector<Group> first = first_terms();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].members, kSteps - 1);
  EXPECT_EQ(plan.members[first[0].first], sums[0][1]);
}

/// Products of several columns do not wait for the weights that they read.
TEST_F(TwoLayers, OfABatchTheFirstOnesInputsLeave) {
  plan_layers(96, 3);
  EXPECT_EQ(first_terms().size(), 1U);
}

/// They leave as well, and are one group when the first layer is done.
TEST_F(TwoLayers, OfLargeWeightsBothInputsLeave) {
  plan_layers(96, 1);
  const std::vector<Group> first = first_terms();
  ASSERT_EQ(first.size(), 2U);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    EXPECT_EQ(first[layer].members, kSteps - 1);
    EXPECT_EQ(plan.members[first[layer].first], sums[layer][1]);
  }
}

}  // namespace
}  // namespace dynet::schedule
