#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <random>
#include <set>
#include <unordered_map>

#include "dynet/except.h"
#include "dynet/ops/activation.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/input.h"
#include "dynet/ops/linear.h"
#include "dynet/ops/loss.h"
#include "dynet/ops/reduce.h"
#include "dynet/ops/shape.h"

#include "schedule/explain.h"
#include "schedule/policy.h"
#include "util/interrupt.h"

namespace dynet::schedule {
namespace {

/// The bound by its definition: for each key the longest path counting only its nodes, summed.
std::uint32_t lower_bound(const graph::Graph& graph, const std::vector<NodeId>& wanted) {
  // A level a key a node, the maximum over the arguments.
  std::unordered_map<NodeId, std::unordered_map<std::uint64_t, std::uint32_t>> levels;
  std::unordered_map<std::uint64_t, std::uint32_t> longest;
  for (const NodeId n : wanted) {
    auto& mine = levels[n];
    for (const NodeId a : graph.args(n)) {
      const auto found = levels.find(graph.owner(a));
      if (found == levels.end()) {
        continue;
      }
      for (const auto& [key, level] : found->second) {
        mine[key] = std::max(mine[key], level);
      }
    }
    const graph::Signature& s = *graph[n].signature;
    const std::uint64_t key = s.alone ? (std::uint64_t{1} << 32) + n : s.key;
    longest[key] = std::max(longest[key], ++mine[key]);
  }
  std::uint32_t bound = 0;
  for (const auto& [key, length] : longest) {
    bound += length;
  }
  return bound;
}

struct ScheduleTest : ::testing::Test {
  graph::Interner interner;
  graph::Graph graph{interner};
  Scheduler scheduler;
  Plan plan;

