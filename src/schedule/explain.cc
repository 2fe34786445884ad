#include <algorithm>
#include <unordered_map>

#include "schedule/plan.h"

namespace dynet::schedule {

std::uint32_t lower_bound(const graph::Graph& graph, const std::vector<NodeId>& wanted) {
  // Only traces ask, so clarity before speed: a level a key a node, the maximum over the arguments.
  std::unordered_map<NodeId, std::unordered_map<std::uint64_t, std::uint32_t>> levels;
  std::unordered_map<std::uint64_t, std::uint32_t> longest;
  for (const NodeId n : wanted) {
    auto& mine = levels[n];
    for (const NodeId a : graph.args(n)) {
      const auto found = levels.find(graph.owner(a));
      if (found == levels.end()) {
        continue;
      }
      for (const auto& [key, level] : found->second) {
        mine[key] = std::max(mine[key], level);
      }
    }
    const graph::Signature& s = *graph[n].signature;
    const std::uint64_t key = s.alone ? (std::uint64_t{1} << 32) + n : s.key;
    longest[key] = std::max(longest[key], ++mine[key]);
  }
  std::uint32_t bound = 0;
  for (const auto& [key, length] : longest) {
    bound += length;
  }
  return bound;
}

std::string Plan::to_text(const graph::Graph& graph) const {
  std::string text;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    text += "group " + std::to_string(g) + ": " + std::to_string(group.members) + " x " +
            std::string(graph[members[group.first]].record().info->name) + ", " +
            std::to_string(group.count) + (group.count == 1 ? " segment:" : " segments:");
    for (std::uint32_t m = 0; m < group.members; ++m) {
      text += " v" + std::to_string(members[group.first + m]);
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
