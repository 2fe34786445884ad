#include "execute/wanted.h"

#include <algorithm>

namespace dynet::execute {

void Wanted::collect(const graph::Graph& graph, const Values& values, NodeId last) {
  begin(graph);
  if (!values.has(last)) {
    open_.insert(last);
  }
  drain(graph, values);
}

void Wanted::collect_all(const graph::Graph& graph, const Values& values, NodeId first) {
  begin(graph);
  for (NodeId n = first; n < graph.size(); ++n) {
    if (!values.has(n)) {
      open_.insert(n);
    }
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
  const auto want = [places, this](NodeId a) {
    if (places[a].data == nullptr) {
      open_.insert(a);
    }
  };
  open_.take_all([&](NodeId n) {
    const graph::Node& node = of[n];
    if (node.output != 0) {
      want(n - node.output);
    } else if (node.record().reads_storage == ext::Storage::kWhole) {
      parameters_.push_back(n);
    } else {
      nodes_.push_back(n);
      graph.visit_unseen_arguments(node, seen_, want);
    }
  });
  visits_ += nodes_.size() + parameters_.size();
  std::reverse(nodes_.begin(), nodes_.end());
}

}  // namespace dynet::execute
