#pragma once

#include <vector>

#include "execute/values.h"
#include "schedule/plan.h"
#include "util/trace.h"

namespace dynet::execute {

/// With DYNET_TRACE=plan, writes the groups of a plan and their number beside the lower bound to
/// stderr.
void trace_plan(const graph::Graph& graph, const std::vector<graph::NodeId>& wanted,
                const schedule::Plan& plan);

/// With DYNET_TRACE=memory, writes how much memory the values of a plan took, and how much of it
/// they keep.
void trace_memory(std::size_t nodes, std::size_t bytes, std::size_t kept, const Values& values);

}  // namespace dynet::execute
