#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "execute/context.h"
#include "execute/gradients.h"
#include "execute/history.h"
#include "execute/id_set.h"
#include "execute/values.h"
#include "util/stamped.h"

namespace dynet::execute {

/// What a backward pass visits: the nodes that its root depends on, and the groups that computed
/// those of them which depend on something trained. Takes as long as they are many, however large
/// the graph is. Not thread-safe.
class Path {
 public:
  Path(const Context& context, const Values& values, const History& history)
      : context_(context), values_(values), history_(history) {}

  /// Finds the path and notes its nodes in `gradients`, where a pass has begun. `full`: every node
  /// counts as trained. `shares`: nodes of one parameter share a gradient.
  void find(NodeId root, bool full, bool shares, Gradients& gradients);
  /// Calls `visit` with the groups to walk, last one first; once after `find`.
  template <class Visit>
  void walk_groups(Visit visit) {
    groups_.take_all(visit);
  }
  /// The nodes that the root of the last path depends on, itself first, descending; what lies
  /// before a node that stops gradients is left out, and so are projections.
  [[nodiscard]] std::span<const NodeId> found() const { return {found_.data(), found_count_}; }
  /// The first node of each trained parameter on the path.
  [[nodiscard]] std::span<const NodeId> parameters() const { return parameters_; }
  /// Nodes on the path that look up rows of trained tables; ascending.
  [[nodiscard]] std::span<const NodeId> lookups() const { return lookups_; }
  /// How many nodes were looked at since this object was made, for tests.
  [[nodiscard]] std::uint64_t visits() const { return visits_; }

 private:
  std::span<const NodeId> collect(NodeId root);
  void refuse_kept(NodeId n) const;
  bool note_leaf(NodeId n, bool full, bool shares, Gradients& gradients);

  const Context& context_;
  const Values& values_;
  const History& history_;
  IdSet open_;
  util::Stamped<bool> seen_;  ///< lists of parameters
  IdSet groups_;
  std::vector<NodeId> found_;  ///< begins with the nodes that were collected last
  std::size_t found_count_ = 0;
  std::vector<NodeId> parameters_;
  std::vector<NodeId> lookups_;
  std::uint64_t visits_ = 0;
};

/// Whether the gradient of a parameter's or lookup's node goes to its storage.
[[nodiscard]] bool is_trained(const graph::Graph& graph, NodeId n);

}  // namespace dynet::execute
