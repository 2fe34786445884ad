#include "dynet/expression.h"

#include "api/graph_state.h"

namespace dynet {

Expression::Expression(ComputationGraph* graph, VariableIndex index) : pg(graph), i(index) {
  if (graph != nullptr && api::is_live(graph) && index < graph->state().graph.size()) {
    graph_id = graph->state().graph[index].epoch;
  }
}

bool Expression::is_stale() const {
  if (pg == nullptr || !api::is_live(pg)) {
    return true;
  }
  const graph::Graph& graph = pg->state().graph;
  return i >= graph.size() || graph[i].epoch != graph_id;
}

std::string Expression::get_device_name() const {
  const graph::NodeId n = api::checked_node(*this, "get_device_name");
  return pg->state().graph[n].device().name;
}

const Tensor& Expression::value() const {
  api::checked_node(*this, "value");
  return pg->get_value(i);
}

const Tensor& Expression::gradient() const {
  api::checked_node(*this, "gradient");
  return pg->get_gradient(i);
}

const Dim& Expression::dim() const {
  const graph::NodeId n = api::checked_node(*this, "dim");
  return pg->state().graph.dim(n);
}

}  // namespace dynet
