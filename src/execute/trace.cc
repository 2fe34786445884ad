// The hook that writes plans and their memory to stderr, with DYNET_TRACE.
#include "util/trace.h"

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "execute/executor.h"
#include "schedule/explain.h"
#include "schedule/repeats.h"

namespace dynet::execute {
namespace {

class PlanTrace final : public Hook {
 public:
  explicit PlanTrace(const HookParts& parts)
      : graph_(parts.executor.context().graph), values_(parts.executor.values()) {}

  /// Writes the groups of a plan, and their number beside the lower bound; stretches that repeat.
  void after_plan(const std::vector<NodeId>& nodes, const schedule::Plan& plan) override {
    if (util::is_traced(util::TraceWord::kRepeats)) {
      util::write_trace(schedule::repeats_text(graph_, nodes));
    }
    if (!util::is_traced(util::TraceWord::kPlan)) {
      return;
    }
    char line[128];
    std::snprintf(line, sizeof line, "plan: %zu nodes, %zu groups, %zu segments, lower bound %u\n",
                  nodes.size(), plan.groups.size(), plan.segments.size(), plan.bound);
    util::write_trace(line + schedule::to_text(graph_, plan));
  }

  void after_placing(std::size_t nodes, std::size_t bytes, std::size_t kept) override {
    if (!util::is_traced(util::TraceWord::kMemory)) {
      return;
    }
    util::write_trace("memory: " + std::to_string(nodes) + " nodes in " + std::to_string(bytes) +
                      " bytes, " + std::to_string(kept) +
                      " of them kept; the values of this graph hold " +
                      std::to_string(values_.held()) + " bytes, all graphs " +
                      std::to_string(memory::bytes_held()) + "\n");
  }

 private:
  const graph::Graph& graph_;
  const Values& values_;
};

}  // namespace

bool wants_trace() {
  return util::is_traced(util::TraceWord::kPlan) || util::is_traced(util::TraceWord::kMemory) ||
         util::is_traced(util::TraceWord::kRepeats);
}

std::unique_ptr<Hook> make_trace(const HookParts& parts) {
  return std::make_unique<PlanTrace>(parts);
}

}  // namespace dynet::execute
