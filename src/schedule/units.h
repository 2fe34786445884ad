#pragma once

// The frontier policy schedules units: nodes, or parts of nodes that are sums of terms. Two sweeps
// over the wanted nodes make them. The first finds each node's type, the nodes that it waits for
// (waits.h) and its site (split.h). The second counts levels (levels.h), splits sums, and connects
// the units. Only this file and the makers of groups know the node behind a unit; the choice reads
// types, levels and users.

#include <cstdint>
#include <vector>

#include "levels.h"
#include "split.h"
#include "waits.h"

namespace dynet::schedule {

struct Unit {
  NodeId node;
  std::uint32_t type;
  std::uint32_t waiting;    ///< for how many edges
  std::uint32_t users;      ///< first of its edges
  std::uint32_t users_end;  ///< beyond the last of them
  std::uint32_t next;       ///< in the list of ready units
  std::uint32_t level;      ///< in its type; of first terms the level of the other terms
};

/// The units of one request. Reused, so that scheduling allocates nothing in the steady state.
class Units {
 public:
  /// False, and nothing is to be used, if all nodes are of different types.
  bool make(const graph::Graph& graph, const std::vector<NodeId>& wanted);

  std::vector<Type> types;
  std::vector<Unit> units;  ///< the first `unit_count`
  std::uint32_t unit_count = 0;
  std::vector<std::uint32_t> edges;  ///< units that wait, by the unit waited for
  Levels levels;

 private:
  bool find_types(const graph::Graph& graph, const std::vector<NodeId>& wanted);
  std::uint32_t type_of(const graph::Signature& signature);
  void make_units(const graph::Graph& graph, const std::vector<NodeId>& wanted);
  std::uint32_t first_part_type(std::uint32_t whole, std::uint64_t mask);
  /// The new unit waits for nothing so far, and has room for its users.
  std::uint32_t add_unit(NodeId node, std::uint32_t type, std::uint32_t level,
                         std::uint32_t users) {
    units[unit_count] = {node, type, 0, edge_count_, edge_count_, kNone, level};
    edge_count_ += users;
    return unit_count++;
  }
  /// Users stand in the order in which they were added.
  void add_edge(std::uint32_t from, std::uint32_t user) {
    edges[units[from].users_end++] = user;
    ++units[user].waiting;
  }
  void add_parts(const graph::Node& node, NodeId id, std::uint32_t i, std::uint32_t first);

  std::vector<std::uint32_t> type_of_key_;  ///< key -> type + 1; 0 between plans
  std::vector<std::uint32_t> type_;         ///< by wanted node
  std::vector<std::uint32_t> unit_;         ///< by wanted node: the unit that ends it
  Waits waits_;
  Split split_;
  std::uint32_t edge_count_ = 0;
};

}  // namespace dynet::schedule
