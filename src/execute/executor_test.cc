#include "execute/executor.h"

#include <gtest/gtest.h>

#include "dynet/ops/arithmetic.h"
#include "dynet/ops/elementary.h"
#include "dynet/ops/input.h"
#include "dynet/ops/linear.h"
#include "dynet/ops/pick.h"

#include "support/far_device.h"

namespace dynet::execute {
namespace {

/// Counts calls and members.
struct Counter final : Hook {
  int forward_calls = 0;
  int forward_members = 0;
  void before_call(const graph::Graph& /*graph*/, const Call& call) override {
    if (call.backward) {
      return;
    }
    ++forward_calls;
    forward_members += static_cast<int>(call.members.size());
  }
};

struct ExecutorTest : ::testing::Test {
  graph::Interner interner;
  graph::Graph graph{interner, *testing::test_device("CPU:double")};
  Executor executor{graph};
  Counter counter;

  ExecutorTest() { executor.hooks().add(counter); }
  template <class Op>
  NodeId add(const Op& op, std::vector<NodeId> args, const ext::NodePayload& payload = {}) {
    return graph.add(ext::kRecord<Op>, &op, args, payload, {}, 1);
  }
  NodeId input(const std::vector<float>& numbers) {
    return add(ops::Input{{static_cast<unsigned>(numbers.size())}}, {},
               ext::NodePayload::of(numbers));
  }
  std::vector<double> value(NodeId n) { return as_double_vector(executor.value(n)); }
};

TEST_F(ExecutorTest, ComputesOnlyWhatIsNeededAndOnlyOnce) {
  const NodeId x = input({1, 2});
  const NodeId used = add(ops::Square{}, {x});
  add(ops::Exp{}, {x});
  EXPECT_EQ(value(used), (std::vector<double>{1, 4}));
  EXPECT_EQ(counter.forward_members, 2);
  value(used);
  EXPECT_EQ(counter.forward_members, 2);
  const NodeId more = add(ops::Square{}, {used});
  EXPECT_EQ(value(more), (std::vector<double>{1, 16}));
  EXPECT_EQ(counter.forward_members, 3);
}

TEST_F(ExecutorTest, EqualKeysRunInOneCall) {
  const NodeId x = input({1, 2});
  const NodeId y = input({3, 4});
  const NodeId sum = add(ops::Add{}, {add(ops::Square{}, {x}), add(ops::Square{}, {y})});
  EXPECT_EQ(value(sum), (std::vector<double>{10, 20}));
  EXPECT_EQ(counter.forward_calls, 3);
  EXPECT_EQ(counter.forward_members, 5);
}

TEST_F(ExecutorTest, AFailedNodeFailsItsDescendantsOnly) {
  const NodeId x = input({1, 2});
  unsigned index = 9;
  const NodeId bad = add(ops::Pick{}, {x}, ext::NodePayload::of(&index));
  const NodeId good = add(ops::Square{}, {x});
  const NodeId both = add(ops::Add{}, {bad, good});
  EXPECT_THROW(executor.value(both), errors::IndexError);
  EXPECT_EQ(value(good), (std::vector<double>{1, 4}));
  EXPECT_THROW(executor.value(bad), errors::IndexError);
  index = 1;
  EXPECT_EQ(value(both), (std::vector<double>{3, 6}));
}

TEST_F(ExecutorTest, RevertForgetsWhatWasComputedAboveTheMark) {
  const NodeId x = input({1, 2});
  const NodeId early = add(ops::Square{}, {x});
  executor.compute_all();
  const Executor::Mark mark = executor.mark();
  const graph::Graph::Mark nodes = graph.mark();
  const NodeId late = add(ops::Exp{}, {early});
  value(late);
  executor.revert(mark, nodes.nodes);
  graph.revert(nodes);
  EXPECT_EQ(value(early), (std::vector<double>{1, 4}));
  EXPECT_EQ(value(add(ops::Square{}, {early})), (std::vector<double>{1, 16}));
}

/// The arguments of a sum come as one operand: a node that stands in it twice counts twice.
TEST_F(ExecutorTest, ASumOfAListAddsEveryArgument) {
  const NodeId x = input({1, 2});
  const NodeId y = input({3, 5});
  const NodeId z = add(ops::Square{}, {y});
  const NodeId sum = add(ops::Sum{}, {x, z, x, y, x});
  EXPECT_EQ(value(sum), (std::vector<double>{15, 36}));
  const NodeId loss = add(ops::SquaredNorm{}, {add(ops::Add{}, {sum, x})});
  EXPECT_EQ(value(loss), (std::vector<double>{16.0 * 16 + 38 * 38}));
  executor.backward(loss, true);
  EXPECT_EQ(as_double_vector(executor.gradient(x)), (std::vector<double>{2 * 16 * 4, 2 * 38 * 4}));
  EXPECT_EQ(as_double_vector(executor.gradient(y)),
            (std::vector<double>{2 * 16 * (1 + 6), 2 * 38 * (1 + 10)}));
}

TEST_F(ExecutorTest, GradientsOfInputsNeedFull) {
  const NodeId x = input({3, 4});
  const NodeId loss = add(ops::SquaredNorm{}, {x});
  executor.backward(loss, false);
  EXPECT_EQ(as_double_vector(executor.gradient(x)), (std::vector<double>{0, 0}));
  executor.backward(loss, true);
  EXPECT_EQ(as_double_vector(executor.gradient(x)), (std::vector<double>{6, 8}));
  EXPECT_THROW(executor.backward(x, false), errors::ShapeError);
}

}  // namespace
}  // namespace dynet::execute
