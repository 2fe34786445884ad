#pragma once

#include <cstddef>
#include <span>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"
#include "util/index_table.h"

namespace dynet::api {

/// The nodes between some expressions and a loss. A parameter stands for all nodes of that
/// parameter. The search goes back from the loss to the first of these expressions, so its time
/// depends on the nodes under the loss, not on the size of the graph. Not thread-safe.
class GradientPath {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  GradientPath(const graph::Graph& graph, graph::NodeId loss, const std::vector<graph::NodeId>& xs);
  /// `xs`, ascending, and the nodes from `first` on that depend on `xs`, not through older nodes.
  [[nodiscard]] static GradientPath from(const graph::Graph& graph, graph::NodeId first,
                                         const std::vector<graph::NodeId>& xs);

  /// Ascending.
  [[nodiscard]] std::span<const graph::NodeId> nodes() const { return nodes_; }
  /// The place of a node in `nodes`, or kNone.
  [[nodiscard]] std::size_t place(graph::NodeId n) const;
  [[nodiscard]] bool has(graph::NodeId n) const { return place(n) != kNone; }
  /// Is there something to compute for `n`, by the operation of which it is the first output?
  [[nodiscard]] bool goes_through(graph::NodeId n) const;

 private:
  explicit GradientPath(const graph::Graph& graph) : graph_(graph) {}
  void drop_others();
  void collect(graph::NodeId loss, graph::NodeId first);
  [[nodiscard]] bool follows(graph::NodeId n) const;

  const graph::Graph& graph_;
  std::unordered_set<std::uint64_t> starts_;  ///< identities of the expressions
  std::vector<graph::NodeId> nodes_;
  util::IndexTable table_;  ///< over `nodes_`
};

}  // namespace dynet::api
