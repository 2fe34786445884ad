#include "api/gradient_path.h"

#include <algorithm>
#include <cstdint>

namespace dynet::api {
namespace {

using graph::NodeId;

std::uint64_t hash_of(NodeId n) { return n * std::uint64_t{0x9E3779B97F4A7C15} >> 20; }

/// The first node that is `x`, or is the parameter that `x` is.
NodeId first_of(const graph::Graph& graph, NodeId x) {
  const graph::Node& node = graph[x];
  return node.record().reads_storage == ext::Storage::kWhole
             ? graph.storages()[node.payload->storage_slot].first
             : x;
}

}  // namespace

GradientPath::GradientPath(const graph::Graph& graph, NodeId loss, const std::vector<NodeId>& xs)
    : graph_(graph) {
  NodeId first = loss;
  for (const NodeId x : xs) {
    starts_.insert(graph.identity(x));
    first = std::min(first, first_of(graph, x));
  }
  collect(loss, first);
  drop_others();
}

GradientPath GradientPath::from(const graph::Graph& graph, NodeId first,
                                const std::vector<NodeId>& xs) {
  GradientPath path(graph);
  path.nodes_ = xs;
  for (const NodeId x : xs) {
    path.starts_.insert(graph.identity(x));
  }
  for (NodeId n = first; n < graph.size(); ++n) {
    path.nodes_.push_back(n);
  }
  path.drop_others();
  return path;
}

/// Only nodes that depend on an expression stay. Arguments come before their users.
void GradientPath::drop_others() {
  std::size_t kept = 0;
  for (const NodeId n : nodes_) {
    if (starts_.contains(graph_.identity(n)) || follows(n)) {
      table_.insert(hash_of(n), static_cast<std::uint32_t>(kept));
      nodes_[kept++] = n;
    }
  }
  nodes_.resize(kept);
}

/// The nodes on which the loss depends, along gradients, from node `first` on.
void GradientPath::collect(NodeId loss, NodeId first) {
  std::vector<NodeId> open{loss};  // a heap, the last node on top; some stand in it several times
  while (!open.empty()) {
    const NodeId n = open.front();
    while (!open.empty() && open.front() == n) {
      std::pop_heap(open.begin(), open.end());
      open.pop_back();
    }
    nodes_.push_back(n);
    if (graph_[n].record().stops_gradient) {
      continue;
    }
    for (const NodeId arg : graph_.args(n)) {
      if (arg >= first) {
        open.push_back(arg);
        std::push_heap(open.begin(), open.end());
      }
    }
  }
  std::reverse(nodes_.begin(), nodes_.end());
}

std::size_t GradientPath::place(NodeId n) const {
  const std::uint32_t found =
      table_.find(hash_of(n), [&](std::uint32_t i) { return nodes_[i] == n; });
  return found == util::IndexTable::kNone ? kNone : found;
}

/// Does a gradient go on from `n`?
bool GradientPath::follows(NodeId n) const {
  const std::span<const NodeId> args = graph_.args(n);
  return !graph_[n].record().stops_gradient &&
         std::any_of(args.begin(), args.end(), [this](NodeId arg) { return has(arg); });
}

bool GradientPath::goes_through(NodeId n) const {
  return graph_[n].output == 0 && has(n) && follows(n);
}

}  // namespace dynet::api
