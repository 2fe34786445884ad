#pragma once

// How calls see nodes: as examples, or as columns if the operation is cut (columns.h). Example: the
// result {3,7}x2 of a cut node is 14 examples of {3}.

#include <cstdint>

#include "graph/graph.h"

namespace dynet::graph {

/// Whether calls of nodes with this signature see columns of argument `arg`.
[[nodiscard]] inline bool is_cut(const Signature& signature, std::uint32_t arg) {
  return signature.cut != 0 && ((signature.cut >> arg) & 1) != 0;  // it has at most 64 arguments
}

/// The results of nodes of one key. Loops over many nodes treat plain nodes apart, which need none
/// of this. Refers to the graph.
class Seen {
 public:
  Seen(const Graph& graph, NodeId first)
      : graph_(graph), by_columns_(graph[first].signature->cut != 0) {}

  /// The shape of one example, or of one column.
  [[nodiscard]] const Dim& dim(NodeId n) const {
    return by_columns_ ? graph_.interner().column(graph_[n].shape()) : graph_.dim(n);
  }
  [[nodiscard]] std::int64_t bytes(NodeId n) const {
    const std::int64_t bytes = graph_.example_bytes(n);
    return by_columns_ ? bytes / columns(n) : bytes;  // divisions are slow
  }
  /// The number of examples, or of columns.
  [[nodiscard]] std::int64_t examples(NodeId n) const { return graph_.examples(n) * columns(n); }

 private:
  [[nodiscard]] std::int64_t columns(NodeId n) const {
    return by_columns_ ? graph_.interner().columns(graph_[n].shape()) : 1;
  }
  const Graph& graph_;
  bool by_columns_;
};

}  // namespace dynet::graph
