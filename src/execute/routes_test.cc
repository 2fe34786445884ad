// The routes that gradients took in small graphs, as text: "v3: products at delivery, storage".

#include "execute/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "dynet/model.h"
#include "dynet/ops/activation.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/input.h"
#include "dynet/ops/linear.h"
#include "dynet/ops/reduce.h"

#include "execute/executor.h"

namespace dynet::execute {
namespace {

using Lines = std::vector<std::string>;

struct RoutesTest : ::testing::Test {
  ParameterCollection model;
  graph::Interner interner;
  Device* device = get_device_manager()->get_global_device("CPU:double");
  graph::Graph graph{interner, *device};
  Executor executor{graph};

  template <class Op>
  NodeId add(const Op& op, const std::vector<NodeId>& args, const ext::NodePayload& payload = {}) {
    return graph.add(ext::kRecord<Op>, &op, args, payload, {}, 1);
  }
  NodeId constant(const Dim& dim) { return add(ops::Constant{dim, 1.0F}, {}); }
  NodeId parameter(const Parameter& p) {
    const std::shared_ptr<void> storage = p.p;
    ext::NodePayload payload;
    payload.storage = &storage;
    return add(ops::Parameter{p.dim(), true}, {}, payload);
  }
  NodeId parameter(const Dim& dim) { return parameter(model.add_parameters(dim, device)); }
  NodeId row(const Dim& dim) {
    const std::shared_ptr<void> storage = model.add_lookup_parameters(3, dim, "", device).p;
    const std::vector<unsigned> rows{1};
    ext::NodePayload payload = ext::NodePayload::of(rows);
    payload.storage = &storage;
    return add(ops::Lookup{dim, true}, {}, payload);
  }
  NodeId loss(NodeId of) { return add(ops::SumElems{}, {of}); }

  /// The way that the gradient of a node took in the last pass.
  std::string route(NodeId n) const {
    constexpr const char* kDone[] = {" at node", " at end", " at delivery"};
    constexpr const char* kEnd[] = {"", "", ", storage", ", rows"};
    const NodeId to = executor.gradients().owner(n);
    std::string text = "v" + std::to_string(n);
    text += to == n ? ": " : " in v" + std::to_string(to) + ": ";
    const std::vector<NodeId>& weights = executor.products().weights();
    if (!executor.gradients().needs(n)) {
      text += "nothing";
    } else if (std::find(weights.begin(), weights.end(), to) == weights.end()) {
      text += "memory";
    } else {
      text += std::string("products") + kDone[static_cast<int>(products_done(graph, n))];
    }
    return text + kEnd[static_cast<int>(graph[n].record().gradient_goes_to)];
  }
  /// The routes of a pass from `root`, of all nodes that it depends on, last one first.
  Lines routes_from(NodeId root) {
    executor.backward(root, false);
    Lines lines;
    for (const NodeId n : executor.path().found()) {
      lines.push_back(route(n));
    }
    return lines;
  }
};

TEST_F(RoutesTest, AParameterThatCallsMultiplyWith) {
  const NodeId u = parameter({2, 2});
  const NodeId x = constant({2});
  const NodeId h = add(ops::Tanh{}, {add(ops::MatMul{}, {u, x})});
  const NodeId y = add(ops::MatMul{}, {u, h});
  EXPECT_EQ(routes_from(loss(y)), (Lines{"v5: memory", "v4: memory", "v3: memory", "v2: memory",
                                         "v1: nothing", "v0: products at delivery, storage"}));
}

TEST_F(RoutesTest, AParameterThatIsAdded) {
  const NodeId b = parameter({2});
  const NodeId y = add(ops::Add{}, {b, constant({2})});
  EXPECT_EQ(routes_from(loss(y)),
            (Lines{"v3: memory", "v2: memory", "v1: nothing", "v0: memory, storage"}));
}

TEST_F(RoutesTest, NodesOfOneParameterShareTheMemoryOfTheFirst) {
  const Parameter p = model.add_parameters({2}, device);
  const NodeId first = parameter(p);
  const NodeId second = parameter(p);
  const NodeId y = add(ops::Add{}, {first, second});
  EXPECT_EQ(routes_from(loss(y)), (Lines{"v3: memory", "v2: memory", "v1 in v0: memory, storage",
                                         "v0: memory, storage"}));
}

/// A masked matrix: its products are done when the pass comes to it.
TEST_F(RoutesTest, AComputedWeight) {
  const NodeId w = parameter({2, 2});
  const NodeId masked = add(ops::CMult{}, {w, constant({2, 2})});
  const NodeId x = constant({2});
  const NodeId h = add(ops::MatMul{}, {masked, x});
  const NodeId y = add(ops::MatMul{}, {masked, h});
  EXPECT_EQ(routes_from(loss(y)),
            (Lines{"v6: memory", "v5: memory", "v4: memory", "v3: nothing", "v2: products at node",
                   "v1: nothing", "v0: memory, storage"}));
}

TEST_F(RoutesTest, RowsOfTables) {
  const NodeId vector = row({2});
  const NodeId matrix = row({2, 2});
  const NodeId y = add(ops::MatMul{}, {matrix, vector});
  EXPECT_EQ(routes_from(loss(y)),
            (Lines{"v3: memory", "v2: memory", "v1: products at end, rows", "v0: memory, rows"}));
}

/// The gradients that arrive are the sums over all routes: one from the product, one from the sum.
TEST_F(RoutesTest, TheStorageGetsTheSumOfProductsAndMemory) {
  const Parameter p = model.add_parameters({2, 2}, ParameterInitConst(2.0F), "", device);
  const NodeId u = parameter(p);
  const NodeId product = add(ops::MatMul{}, {u, constant({2})});
  const NodeId y = add(ops::Add{}, {loss(product), loss(u)});
  const Lines lines = routes_from(y);
  EXPECT_EQ(lines.back(), "v0: products at delivery, storage");
  EXPECT_EQ(as_double_vector(*p.gradients()), (std::vector<double>{2, 2, 2, 2}));
}

}  // namespace
}  // namespace dynet::execute
