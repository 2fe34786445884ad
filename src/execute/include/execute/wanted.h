#pragma once

#include <span>
#include <vector>

#include "execute/id_set.h"
#include "execute/values.h"
#include "graph/graph.h"
#include "util/stamped.h"

namespace dynet::execute {

/// Finds what a request has to compute, by going back over the arguments from the nodes asked for.
/// It visits these nodes and their arguments and no others, so a request that needs little takes
/// little in a large graph. Not thread-safe.
class Wanted {
 public:
  /// What the nodes `asked` need and do not have.
  void collect(const graph::Graph& graph, const Values& values, std::span<const NodeId> asked);
  /// What all nodes from `first` on need and do not have.
  void collect_all(const graph::Graph& graph, const Values& values, NodeId first);
  /// Nodes to compute, ascending; none of them a parameter or a projection.
  [[nodiscard]] const std::vector<NodeId>& nodes() const { return nodes_; }
  /// Parameters whose value is wanted.
  [[nodiscard]] const std::vector<NodeId>& parameters() const { return parameters_; }
  /// How many nodes were looked at since this object was made, for tests.
  [[nodiscard]] std::uint64_t visits() const { return visits_; }

 private:
  [[nodiscard]] static bool is_next(const graph::Graph& graph, const Values& values, NodeId n);
  void begin(const graph::Graph& graph);
  void want(const graph::Node* nodes, const Values::Place* places, NodeId n);
  void drain(const graph::Graph& graph, const Values& values);

  IdSet open_;                ///< found, and their arguments are yet to be looked at
  util::Stamped<bool> seen_;  ///< lists of parameters
  std::vector<NodeId> nodes_;
  std::vector<NodeId> parameters_;
  std::uint64_t visits_ = 0;
};

}  // namespace dynet::execute
