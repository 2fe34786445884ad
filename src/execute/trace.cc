#include "execute/trace.h"

#include <cstdio>
#include <string>

#include "util/env.h"

namespace dynet::execute {

void trace_plan(const graph::Graph& graph, const std::vector<graph::NodeId>& wanted,
                const schedule::Plan& plan) {
  static const bool is_on = util::trace_enabled("plan");
  if (!is_on) {
    return;
  }
  const double bound = schedule::lower_bound(graph, wanted);
  char line[128];
  std::snprintf(
      line, sizeof line,
      "plan: %zu nodes, %zu groups, %zu segments, lower bound %.0f, groups / bound %.2f\n",
      wanted.size(), plan.groups.size(), plan.segments.size(), bound,
      static_cast<double>(plan.groups.size()) / bound);
  std::fputs((line + plan.to_text(graph)).c_str(), stderr);
}

}  // namespace dynet::execute
