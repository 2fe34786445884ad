#include "dynet/ext/add_node.h"

#include "dynet/evaluating.h"
#include "dynet/expr/to_device.h"

#include "api/graph_state.h"
#include "api/nan.h"
#include "graph/to_device.h"
#include "params/random_streams.h"
#include "util/pulse.h"
#include "util/trace.h"

namespace dynet::ext {
namespace {

using graph::built_at;

graph::NodeId checked_argument(const Expression& e, const Record& record, const Where& where) {
  try {
    return api::checked_node(e, record.info->name);
  } catch (const errors::StaleExpression& error) {
    throw errors::StaleExpression(error.what() + built_at(where));
  }
}

/// The errors of arguments without a graph: an empty list, or a first argument whose graph is gone.
[[gnu::noinline]] void refuse_arguments(const Record& record, std::span<const Expression> args,
                                        const Where& where) {
  if (args.empty()) {
    throw errors::ValueError(std::string(record.info->name) +
                             ": the list of arguments is empty; want at least one" +
                             built_at(where));
  }
  checked_argument(args[0], record, where);
}

ComputationGraph& graph_of(const Record& record, ComputationGraph* graph,
                           std::span<const Expression> args, const Where& where) {
  if (graph != nullptr) {
    return *graph;
  }
  if (args.empty() || args[0].pg == nullptr || !api::is_live(args[0].pg)) [[unlikely]] {
    refuse_arguments(record, args, where);
  }  // whether the node is alive is looked at with the other arguments'
  return *args[0].pg;
}

[[gnu::noinline]] std::span<const Expression> without_absent_end(const Record& record,
                                                                 std::span<const Expression> args) {
  std::size_t count = args.size();
  while (count > 0 && args[count - 1].pg == nullptr && record.is_optional(count - 1)) {
    --count;
  }
  return args.first(count);
}

/// For an argument that is no live node of the graph: absent if the operation permits, else an
/// error.
[[gnu::noinline]] graph::NodeId absent_argument(const Record& record, const ComputationGraph& graph,
                                                const Expression& e, std::size_t index,
                                                const Where& where) {
  if (e.pg == nullptr && record.is_optional(index)) {
    return graph::kAbsent;
  }
  checked_argument(e, record, where);
  if (e.pg != &graph) {
    throw errors::GraphError(std::string(record.info->name) +
                             ": arguments belong to different computation graphs" +
                             built_at(where));
  }
  return e.i;
}

[[gnu::noinline]] void enlarge(std::vector<graph::NodeId>& room, std::size_t count) {
  room.resize(count);
}

/// Ids of the arguments, all alive and of one graph, which is known to live. Absent ones at the end
/// are left out. Valid until the next node is added.
std::span<const graph::NodeId> collect_args(const Record& record, const ComputationGraph& graph,
                                            api::GraphState& state,
                                            std::span<const Expression> args, const Where& where) {
  if (record.has_optional && !args.empty() && args.back().pg == nullptr) {
    args = without_absent_end(record, args);
  }
  if (state.args.size() < args.size()) [[unlikely]] {
    enlarge(state.args, args.size());
  }
  const graph::Graph::Epochs epochs = state.graph.epochs();
  graph::NodeId* const ids = state.args.data();
  for (std::size_t a = 0; a < args.size(); ++a) {
    const Expression& e = args[a];
    const bool is_node = e.pg == &graph && epochs.has(e.i, e.graph_id);
    ids[a] = is_node ? e.i : absent_argument(record, graph, e, a, where);
  }
  return {ids, args.size()};
}

/// Traces the last node, and computes it in a graph that computes at once. If either fails, the
/// program gets no expression of the node, and the repeated call draws what this call would have
/// drawn.
[[gnu::noinline]] void show_and_compute(api::GraphState& state, graph::NodeId n) {
  const std::uint32_t own = state.graph[n].record().random ? 1 : 0;
  try {
    if (util::is_traced(util::TraceWord::kGraph)) {
      util::write_trace("graph: " + state.graph.describe(n) + "\n");
    }
    if (state.immediate) {
      static_cast<void>(api::checked_value(state, n));
    }
  } catch (...) {
    state.graph.take_back_draws(state.graph.draws() - own);
    throw;
  }
}

/// The result within an Evaluating scope: the argument, after the checks of a node.
[[gnu::noinline]] Expression checked_argument_itself(const Record& record, const void* op,
                                                     const Expression& x, const Where& where) {
  const graph::NodeId n = checked_argument(x, record, where);
  api::GraphState& state = x.pg->state();
  return api::exclusively(state, [&]() -> Expression {
    const graph::ShapeId shape = state.graph[n].shape();
    try {
      static_cast<void>(state.interner.signature(record, op, {&shape, 1}, 0, nullptr));
    } catch (const errors::ShapeError& e) {
      throw errors::ShapeError(e.what() + built_at(where));
    } catch (const errors::ValueError& e) {
      throw errors::ValueError(e.what() + built_at(where));
    }
    return x;
  });
}

}  // namespace

Expression add_node(const Record& record, const void* op, ComputationGraph* graph,
                    std::span<const Expression> args, const NodePayload& payload,
                    const Where& where, const Device* device) {
  if (record.for_training && Evaluating::is_on()) [[unlikely]] {
    return checked_argument_itself(record, op, args[0], where);
  }
  ComputationGraph& g = graph_of(record, graph, args, where);
  api::GraphState& state = g.state();
  util::beat();
  return api::exclusively(state, [&]() -> Expression {
    const graph::NodeId n = state.graph.add(record, op, collect_args(record, g, state, args, where),
                                            payload, where, state.epoch, device);
    if (record.random && !state.has_random_stream) {
      state.executor.set_random_stream(params::next_random_stream());
      state.has_random_stream = true;
    }
    if (state.immediate || util::is_traced(util::TraceWord::kGraph)) [[unlikely]] {
      show_and_compute(state, n);
    }
    return {&g, n, state.epoch};
  });
}

}  // namespace dynet::ext

namespace dynet {

Expression to_device(const Expression& x, const Device* device, Where where) {
  const graph::NodeId n = ext::checked_argument(x, graph::kToDevice, where);
  if (device == nullptr) {
    throw errors::ValueError("to_device: the device is null" + graph::built_at(where));
  }
  if (&x.pg->state().graph[n].device() == device) {
    return x;
  }
  const graph::ToDevice op{device};
  return ext::add_node(graph::kToDevice, &op, x.pg, {&x, 1}, {}, where, device);
}

}  // namespace dynet

namespace dynet::ext {
namespace {
void set_payload(const Expression& e, Payload kind, const void* data, std::size_t count) {
  const graph::NodeId n = api::checked_node(e, "set");
  api::GraphState& state = e.pg->state();
  api::exclusively(state, [&] {
    state.graph.replace_payload(n, kind, data, count);
    state.executor.invalidate();
  });
}
}  // namespace

void set_payload(const Expression& e, std::span<const unsigned> indices) {
  set_payload(e, Payload::kIndices, indices.data(), indices.size());
}
void set_payload(const Expression& e, std::span<const float> values) {
  set_payload(e, Payload::kValues, values.data(), values.size());
}

unsigned index_limit(const Expression& e) {
  const graph::NodeId n = api::checked_node(e, "index_limit");
  const graph::Graph& graph = e.pg->state().graph;
  if (graph[n].record().index_limit == nullptr) {
    throw errors::ValueError("index_limit: indices of this node have no bound\n  " +
                             graph.describe(n));
  }
  return graph.index_limit(n);
}

}  // namespace dynet::ext
