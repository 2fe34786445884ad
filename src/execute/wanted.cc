#include "execute/wanted.h"

#include <algorithm>
#include <span>

namespace dynet::execute {

/// Notes the node that computes `n`, unless `n` has a value. Another result of that node may have
/// one that an inference scope kept.
[[gnu::always_inline]] inline void Wanted::want(const graph::Node* nodes,
                                                const Values::Place* places, NodeId n) {
  if (places[n].data != nullptr) {
    return;
  }
  open_.insert(n - nodes[n].output);
}

/// Whether `n`, which has no value, is computed of values that are there: then nothing has to be
/// looked for. A program that asks at each step has such nodes.
bool Wanted::is_next(const graph::Graph& graph, const Values& values, NodeId n) {
  const graph::Node& node = graph[n];
  const std::span<const NodeId> args = node.arguments();
  return node.output == 0 && node.record().reads_storage != ext::Storage::kWhole &&
         std::all_of(args.begin(), args.end(), [&](NodeId a) { return values.has(a); });
}

void Wanted::collect(const graph::Graph& graph, const Values& values,
                     std::span<const NodeId> asked) {
  if (asked.size() == 1 && is_next(graph, values, asked[0])) {
    parameters_.clear();
    nodes_.assign(1, asked[0]);
    ++visits_;
    return;
  }
  begin(graph);
  for (const NodeId n : asked) {
    want(&graph[0], values.places(), n);
  }
  drain(graph, values);
}

void Wanted::collect_all(const graph::Graph& graph, const Values& values, NodeId first) {
  begin(graph);
  for (NodeId n = first; n < graph.size(); ++n) {
    want(&graph[0], values.places(), n);
  }
  drain(graph, values);
}

void Wanted::begin(const graph::Graph& graph) {
  nodes_.clear();
  parameters_.clear();
  if (!open_.empty()) {  // a request failed half-way
    open_.clear();
  }
  open_.grow(graph.size());
  seen_.begin(graph.parameter_lists().size());
}

void Wanted::drain(const graph::Graph& graph, const Values& values) {
  const graph::Node* const of = &graph[0];
  const Values::Place* const places = values.places();
  open_.take_all([&](NodeId n) {
    const graph::Node& node = of[n];
    if (node.record().reads_storage == ext::Storage::kWhole) {
      parameters_.push_back(n);
    } else {
      nodes_.push_back(n);
      graph.visit_unseen_arguments(node, seen_, [&](NodeId a) { want(of, places, a); });
    }
  });
  visits_ += nodes_.size() + parameters_.size();
  std::reverse(nodes_.begin(), nodes_.end());
}

}  // namespace dynet::execute
