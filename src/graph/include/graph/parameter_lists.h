#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dynet::graph {

using NodeId = std::uint32_t;

/// The parameters among the arguments of nodes, as lists that nodes share. The steps of a layer
/// have the same dozen parameters: a loop over nodes visits each list once, and at each node only
/// the arguments that are not on the list. Two nodes with one list have the same parameters in the
/// same places. So may two nodes with different lists, because a parameter may have several nodes.
///
/// Invariant: lists are in the order in which they were made, and are removed from the end. Not
/// thread-safe.
class ParameterLists {
 public:
  /// Index of a list.
  using Id = std::uint32_t;
  static constexpr Id kNone = ~Id{0};
  static constexpr NodeId kNoNode = ~NodeId{0};

  /// The list of the arguments with a bit in `places` (bit a: argument a), the first argument among
  /// them. kNone if too many lists begin with the first argument for a search to pay. Changes
  /// nothing if an allocation fails.
  Id find(const NodeId* args, std::uint64_t places);
  [[nodiscard]] std::span<const NodeId> operator[](Id id) const {
    const List& list = lists_[id];
    return {nodes_.data() + list.begin, list.end - list.begin};
  }
  /// The last list that begins with node `first`, and the one made before a list; kNone if there is
  /// none. No node begins more lists than `find` compares.
  [[nodiscard]] Id newest(NodeId first) const {
    return first < newest_.size() ? newest_[first] : kNone;
  }
  [[nodiscard]] Id before(Id list) const { return lists_[list].next; }
  /// The example of a list; kNoNode if none was named. The node may have been removed since.
  [[nodiscard]] NodeId example(Id list) const { return lists_[list].example; }
  /// Makes node `n`, which has the list, the example.
  void set_example(Id list, NodeId n) { lists_[list].example = n; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(lists_.size()); }
  /// Keeps the first `size` lists.
  void shrink(std::uint32_t size);

 private:
  struct List {
    std::uint64_t places;
    std::uint32_t begin, end;  ///< in nodes_
    Id next;                   ///< the previous list with the same first node
    NodeId example = kNoNode;
  };
  [[nodiscard]] bool is(const List& list, const NodeId* args, std::uint64_t places) const;

  std::vector<List> lists_;
  std::vector<NodeId> nodes_;
  std::vector<Id> newest_;  ///< by node: the last list that begins with the node
};

}  // namespace dynet::graph
