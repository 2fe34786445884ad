#pragma once

// How calls see nodes: as examples, or as columns if the operation is cut (columns.h). Example: the
// result {3,7}x2 of a cut node is 14 examples of {3}.

#include <cstdint>

#include "graph/graph.h"

namespace dynet::graph {

/// The results, or one argument, of nodes of one key. For loops over many nodes. Refers to the
/// graph.
class Seen {
 public:
  /// The results of nodes with the key of `first`.
  Seen(const Graph& graph, NodeId first)
      : graph_(&graph), by_columns_(graph[first].signature->cut != 0) {}
  /// Argument `arg` of nodes with the key of `first`.
  Seen(const Graph& graph, NodeId first, std::uint32_t arg) : graph_(&graph) {
    const std::uint64_t cut = graph[first].signature->cut;
    by_columns_ = cut != 0 && ((cut >> arg) & 1) != 0;  // a cut node has no more than 64 arguments
  }

  /// The shape of one example, or of one column.
  [[nodiscard]] const Dim& dim(NodeId n) const {
    return by_columns_ ? graph_->interner().column((*graph_)[n].shape()) : graph_->dim(n);
  }
  [[nodiscard]] std::int64_t size(NodeId n) const {
    return by_columns_ ? graph_->example_size(n) / columns(n) : graph_->example_size(n);
  }
  [[nodiscard]] std::int64_t bytes(NodeId n) const {
    return by_columns_ ? graph_->example_bytes(n) / columns(n) : graph_->example_bytes(n);
  }
  /// The number of examples, or of columns.
  [[nodiscard]] std::int64_t examples(NodeId n) const {
    const std::int64_t examples = (*graph_)[n].examples;
    return by_columns_ ? examples * columns(n) : examples;
  }

 private:
  [[nodiscard]] std::int64_t columns(NodeId n) const {
    return graph_->interner().columns((*graph_)[n].shape());
  }
  const Graph* graph_;
  bool by_columns_;
};

}  // namespace dynet::graph
