// The parts of the executor, each alone, with plain data where they take it.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "dynet/ext/memory.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/elementary.h"
#include "dynet/ops/input.h"
#include "dynet/ops/pick.h"
#include "dynet/ops/shape.h"

#include "execute/executor.h"
#include "support/far_device.h"

namespace dynet::execute {
namespace {

TEST(IdSet, GivesTheLargestFirstWhateverTheGaps) {
  std::mt19937 random(3);
  IdSet ids;
  for (const std::uint32_t size : {1U, 64U, 65U, 5000U, 300000U, 20000000U}) {
    ids.grow(size);
    std::set<std::uint32_t> expected;
    for (int i = 0; i < 300; ++i) {
      const std::uint32_t n = static_cast<std::uint32_t>(random()) % size;
      ids.insert(n);
      expected.insert(n);
    }
    // Taken, and smaller ones inserted meanwhile.
    int taken = 0;
    ids.take_all([&](std::uint32_t largest) {
      ASSERT_FALSE(expected.empty());
      ASSERT_EQ(largest, *expected.rbegin());
      expected.erase(largest);
      if (++taken < 100 && largest > 0) {
        const std::uint32_t smaller = static_cast<std::uint32_t>(random()) % largest;
        ids.insert(smaller);
        expected.insert(smaller);
      }
    });
    EXPECT_TRUE(expected.empty());
    EXPECT_TRUE(ids.empty());
  }
  ids.insert(77);
  ids.clear();
  EXPECT_TRUE(ids.empty());
}

TEST(Views, KeepTheirAddressUntilClear) {
  Views views;
  const Tensor first;
  std::vector<const Tensor*> addresses;
  for (graph::NodeId n = 0; n < 500; ++n) {
    Tensor t;
    t.d = Dim({n + 1});
    addresses.push_back(&views.view(n * 7, t));
  }
  for (graph::NodeId n = 0; n < 500; ++n) {
    Tensor t;
    t.d = Dim({n + 1});
    EXPECT_EQ(&views.view(n * 7, t), addresses[n]);
    EXPECT_EQ(addresses[n]->d, Dim({n + 1}));
  }
  views.clear();
  EXPECT_EQ(&views.view(123456789, first), addresses[0]);
}

/// Two groups, of two segments and of one.
schedule::Plan two_groups(NodeId first) {
  schedule::Plan plan;
  plan.members = {first, first + 1, first + 2, first + 3};
  plan.segments = {{0, 2, 1}, {2, 1, 0}, {3, 1, 0}};
  plan.groups = {{.begin = 0, .count = 2, .first = 0, .members = 3},
                 {.begin = 2, .count = 1, .first = 3, .members = 1}};
  return plan;
}

TEST(History, AppendsAndShrinks) {
  History history;
  history.append(two_groups(10));
  history.append(two_groups(20));
  ASSERT_EQ(history.size(), 4U);
  EXPECT_EQ(history.group(2).first, 4U);
  EXPECT_EQ(history.group(2).begin, 3U);
  EXPECT_EQ(history.members(3)[0], 23U);
  const SegmentView segment = history.segment(history.group(2), 3);
  EXPECT_EQ(segment.members.size(), 2U);
  EXPECT_EQ(segment.members[0], 20U);
  EXPECT_TRUE(segment.is_shared(0));
  EXPECT_FALSE(segment.is_shared(1));
  EXPECT_EQ(history.call(5), nullptr);
  history.set_call(5, reinterpret_cast<Assembled*>(&history));  // any but null
  EXPECT_NE(history.call(5), nullptr);
  history.shrink(3);
  history.append(two_groups(30));
  EXPECT_EQ(history.call(5), nullptr) << "of another segment";
  EXPECT_EQ(history.size(), 5U);
  EXPECT_EQ(history.members(3)[0], 30U);
  EXPECT_EQ(history.members(2)[2], 22U);
  const std::uint64_t generation = history.generation();
  history.shrink(0);
  EXPECT_EQ(history.generation(), generation);
  history.clear();
  EXPECT_NE(history.generation(), generation);
}

struct Parts : ::testing::Test {
  graph::Interner interner;
  graph::Graph graph{interner, *get_device_manager()->get_global_device("CPU:double")};
  Context context{graph};
  History history;
  Values values{context};
  Gradients gradients{context, values, history};
  Wanted wanted;
  Path path{context, values, history};

