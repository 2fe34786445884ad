#include "dynet/expr/gradient.h"

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "dynet/dynet.h"
#include "dynet/except.h"
#include "dynet/expr/to_device.h"

#include "api/gradient_nodes.h"
#include "api/gradient_path.h"
#include "api/graph_state.h"
#include "api/nan.h"
#include "graph/to_device.h"

namespace dynet {
namespace {

using graph::NodeId;

bool is_copy(const graph::Graph& graph, NodeId n) {
  return &graph[n].record() == &graph::kToDevice;
}

/// UsageError for the first operation on the path that has no backward in operations.
void check_operations(const graph::Graph& graph, const api::GradientPath& path,
                      const Where& where) {
  for (const NodeId n : path.nodes()) {
    if (path.goes_through(n) && graph[n].record().gradient == nullptr && !is_copy(graph, n)) {
      throw errors::UsageError("gradient: " + std::string(graph[n].record().info->name) +
                               " has no backward in operations\n  " + graph.describe(n) +
                               graph::built_at(where));
    }
  }
}

/// GraphError if values on the path come from parameters that have changed since.
void check_parameters(api::GraphState& state, NodeId root, const api::GradientPath& path) {
  std::vector<NodeId> nodes;
  for (const NodeId n : path.nodes()) {
    if (path.goes_through(n)) {
      nodes.push_back(n);
    }
  }
  api::exclusively(state, [&] { state.executor.refuse_old(root, nodes); });
}

NodeId checked_loss(const Expression& loss, const Where& where) {
  const NodeId n = api::checked_node(loss, "gradient");
  if (loss.dim().example_elements() != 1) {
    throw errors::ShapeError("gradient: the loss is " + to_string(loss.dim()) +
                             "; want one number for each example" + graph::built_at(where));
  }
  return n;
}

std::vector<NodeId> checked_nodes(const std::vector<Expression>& xs, const Expression& loss,
                                  const Where& where) {
  std::vector<NodeId> nodes;
  nodes.reserve(xs.size());
  for (const Expression& x : xs) {
    nodes.push_back(api::checked_node(x, "gradient"));
    if (x.pg != loss.pg) {
      throw errors::GraphError("gradient: loss and xs belong to different computation graphs" +
                               graph::built_at(where));
    }
  }
  return nodes;
}

/// Adds the nodes.
class Backward {
 public:
  Backward(ComputationGraph& graph, const api::GradientPath& path, const Where& where)
      : graph_(graph.state().graph), path_(path), where_(where), nodes_(graph, path, where) {}

  void from(NodeId loss) {
    if (!path_.has(loss)) {
      return;
    }
    nodes_.set_device(graph_[loss].device());
    nodes_.add_part(loss, nodes_.constant(graph_.dim(loss), 1.0));
    for (std::size_t i = path_.nodes().size(); i-- > 0;) {
      const NodeId n = path_.nodes()[i];
      if (path_.goes_through(n) && nodes_.is_reached(n)) {
        go_through(n);
      }
    }
  }
  /// The gradient of `x`, counting all nodes of it: zeros if the loss does not depend on `x`.
  Expression of(NodeId x) {
    nodes_.set_device(graph_[x].device());
    std::vector<api::GradientNodes::Node> all;
    const std::uint64_t identity = graph_.identity(x);
    const bool is_alone = graph_[x].record().reads_storage != ext::Storage::kWhole;
    for (const NodeId n : is_alone ? std::span(&x, 1) : path_.nodes()) {
      const auto sum = graph_.identity(n) == identity ? nodes_.sum_of_parts(n) : std::nullopt;
      if (sum.has_value()) {
        all.push_back(*sum);
      }
    }
    return nodes_.expression(all.empty() ? nodes_.constant(graph_.dim(x), 0.0) : nodes_.sum(all));
  }

 private:
  void go_through(NodeId n) {
    if (!is_copy(graph_, n)) {
      nodes_.go_through(n);
      return;
    }
    const NodeId from = graph_.args(n)[0];
    if (const auto sum = nodes_.sum_of_parts(n); sum.has_value()) {
      const Expression back = to_device(nodes_.expression(*sum), &graph_[from].device(), where_);
      nodes_.add_part(from, {back.i});
    }
  }

  const graph::Graph& graph_;
  const api::GradientPath& path_;
  const Where& where_;
  api::GradientNodes nodes_;
};

}  // namespace

template <int>
std::vector<Expression> gradient(const Expression& loss, const std::vector<Expression>& xs,
                                 Where where) {
  const NodeId root = checked_loss(loss, where);
  const std::vector<NodeId> starts = checked_nodes(xs, loss, where);
  ComputationGraph& graph = *loss.pg;
  api::GraphState& state = graph.state();
  const api::GradientPath path(state.graph, root, starts);
  check_operations(state.graph, path, where);
  check_parameters(state, root, path);
  const graph::Graph::Mark before = state.graph.mark();
  const bool is_immediate = std::exchange(state.immediate, false);
  std::vector<Expression> gradients;
  gradients.reserve(xs.size());
  try {
    Backward backward(graph, path, where);
    backward.from(root);
    for (const NodeId x : starts) {
      gradients.push_back(backward.of(x));
    }
  } catch (...) {
    state.graph.revert(before);  // nothing of it was computed
    state.immediate = is_immediate;
    throw;
  }
  state.immediate = is_immediate;
  for (NodeId n = before.nodes; is_immediate && n < state.graph.size(); ++n) {
    api::exclusively(state, [&] { static_cast<void>(api::checked_value(state, n)); });
  }
  return gradients;
}
template std::vector<Expression> gradient<>(const Expression& loss,
                                            const std::vector<Expression>& xs, Where where);

}  // namespace dynet
