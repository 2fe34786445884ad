#pragma once

// What the frontier policy schedules: units, the types they belong to, and who waits for whom.
//
// A unit is a node, or one part of a node that is a sum of terms. What a unit
// stands for is known here and where a group is made; the choice reads types, levels and users.

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/plan.h"

namespace dynet::schedule {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// Units that may share groups: one key, or some terms of one key, or a node that runs alone.
struct Type {
  graph::KeyId key = 0;
  std::uint32_t unrun = 0;
  std::uint32_t ready = 0;  ///< units in the list from ready_head to ready_tail
  std::uint32_t ready_head = kNone;
  std::uint32_t ready_tail = kNone;
  std::uint32_t place = 0;           ///< among the policy's candidates
  std::uint32_t lane = kNone;        ///< in Units::levels_; none: all its units are at level 0
  std::uint32_t counts = 0;          ///< first of its entries in level_counts
  std::uint32_t level = 0;           ///< the lowest with units that have not run
  std::uint32_t levels = 1;          ///< how many there are
  std::uint32_t first_part = kNone;  ///< the type of its nodes' first terms
  std::uint32_t site = kNone;        ///< the one that was met last
  std::uint32_t sites = 0;           ///< how many it has
  Part part = Part::kWhole;
  bool repeats = false;  ///< some unit of it waits for another one
  std::uint64_t args = kAllArgs;
};
struct Unit {
  NodeId node;
  std::uint32_t type;
  std::uint32_t waiting;    ///< for how many edges
  std::uint32_t users;      ///< first of its edges
  std::uint32_t users_end;  ///< beyond the last of them
  std::uint32_t next;       ///< in the list of ready units
  std::uint32_t level;      ///< in its type; of first terms that of the other terms
};

/// The nodes of one key with the same weights, such as the forget gates of one layer.
struct Site {
  NodeId example;
  std::uint32_t next;         ///< site of the same type, in a ring
  std::uint64_t recurrent;    ///< bit a: argument a of some node waits for another node of the site
  std::uint32_t columns = 0;  ///< examples of the nodes that wait for no other one of the site
};

/// The units of one request. Reused, so that scheduling allocates nothing in the steady state.
class Units {
 public:
  /// False, and nothing is to be used, where all nodes are of different types.
  bool make(const graph::Graph& graph, const std::vector<NodeId>& wanted);

  std::vector<Type> types;
  std::vector<Unit> units;  ///< the first `unit_count`
  std::uint32_t unit_count = 0;
  std::vector<std::uint32_t> edges;         ///< units that wait, by the unit waited for
  std::vector<std::uint32_t> level_counts;  ///< units that have not run, by type and level

 private:
  /// A node and all nodes above it, that is, nodes that it waits for, directly or through others: a
  /// bit for each type and for each site. Numbers beyond the last bit share it.
  struct Above {
    std::uint64_t types;
    std::uint64_t sites;
  };

  bool find_types(const graph::Graph& graph, const std::vector<NodeId>& wanted);
  void forget(const graph::Graph& graph, const std::vector<NodeId>& wanted);
  std::uint32_t type_of(const graph::Signature& signature);
  Above list_waits(const graph::Node& node, std::uint32_t i);
  std::uint64_t visit_site(const graph::Graph& graph, NodeId id, std::uint32_t i,
                           std::uint64_t above);
  std::uint32_t find_site(const graph::Graph& graph, NodeId id, std::uint32_t type);
  [[nodiscard]] bool is_same_site(const graph::Graph& graph, const graph::Node& x,
                                  const graph::Node& y, std::uint64_t own_key) const;
  void give_lanes();
  void make_units(const graph::Graph& graph, const std::vector<NodeId>& wanted);
  void merge_levels(std::uint32_t i);
  std::uint32_t count_level(Type& type, std::uint32_t i);
  [[nodiscard]] static bool reads_much(const graph::Graph& graph, const graph::Node& node,
                                       const Site& site, std::uint32_t term);
  std::uint64_t first_terms(const graph::Graph& graph, const graph::Node& node, std::uint32_t i);
  std::uint32_t first_part_type(std::uint32_t whole, std::uint64_t mask);
  std::uint32_t add_unit(NodeId node, std::uint32_t type, std::uint32_t level, std::uint32_t users);
  void add_edge(std::uint32_t from, std::uint32_t user);
  void add_parts(const graph::Node& node, NodeId id, std::uint32_t i, std::uint32_t first);
  [[nodiscard]] std::span<const std::uint32_t> waits_of(std::uint32_t i) const {
    return {waits_.data() + first_wait_[i], first_wait_[i + 1] - first_wait_[i]};
  }

  std::vector<std::uint32_t> local_;  ///< node -> index among the wanted, + 1; 0 between plans
  std::vector<std::uint32_t> type_of_key_;  ///< key -> type + 1; 0 between plans
  // by wanted index
  std::vector<std::uint32_t> type_;
  std::vector<std::uint32_t> site_;        ///< of a sum that may be split, else kNone
  std::vector<std::uint32_t> unit_;        ///< that ends the node
  std::vector<std::uint32_t> users_;       ///< how many nodes read it
  std::vector<std::uint32_t> first_wait_;  ///< where its waits begin; and the end
  std::vector<Above> above_;
  std::vector<std::uint32_t> waits_;  ///< wanted indices of arguments, node after node
  std::vector<Site> sites_;
  /// Some levels at once: a vector register, with the operators of the compiler.
  using Lanes = std::uint16_t __attribute__((vector_size(16)));
  static constexpr std::uint32_t kLanesAtOnce = sizeof(Lanes) / sizeof(std::uint16_t);
  std::vector<Lanes> levels_;  ///< a row of `width_` for each wanted node
  std::size_t width_ = 0;
  std::uint32_t edge_count_ = 0;
  std::uint32_t sums_ = 0;  ///< wanted nodes that may be split
};

}  // namespace dynet::schedule
