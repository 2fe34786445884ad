#include "dynet/ext/add_node.h"

#include "api/graph_state.h"
#include "params/random_streams.h"

namespace dynet::ext {
namespace {

ComputationGraph& graph_of(const Record& record, ComputationGraph* graph, std::span<const Expression> args) {
  if (graph != nullptr) { return *graph; }
  if (args.empty()) {
    throw ValueError(std::string(record.info->name) + ": the list of arguments is empty; want at least one");
  }
  if (args[0].pg == nullptr) { api::checked_node(args[0], record.info->name.data()); }
  return *args[0].pg;
}

/// Ids of the arguments, all alive and of one graph.
void collect_args(const Record& record, const ComputationGraph& graph, std::span<const Expression> args,
                  std::vector<graph::NodeId>& ids) {
  ids.clear();
  for (const Expression& e : args) {
    ids.push_back(api::checked_node(e, record.info->name.data()));
    if (e.pg != &graph) {
      throw GraphError(std::string(record.info->name) + ": arguments belong to different computation graphs");
    }
  }
}

void compute_now(ComputationGraph& graph, graph::NodeId n) {
  api::GraphState& state = graph.state();
  const Tensor& value = state.executor.value(n);
  if (state.check_validity && !value.is_valid()) {
    throw NumericError("NaN or infinity in " + state.graph.describe(n));
  }
}

}  // namespace

Expression add_node(const Record& record, const void* op, ComputationGraph* graph,
                    std::span<const Expression> args, const NodePayload& payload, const Where& where) {
  ComputationGraph& g = graph_of(record, graph, args);
  if (!args.empty()) { api::checked_node(args[0], record.info->name.data()); }
  api::GraphState& state = g.state();
  const api::Busy busy(state);
  collect_args(record, g, args, state.args);
  const graph::NodeId n = state.graph.add(record, op, state.args, payload, where, state.epoch);
  if (record.random && !state.has_random_stream) {
    state.executor.set_random_stream(params::next_random_stream());
    state.has_random_stream = true;
  }
  if (state.immediate) { compute_now(g, n); }
  return {&g, n, state.epoch};
}

}  // namespace dynet::ext
