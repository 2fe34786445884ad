#include <gtest/gtest.h>

#include <random>
#include <set>

#include "dynet/ops/all.h"

#include "schedule/plan.h"

namespace dynet::schedule {
namespace {

struct ScheduleTest : ::testing::Test {
  graph::Interner interner;
  graph::Graph graph{interner};
  Scratch scratch;
  Plan plan;

  template <class Op>
  NodeId add(const Op& op, std::vector<NodeId> args) {
    return graph.add(ext::kRecord<Op>, &op, args, {}, {}, 1);
  }
  std::vector<NodeId> all() const {
    std::vector<NodeId> ids;
    for (NodeId n = 0; n < graph.size(); ++n) {
      if (graph.owner(n) == n) {
        ids.push_back(n);
      }
    }
    return ids;
  }
  /// Every wanted node once, after its arguments; groups of equal keys, or single.
  void expect_valid(const std::vector<NodeId>& wanted) const {
    std::set<NodeId> done;
    const std::set<NodeId> asked(wanted.begin(), wanted.end());
    for (const Group& g : plan.groups) {
      for (std::uint32_t m = 0; m < g.members; ++m) {
        const NodeId n = plan.members[g.first + m];
        EXPECT_TRUE(asked.count(n) != 0);
        for (const NodeId a : graph.args(n)) {
          const NodeId owner = graph.owner(a);
          EXPECT_TRUE(asked.count(owner) == 0 || done.count(owner) != 0)
              << n << " before " << owner;
        }
        EXPECT_EQ(graph[n].signature->key, graph[plan.members[g.first]].signature->key);
        EXPECT_TRUE(g.members == 1 || !graph[n].signature->alone);
      }
      std::uint32_t in_segments = 0;
      for (std::uint32_t s = g.begin; s < g.begin + g.count; ++s) {
        EXPECT_EQ(plan.segments[s].begin, g.first + in_segments);
        in_segments += plan.segments[s].count;
      }
      EXPECT_EQ(in_segments, g.members);
      for (std::uint32_t m = 0; m < g.members; ++m) {
        EXPECT_TRUE(done.insert(plan.members[g.first + m]).second);
      }
    }
    EXPECT_EQ(done.size(), wanted.size());
  }
};

TEST_F(ScheduleTest, EqualChainsRunTogether) {
  std::vector<NodeId> tips;
  for (int chain = 0; chain < 4; ++chain) {
    NodeId n = add(ops::Constant{{3}, 1.0F}, {});
    for (int step = 0; step < 5; ++step) {
      n = add(ops::Tanh{}, {n});
    }
    tips.push_back(n);
  }
  make_plan(graph, all(), Policy::kAgenda, scratch, plan);
  expect_valid(all());
  EXPECT_EQ(plan.groups.size(), 6U);
  EXPECT_EQ(lower_bound(graph, all()), 6U);
  make_plan(graph, all(), Policy::kOneByOne, scratch, plan);
  expect_valid(all());
  EXPECT_EQ(plan.groups.size(), 24U);
}

TEST_F(ScheduleTest, RandomGraphsGiveValidPlans) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    graph.clear();
    std::vector<NodeId> pool{add(ops::Constant{{3}, 1.0F}, {}), add(ops::Constant{{3}, 2.0F}, {})};
    for (int i = 0; i < 60; ++i) {
      const auto pick = [&] { return pool[random() % pool.size()]; };
      switch (random() % 4) {
        case 0:
          pool.push_back(add(ops::Tanh{}, {pick()}));
          break;
        case 1:
          pool.push_back(add(ops::Elu{1.0F + static_cast<float>(random() % 2)}, {pick()}));
          break;
        case 2:
          pool.push_back(add(ops::Sum{}, {pick(), pick(), pick()}));
          break;
        default:
          pool.push_back(add(ops::Add{}, {pick(), pick()}));
          break;
      }
    }
    make_plan(graph, all(), Policy::kAgenda, scratch, plan);
    expect_valid(all());
    EXPECT_GE(plan.groups.size(), lower_bound(graph, all()));
  }
}

TEST_F(ScheduleTest, ComputedWeightsMakeSegments) {
  const NodeId x = add(ops::Constant{{3}, 1.0F}, {});
  const NodeId y = add(ops::Constant{{3}, 1.0F}, {});
  const NodeId w = add(ops::Constant{{2, 3}, 1.0F}, {});
  add(ops::MatMul{}, {w, x});
  add(ops::MatMul{}, {w, y});
  make_plan(graph, {3, 4}, Policy::kAgenda, scratch, plan);
  ASSERT_EQ(plan.groups.size(), 1U);
  ASSERT_EQ(plan.segments.size(), 1U);
  EXPECT_EQ(plan.segments[0].shared, 1U);  // the left operand happens to be one node
}

TEST_F(ScheduleTest, ExplainNamesTheDifference) {
  const NodeId x = add(ops::Constant{{3, 3}, 1.0F}, {});
  const NodeId a = add(ops::Softmax{0}, {x});
  const NodeId b = add(ops::Softmax{1}, {x});
  EXPECT_EQ(explain(graph, a, b), "attributes: d=0 != d=1");
  EXPECT_EQ(explain(graph, a, x), "operation: softmax != constant");
  EXPECT_EQ(explain(graph, a, add(ops::Softmax{0}, {b})), "equal keys");
}

}  // namespace
}  // namespace dynet::schedule
