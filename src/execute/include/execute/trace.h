#pragma once

#include <vector>

#include "schedule/plan.h"

namespace dynet::execute {

/// With DYNET_TRACE=plan, writes the groups of a plan and their number beside the lower bound to
/// stderr.
void trace_plan(const graph::Graph& graph, const std::vector<graph::NodeId>& wanted,
                const schedule::Plan& plan);

}  // namespace dynet::execute
