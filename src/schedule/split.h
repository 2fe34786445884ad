#pragma once

// Which terms leave a sum of terms, to be computed before the others for many nodes at once.
//
// A term leaves its node if it does not wait for the recurrence that the node stands on. A
// recurrence belongs to the program, not to one node: a left child that happens to be a leaf waits
// for nothing, but stands where other nodes have children, and splitting the node would only cost
// a call. So an argument counts as recurrent if in any node of the same *site* it waits for another
// node of the site.
//
// The input of a second layer waits for a node of the same key in the first. Mostly this term
// stays, so that both layers run side by side in the fewest groups. It leaves if large weights
// would be read for a few columns at each step, which takes longer than a group does: all steps
// have one product when the first layer is done. The state, which makes results of complete sums,
// is read with the terms that stay.

#include <cstdint>
#include <vector>

#include "waits.h"

namespace dynet::schedule {

/// The nodes of one key with the same weights, such as the forget gates of one layer.
struct Site {
  NodeId example;
  std::uint32_t next;         ///< site of the same type, in a ring
  std::uint64_t recurrent;    ///< bit a: argument a of some node waits for another node of the site
  std::uint32_t columns = 0;  ///< examples of the nodes that wait for no other one of the site
};

/// Use: `add` all wanted nodes in their order, then ask for the first terms of each. Reused. Not
/// thread-safe.
class Split {
 public:
  void begin(std::size_t nodes) {
    site_.resize(nodes);
    sites_.clear();
    sums_ = 0;
  }
  /// Finds the site of wanted node `i` of type number `t`, and the arguments of it that wait for a
  /// node of the site. `above`: all sites above it. Returns the site's bit; 0 for a node that is
  /// no sum of terms.
  std::uint64_t add(const graph::Graph& graph, const Waits& waits, NodeId id, std::uint32_t i,
                    std::uint32_t t, Type& type, std::uint64_t above) {
    site_[i] = kNone;
    return may_split(graph[id]) ? visit_site(graph, waits, id, i, t, type, above) : 0;
  }
  /// The arguments of wanted node `i` that leave its recurrence; 0 if the node is not to be split.
  [[nodiscard]] std::uint64_t first_terms(const graph::Graph& graph, const Waits& waits,
                                          const graph::Node& node, std::uint32_t i,
                                          std::uint32_t t) const {
    const bool recurs = site_[i] != kNone && sites_[site_[i]].recurrent != 0;
    return recurs ? terms_that_leave(graph, waits, node, i, t) : 0;
  }
  /// How many nodes may be split.
  [[nodiscard]] std::uint32_t sums() const { return sums_; }

 private:
  static bool may_split(const graph::Node& node);
  std::uint64_t visit_site(const graph::Graph& graph, const Waits& waits, NodeId id,
                           std::uint32_t i, std::uint32_t t, Type& type, std::uint64_t above);
  std::uint32_t find_site(const graph::Graph& graph, const Waits& waits, NodeId id, std::uint32_t t,
                          Type& type);
  [[nodiscard]] std::uint64_t terms_that_leave(const graph::Graph& graph, const Waits& waits,
                                               const graph::Node& node, std::uint32_t i,
                                               std::uint32_t t) const;

  std::vector<std::uint32_t> site_;  ///< by wanted node; kNone: it is no sum
  std::vector<Site> sites_;
  std::uint32_t sums_ = 0;
};

}  // namespace dynet::schedule