  template <class Op>
  NodeId add(const Op& op, std::vector<NodeId> args, const ext::NodePayload& payload = {}) {
    return graph.add(ext::kRecord<Op>, &op, args, payload, {}, 1);
  }
  NodeId constant() { return add(ops::Constant{{3}, 1.0F}, {}); }
  /// Appends a group of one segment.
  std::uint32_t run(const std::vector<NodeId>& members) {
    const auto count = static_cast<std::uint32_t>(members.size());
    schedule::Plan plan;
    plan.members = members;
    plan.segments = {{0, count, 0}};
    plan.groups = {{.begin = 0, .count = 1, .first = 0, .members = count}};
    history.append(plan);
    values.grow();
    values.place(history, history.size() - 1, history.size());
    return history.size() - 1;
  }
};

TEST_F(Parts, WantedAreTheAncestorsWithoutAValue) {
  const NodeId a = constant();
  const NodeId b = add(ops::Square{}, {a});
  constant();
  const NodeId c = add(ops::Add{}, {b, a});
  const NodeId d = add(ops::Add{}, {c, b});
  values.grow();
  wanted.collect(graph, values, {&d, 1});
  EXPECT_EQ(wanted.nodes(), (std::vector<NodeId>{a, b, c, d}));
  run({a});
  run({b});
  wanted.collect(graph, values, {&d, 1});
  EXPECT_EQ(wanted.nodes(), (std::vector<NodeId>{c, d}));
  wanted.collect_all(graph, values, 0);
  EXPECT_EQ(wanted.nodes(), (std::vector<NodeId>{2, c, d}));
  const NodeId e = add(ops::Square{}, {b});
  values.grow();
  wanted.collect(graph, values, std::vector<NodeId>{e, c, e});
  EXPECT_EQ(wanted.nodes(), (std::vector<NodeId>{c, e}));
}

TEST_F(Parts, ValuesOfAGroupLieSideBySideAndAreForgottenWithIt) {
  const NodeId a = constant();
  const NodeId b = constant();
  const NodeId c = constant();
  run({b, a});
  auto* at = static_cast<double*>(values.at(b));
  EXPECT_EQ(values.at(a), at + 3);
  EXPECT_EQ(values.offset(a), 1U);
  EXPECT_FALSE(values.has(c));
  const Values::Mark mark = values.mark();
  run({c});
  void* const before = values.at(c);
  values.set_complete();
  values.roll_back(mark, history, 1);
  history.shrink(1);
  EXPECT_FALSE(values.has(c));
  EXPECT_TRUE(values.has(a));
  EXPECT_EQ(values.complete_below(), c);
  run({c});
  EXPECT_EQ(values.at(c), before);
  values.forget();
  EXPECT_FALSE(values.has(a));
  EXPECT_EQ(values.group_of(a), Values::kNoGroup);
}

TEST_F(Parts, GradientsCountInTheirPassAlone) {
  const NodeId a = constant();
  const NodeId b = constant();
  run({a, b});
  gradients.begin(false);
  gradients.note(a, true, false);
  EXPECT_TRUE(gradients.needs(a));
  EXPECT_FALSE(gradients.needs(b));
  auto* da = static_cast<double*>(gradients.ensure_true(a));
  EXPECT_TRUE(gradients.is_written(a));
  EXPECT_EQ(da[2], 0.0);
  EXPECT_EQ(gradients.ensure(b), da + 3);
  EXPECT_FALSE(gradients.is_written(b));
  gradients.begin(false);
  EXPECT_FALSE(gradients.needs(a));
  EXPECT_FALSE(gradients.is_written(a));
}

TEST_F(Parts, ANodeInTwoOperandsOfACallIsFound) {
  const NodeId a = constant();
  const NodeId b = constant();
  run({a, b});
  gradients.begin(false);
  for (int call = 0; call < 2; ++call) {
    gradients.begin_call();
    const Gradients::Notes notes = gradients.notes();
    Gradients::Stamps stamps = gradients.begin_operand();
    EXPECT_FALSE(notes.was_in_other_operand(a, stamps));
    EXPECT_FALSE(notes.was_in_other_operand(a, stamps));
    stamps = gradients.begin_operand();
    EXPECT_TRUE(notes.was_in_other_operand(a, stamps));
    EXPECT_FALSE(notes.was_in_other_operand(b, stamps));
  }
}

TEST_F(Parts, ThePathHoldsTheGroupsOfTheRootsAncestors) {
  const NodeId a = constant();
  const NodeId beside = add(ops::Square{}, {a});
  const NodeId stopped = add(ops::NoBackprop{}, {beside});
  const NodeId root = add(ops::Add{}, {a, stopped});
  for (NodeId n = 0; n < graph.size(); ++n) {
    run({n});
  }
  gradients.begin(false);
  path.find(root, true, true, gradients);
  std::vector<std::uint32_t> groups;
  path.walk_groups([&](std::uint32_t g) { groups.push_back(g); });
  EXPECT_EQ(groups, (std::vector<std::uint32_t>{root, stopped, a}));
  EXPECT_TRUE(gradients.needs(a));
  EXPECT_FALSE(gradients.needs(beside));
  gradients.begin(false);
  path.find(root, false, true, gradients);  // nothing is trained
  path.walk_groups([](std::uint32_t g) { ADD_FAILURE() << g; });
}

TEST(Products, OfAWeightAreDoneAsOne) {
  const ext::Kernels& kernels = *get_device_manager()->get_global_device("CPU:double")->kernels;
  double dy[] = {1, 2, 3, 4};
  double x[] = {5, 6};
  const ext::Block dy_block{dy, 2, false};
  const ext::Block x_block{x, 2, false};
  const ext::Operand columns{.dim = {2}, .examples = 2, .blocks = &dy_block, .block_count = 1};
  const ext::Operand numbers{.dim = {1}, .examples = 2, .blocks = &x_block, .block_count = 1};
  double sum[] = {100, 100};
  const ext::Block sum_block{sum, 1, false};
  const ext::Operand to{.dim = {2, 1}, .examples = 1, .blocks = &sum_block, .block_count = 1};
  Products weights;
  for (int pass = 0; pass < 2; ++pass) {
    weights.begin(4);
    EXPECT_FALSE(weights.has(3));
    weights.sink(3, false).push(columns, numbers);
    EXPECT_TRUE(weights.has(3));
    EXPECT_FALSE(weights.has(0));
    weights.sink(3, false).push(columns, numbers);
    weights.sink(0, true).push(columns, numbers);
    weights.add(kernels, 3, to);
  }
  EXPECT_EQ(sum[0], 100 + 4 * (1 * 5 + 3 * 6));
  EXPECT_EQ(sum[1], 100 + 4 * (2 * 5 + 4 * 6));
  weights.drop(3);
  EXPECT_FALSE(weights.has(3));
  EXPECT_TRUE(weights.has(0));
}

TEST(CallMemoryTest, EveryBlockStartsOnAMultipleOf64) {
  CallMemory memory(*default_device->memory);
  for (const std::int64_t bytes : {4, 8, 100, 4, 64, 1, 0, 4}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.take(bytes)) % 64, 0U) << bytes;
  }
}

