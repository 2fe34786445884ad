#include "schedule/explain.h"

namespace dynet::schedule {

std::string to_text(const graph::Graph& graph, const Plan& plan) {
  std::string text;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const Group& group = plan.groups[g];
    text += "group " + std::to_string(g) + ": " + std::to_string(group.members) + " x " +
            std::string(graph[plan.members[group.first]].record().info->name) +
            (group.part == Part::kFirst  ? ", first terms, "
             : group.part == Part::kRest ? ", other terms, "
                                         : ", ") +
            std::to_string(group.count) + (group.count == 1 ? " segment:" : " segments:");
    for (std::uint32_t m = 0; m < group.members; ++m) {
      text += " v" + std::to_string(plan.members[group.first + m]);
    }
    text += '\n';
  }
  return text;
}

std::string explain(const graph::Graph& graph, NodeId a, NodeId b) {
  const graph::Signature& x = *graph[a].signature;
  const graph::Signature& y = *graph[b].signature;
  if (x.record != y.record) {
    return "operation: " + std::string(x.record->info->name) +
           " != " + std::string(y.record->info->name);
  }
  if (x.alone || y.alone) {
    return std::string(x.record->info->name) +
           ": runs alone (mixes the examples of its batch, is an alias, or has one example beside "
           "n)";
  }
  if (x.key == y.key) {
    return "equal keys";
  }
  const std::string xs = x.record->attrs_text(x.op);
  const std::string ys = y.record->attrs_text(y.op);
  if (xs != ys) {
    return "attributes: " + xs + " != " + ys;
  }
  if (x.arity != y.arity) {
    return "arity: " + std::to_string(x.arity) + " != " + std::to_string(y.arity);
  }
  for (std::uint32_t i = 0; i < x.arity; ++i) {
    const Dim dx = graph.dim(graph[a].args[i]);
    const Dim dy = graph.dim(graph[b].args[i]);
    if (dx.single_batch() != dy.single_batch() || (dx.bd == x.batch) != (dy.bd == y.batch)) {
      return "argument " + std::to_string(i) + ": " + to_string(dx) + " != " + to_string(dy);
    }
  }
  return "payload count: " + std::to_string(x.payload_count) +
         " != " + std::to_string(y.payload_count);
}

}  // namespace dynet::schedule
