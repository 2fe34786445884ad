#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dynet::graph {

using NodeId = std::uint32_t;

/// The parameters among the arguments of nodes, as lists that nodes share. The steps of a layer
/// have a dozen parameters each, and all of them the same: who walks over nodes looks at a list
/// once, and at each node only at the arguments that are not on it. Two nodes with one list have
/// the same parameters in the same places among their arguments; two nodes with different lists may
/// have them, too, as a parameter may have several nodes.
///
/// Invariant: lists are in the order in which they were made, and are removed from the end. Not
/// thread-safe.
class ParameterLists {
 public:
  /// Index of a list.
  using Id = std::uint32_t;
  static constexpr Id kNone = ~Id{0};
  static constexpr NodeId kNoNode = ~NodeId{0};

  /// The list of those arguments that `places` has a bit for (bit a: argument a), the first one
  /// among them. kNone where so many lists begin with it that the search is not worth it. Where
  /// this throws, nothing has changed.
  Id find(const NodeId* args, std::uint64_t places);
  [[nodiscard]] std::span<const NodeId> operator[](Id id) const {
    const List& list = lists_[id];
    return {nodes_.data() + list.begin, list.end - list.begin};
  }
  /// The list made last of those that begin with node `first`, and the one made before a list;
  /// kNone where there is none. No more begin with one node than `find` compares.
  [[nodiscard]] Id newest(NodeId first) const {
    return first < newest_.size() ? newest_[first] : kNone;
  }
  [[nodiscard]] Id before(Id list) const { return lists_[list].next; }
  /// The node that was named for a list; kNoNode where none was. It may have been removed since.
  [[nodiscard]] NodeId example(Id list) const { return lists_[list].example; }
  /// Names node `n`, which has the list.
  void set_example(Id list, NodeId n) { lists_[list].example = n; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(lists_.size()); }
  /// Leaves the first `size` lists.
  void shrink(std::uint32_t size);

 private:
  struct List {
    std::uint64_t places;
    std::uint32_t begin, end;  ///< in nodes_
    Id next;                   ///< the one made before with the same first node
    NodeId example = kNoNode;
  };
  [[nodiscard]] bool is(const List& list, const NodeId* args, std::uint64_t places) const;

  std::vector<List> lists_;
  std::vector<NodeId> nodes_;
  std::vector<Id> newest_;  ///< by node: the list made last of those that begin with it
};

}  // namespace dynet::graph