struct PayloadTest : Parts {
  OperandArena arena;
  Upload upload;
  CallPayload payload{context, arena, upload};
  Assembled call{ext::Call(*graph.device().kernels), {}};
  Assembled part{ext::Call(*graph.device().kernels), {}};
};

/// Backward works with the indices that forward read, whatever the pointer shows by then.
TEST_F(PayloadTest, IndicesAreReadOnceAndCutToTheActiveMembers) {
  const NodeId x = constant();
  std::vector<unsigned> indices{2, 0, 1};
  std::vector<NodeId> picks;
  picks.reserve(indices.size());
  for (const unsigned& index : indices) {
    picks.push_back(add(ops::Pick{}, {x}, ext::NodePayload::of(&index)));
  }
  payload.fill(call, picks);
  indices = {0, 0, 0};
  EXPECT_EQ(call.call.index_data(), call.host_indices());
  EXPECT_EQ(std::vector<unsigned>(call.host_indices(), call.host_indices() + 3),
            (std::vector<unsigned>{2, 0, 1}));
  part.call.examples = 2;
  const std::vector<NodeId> active{picks[0], picks[2]};
  payload.fill_part(part, active, call, picks);
  EXPECT_EQ(std::vector<unsigned>(part.host_indices(), part.host_indices() + 2),
            (std::vector<unsigned>{2, 1}));
  Assembled single{ext::Call(*graph.device().kernels), {}};
  payload.fill(single, {&picks[0], 1});
  EXPECT_NE(single.host_indices(), &indices[0]);
}

/// On a far device the calls of a plan get their payload in one copy.
TEST_F(PayloadTest, TravelsInOneCopy) {
  const Device& far = *get_device_manager()->get_global_device("FAR:0");
  graph.set_device(far);
  const NodeId x = constant();
  const std::vector<unsigned> indices{2, 1};
  const NodeId pick = add(ops::Pick{}, {x}, ext::NodePayload::of(indices));
  const NodeId scale = add(ops::MultiplyScalar{}, {x}, ext::NodePayload::of(2.5F));
  payload.fill(call, {&pick, 1});
  payload.fill(part, {&scale, 1});
  far.memory->wait();
  memory::Pools pools(*far.memory);
  upload.send(pools);
  EXPECT_EQ(testing::far_queue_length(far), 1U);
  std::vector<unsigned> there(2);
  EXPECT_NE(call.call.index_data(), call.host_indices());
  far.memory->copy_out(call.call.index_data(), there.data(), 8);
  EXPECT_EQ(there, indices);
  float number = 0.0F;
  far.memory->copy_out(part.call.values.blocks[0].data, &number, 4);
  EXPECT_EQ(number, 2.5F);
  upload.send(pools);
  EXPECT_EQ(testing::far_queue_length(far), 0U);
}

}  // namespace
}  // namespace dynet::execute
