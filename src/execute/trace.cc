#include "execute/trace.h"

#include <cstdio>
#include <string>

#include "schedule/explain.h"
#include "util/env.h"

namespace dynet::execute {

void trace_plan(const graph::Graph& graph, const std::vector<graph::NodeId>& wanted,
                const schedule::Plan& plan) {
  static const bool is_on = util::trace_enabled("plan");
  if (!is_on) {
    return;
  }
  char line[128];
  std::snprintf(line, sizeof line, "plan: %zu nodes, %zu groups, %zu segments, lower bound %u\n",
                wanted.size(), plan.groups.size(), plan.segments.size(), plan.bound);
  std::fputs((line + schedule::to_text(graph, plan)).c_str(), stderr);
}

}  // namespace dynet::execute