  template <class Op>
  NodeId add(const Op& op, std::vector<NodeId> args) {
    return graph.add(ext::kRecord<Op>, &op, args, {}, {}, 1);
  }
  void schedule(std::string_view policy, const std::vector<NodeId>& wanted) {
    scheduler.choose(policy);
    scheduler.plan(graph, wanted, plan);
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
  /// Every wanted node once or in two parts, after what it needs; groups of equal keys, or single.
  void expect_valid(const std::vector<NodeId>& wanted) const {
    std::set<NodeId> done;
    std::map<NodeId, std::uint64_t> begun;  // nodes whose first terms have run, and which
    const std::set<NodeId> asked(wanted.begin(), wanted.end());
    for (const Group& g : plan.groups) {
      for (std::uint32_t m = 0; m < g.members; ++m) {
        const NodeId n = plan.members[g.first + m];
        EXPECT_TRUE(asked.count(n) != 0);
        for (std::uint32_t a = 0; a < graph.args(n).size(); ++a) {
          const NodeId owner = graph.owner(graph.args(n)[a]);
          const bool is_read = a >= kMaxMaskedArgs || ((g.args >> a) & 1) != 0;
          EXPECT_TRUE(!is_read || asked.count(owner) == 0 || done.count(owner) != 0)
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
        const NodeId n = plan.members[g.first + m];
        if (g.part == Part::kFirst) {
          EXPECT_TRUE(begun.emplace(n, g.args).second);
          EXPECT_EQ(g.args & 1, 1U);
          continue;
        }
        if (g.part == Part::kRest) {
          ASSERT_EQ(begun.count(n), 1U);
          EXPECT_EQ(begun[n], ~g.args);
          begun.erase(n);
        } else {
          EXPECT_EQ(g.args, kAllArgs);
        }
        EXPECT_TRUE(done.insert(n).second);
      }
    }
    EXPECT_EQ(done.size(), wanted.size());
    EXPECT_TRUE(begun.empty());
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
  schedule(kBatching, all());
  expect_valid(all());
  EXPECT_EQ(plan.groups.size(), 6U);
  EXPECT_EQ(lower_bound(graph, all()), 6U);
  EXPECT_EQ(plan.bound, 6U);
  schedule(kOneByOne, all());
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
    schedule(kBatching, all());
    expect_valid(all());
    EXPECT_EQ(plan.bound, lower_bound(graph, all()));
    EXPECT_GE(plan.groups.size(), plan.bound);
  }
}

struct Recurrence : ScheduleTest {
  const NodeId bias = add(ops::Constant{{3}, 1.0F}, {});
  const NodeId w = add(ops::Constant{{3, 2}, 1.0F}, {});
  const NodeId u = add(ops::Constant{{3, 3}, 1.0F}, {});

  std::vector<Group> parts(Part part) const {
    std::vector<Group> found;
    std::copy_if(plan.groups.begin(), plan.groups.end(), std::back_inserter(found),
                 [&](const Group& g) { return g.part == part; });
    return found;
  }
  /// h = tanh(b + W x + U h) over `steps` inputs, each made when it is needed.
  NodeId chain(int steps) {
    NodeId h = add(ops::Constant{{3}, 0.0F}, {});
    for (int t = 0; t < steps; ++t) {
      const NodeId x = add(ops::Constant{{2}, 2.0F}, {});
      h = add(ops::Tanh{}, {add(ops::AffineTransform{}, {bias, w, x, u, h})});
    }
    return h;
  }
};

TEST_F(Recurrence, ProductsOfInputsRunAtOnce) {
  chain(10);
  schedule(kBatching, all());
  expect_valid(all());
  // Five kinds of constants, the first step whole, nine others in two parts, ten tanh.
  EXPECT_EQ(plan.groups.size(), 5U + 1U + 1U + 9U + 10U);
  EXPECT_EQ(plan.bound, plan.groups.size());
  const auto first = std::find_if(plan.groups.begin(), plan.groups.end(),
                                  [](const Group& g) { return g.part == Part::kFirst; });
  ASSERT_NE(first, plan.groups.end());
  EXPECT_EQ(first->members, 9U);
  EXPECT_EQ(first->args, 0b00111U);
}

TEST_F(Recurrence, SeveralChainsReachTheBound) {
  for (const int steps : {4, 9, 2, 7, 7}) {
    chain(steps);
  }
  schedule(kBatching, all());
  expect_valid(all());
  EXPECT_EQ(plan.groups.size(), plan.bound);
}

/// Chains that end one after the other leave gaps, chains of one length must not.
TEST_F(Recurrence, GroupsReadAndWriteLongRuns) {
  for (int i = 0; i < 4; ++i) {
    chain(6);
  }
  schedule(kBatching, all());
  std::map<NodeId, std::uint32_t> place;  // in the memory of all groups
  for (const Group& g : plan.groups) {
    for (std::uint32_t m = 0; m < g.members; ++m) {
      place.emplace(plan.members[g.first + m], g.first + m);  // first terms come first
    }
  }
  int checked = 0;
  for (const Group& g : plan.groups) {
    for (std::uint32_t m = 1; m < g.members; ++m) {
      const NodeId before = plan.members[g.first + m - 1];
      const NodeId n = plan.members[g.first + m];
      const auto args = graph.args(n);
      if (g.part == Part::kFirst || args.empty()) {
        continue;
      }
      EXPECT_EQ(place[n], place[before] + 1) << "results of " << n;
      EXPECT_EQ(place[args.back()], place[graph.args(before).back()] + 1) << "operands of " << n;
      ++checked;
    }
  }
  EXPECT_EQ(checked, 3 * (6 + 6));  // affine_transform and tanh, six steps each
}

TEST_F(Recurrence, ATermWhoseWeightWaitsStaysBehind) {
  NodeId h = add(ops::Constant{{3}, 0.0F}, {});
  const NodeId x = add(ops::Constant{{3}, 2.0F}, {});
  for (int t = 0; t < 5; ++t) {
    const NodeId weight = add(ops::MatMul{}, {h, add(ops::Transpose{}, {h})});
    h = add(ops::AffineTransform{}, {bias, weight, x, u, x});
  }
  schedule(kBatching, all());
  expect_valid(all());
  const auto first = std::find_if(plan.groups.begin(), plan.groups.end(),
                                  [](const Group& g) { return g.part == Part::kFirst; });
  ASSERT_NE(first, plan.groups.end());
  EXPECT_EQ(first->members, 4U);
  EXPECT_EQ(first->args, 0b11001U);
}

TEST_F(Recurrence, AHeadThatWaitsKeepsItsNodeWhole) {
  NodeId h = add(ops::Constant{{3}, 0.0F}, {});
  const NodeId x = add(ops::Constant{{3}, 2.0F}, {});
  for (int t = 0; t < 5; ++t) {
    h = add(ops::AffineTransform{}, {h, u, x, u, x});
  }
  schedule(kBatching, all());
  expect_valid(all());
  for (const Group& g : plan.groups) {
    EXPECT_EQ(g.part, Part::kWhole);
  }
}

/// The left child of some nodes is a leaf: no recurrence ends there, other left children wait.
TEST_F(Recurrence, ChildrenOfATreeStayTogether) {
  const NodeId square = add(ops::Constant{{3, 3}, 2.0F}, {});
  const auto leaf = [&] { return add(ops::Constant{{3}, 2.0F}, {}); };
  const auto join = [&](NodeId left, NodeId right) {
    return add(ops::Tanh{}, {add(ops::AffineTransform{}, {bias, u, left, square, right})});
  };
  NodeId right = leaf();
  NodeId left = leaf();
  for (int depth = 0; depth < 4; ++depth) {
    right = join(leaf(), right);
    left = join(left, leaf());
  }
  join(left, right);
  schedule(kBatching, all());
  expect_valid(all());
  EXPECT_TRUE(parts(Part::kFirst).empty());
}

/// What is decided for one weight says nothing about another one with the same key.
TEST_F(Recurrence, PlacesOfOneKeyAreToldApartByTheirWeights) {
  const NodeId square = add(ops::Constant{{3, 3}, 2.0F}, {});
  NodeId h = add(ops::Constant{{3}, 0.0F}, {});
  for (int t = 0; t < 5; ++t) {
    const NodeId x = add(ops::Constant{{3}, 2.0F}, {});
    h = add(ops::Tanh{}, {add(ops::AffineTransform{}, {bias, u, x, square, h})});
    add(ops::AffineTransform{}, {bias, square, x, u, h});  // on no recurrence
  }
  schedule(kBatching, all());
  expect_valid(all());
  const std::vector<Group> first = parts(Part::kFirst);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].members, 4U);
}

TEST_F(ScheduleTest, ALatticeStaysValid) {
  std::mt19937 random(9);
  std::vector<NodeId> nodes{add(ops::Constant{{3}, 1.0F}, {})};
  for (int i = 0; i < 400; ++i) {
    const auto near = [&] {
      return nodes[nodes.size() - 1 - random() % std::min<std::size_t>(nodes.size(), 12)];
    };
    nodes.push_back(random() % 2 == 0 ? add(ops::Add{}, {near(), near()})
                                      : add(ops::Tanh{}, {near()}));
  }
  schedule(kBatching, all());
  expect_valid(all());
  EXPECT_EQ(plan.bound, lower_bound(graph, all()));
}

/// Scheduling costs in proportion to the program, whatever its keys are. If a cost grows with the
/// square of the program, a node takes 64 times as long in a program of 64 times the size. A node
/// may take 16 times as long: caches and other users of the machine have cost more than four times.
struct Growth : ScheduleTest {
  /// Processor time, which other programs take little of; the best of some runs.
  double ticks_per_node() {
    const std::vector<NodeId> wanted = all();
    double best = 1e9;
    for (int run = 0; run < 3; ++run) {
      const std::clock_t start = std::clock();
      schedule(kBatching, wanted);
      best = std::min(best, static_cast<double>(std::clock() - start));
    }
    return best / static_cast<double>(wanted.size());
  }
  /// `build(n)` adds a program of a size in proportion to n. Other programs share the machine, so
  /// a bad result is measured again.
  template <class Build>
  void expect_linear(Build build) {
    constexpr int kSmall = 500;
    constexpr int kLarge = 64 * kSmall;
    double ratio = 0;
    for (int attempt = 0; attempt < 5; ++attempt) {
      graph.clear();
      build(kSmall);
      const double small = ticks_per_node();
      graph.clear();
      build(kLarge);
      ratio = ticks_per_node() / small;
      if (ratio < 16) {
        return;
      }
    }
    ADD_FAILURE() << "a node of " << kLarge << " takes " << ratio << " times as long as one of "
                  << kSmall;
  }
  /// An operation of a key of its own.
  NodeId own_key(int number, NodeId arg) {
    return add(ops::Elu{1.0F + static_cast<float>(number) / 65536.0F}, {arg});
  }
};

TEST_F(Growth, ManyKeysThatAreReadyAtOnce) {
  expect_linear([&](int n) {
    const NodeId x = add(ops::Constant{{3}, 1.0F}, {});
    for (int i = 0; i < n; ++i) {
      own_key(i, x);
    }
    own_key(0, x);
  });
}

TEST_F(Growth, ManyNodesThatRunAlone) {
  expect_linear([&](int n) {
    const NodeId x = add(ops::Constant{Dim({3}, 2), 1.0F}, {});
    const NodeId one = add(ops::Constant{{3}, 1.0F}, {});
    for (int i = 0; i < n; ++i) {  // one example beside two
      EXPECT_TRUE(graph[add(ops::Add{}, {one, x})].signature->alone);
    }
    add(ops::Tanh{}, {x});
    add(ops::Tanh{}, {x});
  });
}

/// Each key has a unit that is ready and one that is not.
TEST_F(Growth, ManyKeysOfWhichNoneIsComplete) {
  expect_linear([&](int n) {
    std::vector<NodeId> tips;
    tips.reserve(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) {
      tips.push_back(own_key(i, add(ops::Constant{{3}, 1.0F}, {})));
    }
    const NodeId joint = add(ops::Sum{}, tips);
    for (int i = 0; i < n; ++i) {
      own_key(i, joint);
    }
  });
}

TEST_F(Growth, ALongChain) {
  expect_linear([&](int n) {
    NodeId x = add(ops::Constant{{3}, 1.0F}, {});
    for (int i = 0; i < n; ++i) {
      x = add(ops::Tanh{}, {x});
    }
  });
}

TEST_F(Growth, ALattice) {
  expect_linear([&](int n) {
    std::mt19937 random(3);
    std::vector<NodeId> nodes{add(ops::Constant{{3}, 1.0F}, {})};
    for (int i = 0; i < n; ++i) {
      const auto near = [&] {
        return nodes[nodes.size() - 1 - random() % std::min<std::size_t>(nodes.size(), 12)];
      };
      nodes.push_back(random() % 2 == 0 ? add(ops::Add{}, {near(), near()})
                                        : add(ops::Tanh{}, {near()}));
    }
  });
}

TEST_F(ScheduleTest, ComputedWeightsMakeSegments) {
  const NodeId x = add(ops::Constant{{3}, 1.0F}, {});
  const NodeId y = add(ops::Constant{{3}, 1.0F}, {});
  const NodeId w = add(ops::Constant{{2, 3}, 1.0F}, {});
  add(ops::MatMul{}, {w, x});
  add(ops::MatMul{}, {w, y});
  schedule(kBatching, {3, 4});
  ASSERT_EQ(plan.groups.size(), 1U);
  ASSERT_EQ(plan.segments.size(), 1U);
  EXPECT_EQ(plan.segments[0].shared, 1U);  // the left operand happens to be one node
}

/// Known by its result only: the suites above run on the policies by name.
TEST_F(ScheduleTest, EveryPolicyOfTheTableGivesValidPlans) {
  for (int chain = 0; chain < 3; ++chain) {
    const NodeId n = add(ops::Constant{{3}, 1.0F}, {});
    add(ops::Tanh{}, {add(ops::Sum{}, {n, n, add(ops::Tanh{}, {n})})});
  }
  EXPECT_EQ(policies()[0].name, kOneByOne);
  for (const PolicyEntry& entry : policies()) {
    SCOPED_TRACE(entry.name);
    schedule(entry.name, all());
    expect_valid(all());
    schedule(entry.name, {all().back()});
    EXPECT_EQ(plan.members, std::vector<NodeId>{all().back()});
  }
}

/// Counts how often it is asked, and stops once.
struct Asked {
  int stop_at;
  int times = 0;
  static void check(void* of) {
    auto& self = *static_cast<Asked*>(of);
    if (++self.times == self.stop_at) {
      throw errors::StateError("stopped");
    }
  }
};

TEST_F(ScheduleTest, IsAskedNowAndThenWhetherToGoOn) {
  const NodeId first = add(ops::Constant{{3}, 1.0F}, {});
  for (int chain = 0; chain < 4; ++chain) {
    NodeId n = first;
    for (int i = 0; i < 20'000; ++i) {
      n = add(ops::Tanh{}, {n});
    }
  }
  Asked asked{-1};
  util::Check check{.check = &Asked::check, .of = &asked};
  util::Check* const before = util::exchange_check(&check);
  schedule(kBatching, all());
  const int times = asked.times;
  EXPECT_GT(times, 100);  // 80'000 nodes in two sweeps, and 20'001 groups
  const std::size_t groups = plan.groups.size();
  for (const int stop_at : {1, times / 4, times / 2, times - 2}) {
    asked = {stop_at};
    EXPECT_THROW(schedule(kBatching, all()), errors::StateError) << stop_at;
  }
  util::exchange_check(before);
  schedule(kBatching, all());
  expect_valid(all());
  EXPECT_EQ(plan.groups.size(), groups);
  EXPECT_EQ(asked.times, times - 2);  // nobody any more
}

TEST_F(ScheduleTest, AnUnknownPolicyIsNamedWithThoseThereAre) {
  std::string known;
  for (const PolicyEntry& entry : policies()) {
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  try {
    scheduler.choose("agenda");
    FAIL();
  } catch (const errors::ValueError& e) {
    EXPECT_EQ(e.what(),
              "batching policy \"agenda\": there is none of this name; want one of " + known);
  }
  EXPECT_EQ(scheduler.chosen(), kBatching);
}

TEST_F(ScheduleTest, ExplainNamesTheDifference) {
  const NodeId x = add(ops::Constant{{3, 3}, 1.0F}, {});
  const NodeId y = add(ops::Constant{{3, 4}, 1.0F}, {});
  const NodeId many = add(ops::Constant{Dim({3, 3}, 2), 1.0F}, {});
  const NodeId a = add(ops::Softmax{0}, {x});
  const NodeId b = add(ops::Softmax{1}, {x});
  const auto why = [&](NodeId m, NodeId n) { return explain(graph, m, n); };
  EXPECT_EQ(why(a, b), "attributes: d=0 != d=1");
  EXPECT_EQ(why(a, x), "operation: softmax != constant");
  EXPECT_EQ(why(a, a), "one node");
  EXPECT_EQ(why(a, add(ops::Softmax{0}, {x})), "equal keys");
  EXPECT_EQ(why(a, add(ops::Softmax{0}, {y})), "argument 0: {3,3} != {3,4}");
  EXPECT_EQ(why(add(ops::Sum{}, {x, x}), add(ops::Sum{}, {x, x, x})), "arguments: 2 != 3");
  const NodeId later = add(ops::Softmax{0}, {add(ops::Tanh{}, {b})});
  EXPECT_EQ(why(b, later), "attributes: d=1 != d=0");
  EXPECT_EQ(why(a, later), "equal keys");
  const NodeId last = add(ops::Softmax{0}, {add(ops::Tanh{}, {a})});
  EXPECT_EQ(why(a, last), "equal keys, but the later node waits for the earlier one");
  EXPECT_EQ(why(last, a), "equal keys, but the later node waits for the earlier one");
  const auto alone = [&](NodeId n) { return why(n, n - 1); };
  const NodeId over_many = add(ops::SumBatches{}, {many});
  EXPECT_EQ(why(over_many, add(ops::SumBatches{}, {many})), "equal keys");
  EXPECT_EQ(why(over_many, add(ops::SumBatches{}, {x})), "argument 0: {3,3}x2 != {3,3}");
  add(ops::Add{}, {x, many});
  EXPECT_EQ(alone(add(ops::Add{}, {x, many})),
            "add: runs alone, since an argument has one example beside another one with several");
  add(ops::Reshape{{9}}, {x});
  EXPECT_EQ(alone(add(ops::Reshape{{9}}, {x})),
            "reshape: runs alone, since it computes nothing: its memory is that of its argument");
}

/// Whatever explain says of two nodes is what the policy does, on random graphs.
TEST_F(ScheduleTest, ExplainAgreesWithThePlan) {
  std::mt19937 random(8);
  int apart = 0;
  int together = 0;
  std::vector<NodeId> pool;
  for (int i = 0; i < 40; ++i) {
    const NodeId x = add(ops::Constant{{random() % 2 == 0 ? 3U : 4U}, 1.0F}, {});
    pool.push_back(random() % 2 == 0 ? add(ops::Tanh{}, {x})
                                     : add(ops::Elu{1.0F + static_cast<float>(random() % 2)}, {x}));
  }
  schedule(kBatching, all());
  std::map<NodeId, std::size_t> group;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    for (std::uint32_t m = 0; m < plan.groups[g].members; ++m) {
      group[plan.members[plan.groups[g].first + m]] = g;
    }
  }
  for (const NodeId a : pool) {
    for (const NodeId b : pool) {
      const bool may = a == b || explain(graph, a, b) == "equal keys";
      EXPECT_EQ(may, group[a] == group[b]) << a << ' ' << b << ": " << explain(graph, a, b);
      (may ? together : apart) += 1;
    }
  }
  EXPECT_GT(together, 100);
  EXPECT_GT(apart, 100);
}

}  // namespace
}  // namespace dynet::schedule
