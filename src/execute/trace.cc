#include "execute/trace.h"

#include <cstdio>
#include <string>

#include "schedule/explain.h"
#include "util/trace.h"

namespace dynet::execute {

void trace_plan(const graph::Graph& graph, const std::vector<graph::NodeId>& wanted,
                const schedule::Plan& plan) {
  if (!util::is_traced(util::TraceWord::kPlan)) {
    return;
  }
  char line[128];
  std::snprintf(line, sizeof line, "plan: %zu nodes, %zu groups, %zu segments, lower bound %u\n",
                wanted.size(), plan.groups.size(), plan.segments.size(), plan.bound);
  util::write_trace(line + schedule::to_text(graph, plan));
}

void trace_memory(std::size_t nodes, std::size_t bytes, std::size_t kept, const Values& values) {
  if (!util::is_traced(util::TraceWord::kMemory)) {
    return;
  }
  util::write_trace("memory: " + std::to_string(nodes) + " nodes in " + std::to_string(bytes) +
                    " bytes, " + std::to_string(kept) +
                    " of them kept; the values of this graph hold " +
                    std::to_string(values.held()) + " bytes, all graphs " +
                    std::to_string(memory::bytes_held()) + "\n");
}

}  // namespace dynet::execute
