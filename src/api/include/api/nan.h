#pragma once

#include <span>

#include "api/graph_state.h"

namespace dynet::api {

/// The value of a node, computed if missing. If the graph wants valid numbers, NumericError names
/// the first node computed for it that has others.
const Tensor& checked_value(GraphState& state, graph::NodeId n);

/// Computes these nodes by one plan, and looks at them as checked_value does.
void compute_checked(GraphState& state, std::span<const graph::NodeId> nodes);

/// Computes all nodes, and looks at them as checked_value does.
void compute_all(GraphState& state);

/// Remembers the graph as the one that a trainer's bad gradient comes from.
void suspect(const ComputationGraph& graph, const GraphState& state);

}  // namespace dynet::api
