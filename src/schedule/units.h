#pragma once

// What the frontier policy schedules: units of nodes, the types they belong to, who waits for whom.

#include <cstdint>
#include <vector>

#include "schedule/plan.h"

namespace dynet::schedule {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// Units that may share groups: one key, or some terms of one key, or a node that runs alone.
struct Type {
  std::uint64_t depth_sum = 0;  ///< of the units that have not run
  std::uint64_t above = 0;      ///< a bit a type: those that its units wait for, and these in turn
  std::uint32_t unrun = 0;
  std::uint32_t ready = 0;  ///< units in the list from ready_head to ready_tail
  std::uint32_t ready_head = kNone;
  std::uint32_t ready_tail = kNone;
  std::uint32_t lane = kNone;        ///< in `levels`; none: levels are not counted
  std::uint32_t counts = 0;          ///< first of its entries in level_counts
  std::uint32_t level = 0;           ///< the lowest with units that have not run
  std::uint32_t levels = 1;          ///< how many there are
  std::uint32_t first_part = kNone;  ///< the type of its nodes' first terms
  graph::KeyId key = 0;
  Part part = Part::kWhole;
  std::uint64_t args = kAllArgs;
  bool is_sum = false;  ///< of terms: its nodes may be split
};
/// What is scheduled: a node, or one part of it.
struct Unit {
  NodeId node;
  std::uint32_t type;
  std::uint32_t waiting;  ///< arguments that have not run; kNone: has run itself
  std::uint32_t depth;
  std::uint32_t users;      ///< first of its edges
  std::uint32_t last_user;  ///< last of them
  std::uint32_t next;       ///< in the list of ready units
  std::uint32_t level;      ///< of its type, of first terms that of the other terms
};
struct Edge {
  std::uint32_t user;
  std::uint32_t next;
};

/// The units of one request. Reused, so that scheduling allocates nothing in the steady state.
struct Units {
  std::vector<Type> types;
  std::vector<Unit> units;
  std::vector<Edge> edges;
  std::vector<std::uint32_t> level_counts;

  // while they are made, and levels counted
  std::vector<std::uint32_t> local;        ///< node -> index among the wanted, + 1; 0 between plans
  std::vector<std::uint32_t> type_of_key;  ///< key -> type + 1; 0 between plans
  std::vector<std::uint32_t> type;         ///< wanted index -> type
  std::vector<std::uint32_t> unit;         ///< wanted index -> the unit that ends it
  std::vector<std::uint32_t> waits;        ///< wanted indices of arguments, node after node
  std::vector<std::uint32_t> first_wait;   ///< wanted index -> where its waits begin; and the end
  std::vector<std::uint32_t> depth;        ///< wanted index -> nodes above on the longest path
  std::vector<std::uint16_t> levels;       ///< a row a lane, an entry a wanted node
  std::uint32_t lanes = 0;
};

/// Fills types, units, edges and levels. False, and only `types` is filled, where all differ.
bool make_units(const graph::Graph& graph, const std::vector<NodeId>& wanted, Units& units);
/// Counts the levels anew, among the units that have not run.
void recount_levels(const std::vector<NodeId>& wanted, Units& units);
/// Makes the buffers ready for the next plan.
void forget_units(const graph::Graph& graph, const std::vector<NodeId>& wanted, Units& units);

}  // namespace dynet::schedule
