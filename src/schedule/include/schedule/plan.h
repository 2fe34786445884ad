#pragma once

// Scheduling: from a Graph to a Plan.
//
// In:  a Graph and the nodes of it that must be computed now (nodes.h finds them).
// Out: a Plan, an ordered list of groups. The nodes of one group have equal keys and do not depend
// on
//      each other; every node asked for is in exactly one group, after what it needs.
//
// A group runs as one or more *segments*: within a segment every operand that must be one storage
// (a weight) is the same one, so a segment is one kernel call. Members of a group stand in the
// order of their segments, and within these in the order in which their operands lie in memory; the
// memory stage lays their results side by side in this order. Chains that run side by side thus
// read and write long runs.
//
// A node whose value is a sum of terms (affine_transform) may stand in two groups: the first
// computes the terms that do not wait for a recurrence, for all time steps at once, the second adds
// the rest. Such a node is done with its second group.
//
// Start reading at one_by_one.cc (complete in 15 lines, and the oracle that every other policy is
// tested against), then units.cc, frontier.cc, and segments.cc. Nothing here touches numbers or
// devices: a policy can be tested with shapes alone. Surprising: aliases (reshape) are scheduled
// like other nodes, since the backward pass needs their place in the order, but they run alone and
// compute nothing.

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace dynet::schedule {

using graph::NodeId;

/// One kernel call: members [begin, begin + count) of the plan.
struct Segment {
  std::uint32_t begin;
  std::uint32_t count;
  std::uint64_t shared;  ///< bit a: argument a is one storage for all members
};
/// Which terms of its members a group computes.
enum class Part : std::uint8_t {
  kWhole,
  kFirst,  ///< argument 0 and some terms: stores
  kRest    ///< the other terms: adds
};
inline constexpr std::uint64_t kAllArgs = ~std::uint64_t{0};
inline constexpr std::uint32_t kMaxMaskedArgs = 64;  ///< bits of Segment::shared and Group::args
/// Nodes that run together: segments [begin, begin + count), members [first, first + members).
struct Group {
  std::uint32_t begin;
  std::uint32_t count;
  std::uint32_t first;
  std::uint32_t members;
  Part part = Part::kWhole;
  std::uint64_t args = kAllArgs;  ///< bit a: argument a is read
};
/// Plain data. `clear` keeps the memory.
struct Plan {
  std::vector<NodeId> members;
  std::vector<Segment> segments;
  std::vector<Group> groups;
  /// No schedule of these steps has fewer groups; 0 where the policy does not know. For each kind
  /// of step the longest path counting only this kind, summed.
  std::uint32_t bound = 0;
  void clear() {
    members.clear();
    segments.clear();
    groups.clear();
    bound = 0;
  }
  /// "group 3: 4 x affine_transform, 1 segment: v12 v15 v18 v21", a line each.
  [[nodiscard]] std::string to_text(const graph::Graph& graph) const;
};

enum class Policy : std::uint8_t { kOneByOne, kFrontier };

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

/// Buffers that policies reuse, so that scheduling allocates nothing in steady state.
struct Scratch {
  std::vector<std::uint32_t> local;        ///< node -> index among the wanted, + 1; 0 between plans
  std::vector<std::uint32_t> type_of_key;  ///< key -> type + 1; 0 between plans
  std::vector<std::uint32_t> type;         ///< wanted index -> type
  std::vector<std::uint32_t> unit;         ///< wanted index -> the unit that ends it
  std::vector<std::uint32_t> waits;        ///< wanted indices of arguments, node after node
  std::vector<std::uint32_t> first_wait;   ///< wanted index -> where its waits begin; and the end
  std::vector<std::uint32_t> depth;        ///< wanted index -> nodes above on the longest path
  std::vector<Type> types;
  std::vector<Unit> units;
  std::vector<Edge> edges;
  std::vector<std::uint16_t> levels;  ///< a row a lane, an entry a wanted node
  std::uint32_t lanes = 0;
  std::vector<std::uint32_t> level_counts;
  std::vector<std::uint32_t> candidates;  ///< types that have ready units
  std::vector<std::uint32_t> running;     ///< units of the group

  // of add_group
  std::vector<NodeId> group;               ///< nodes of `running`
  std::vector<std::uint32_t> classes;      ///< of the group's members, by their shared operands
  std::vector<std::uint32_t> class_heads;  ///< first member of each class
  std::vector<std::uint32_t> class_table;
  std::vector<std::uint32_t> places;  ///< while members are ordered, one a key
  std::vector<NodeId> sorted;
  std::vector<std::uint32_t> sorted_running;
};

/// `wanted`: ascending ids of nodes to compute, none of them a parameter or a projection. Whatever
/// else they depend on has been computed. Fills `plan`.
void make_plan(const graph::Graph& graph, const std::vector<NodeId>& wanted, Policy policy,
               Scratch& scratch, Plan& plan);

/// Why two nodes would not run together, or "equal keys".
[[nodiscard]] std::string explain(const graph::Graph& graph, NodeId a, NodeId b);

// The parts, for make_plan and for tests.
void plan_one_by_one(const graph::Graph& graph, const std::vector<NodeId>& wanted, Scratch& scratch,
                     Plan& plan);
void plan_by_frontier(const graph::Graph& graph, const std::vector<NodeId>& wanted,
                      Scratch& scratch, Plan& plan);
/// Fills types, units, edges and levels. False, and only `types` is filled, where all differ.
bool make_units(const graph::Graph& graph, const std::vector<NodeId>& wanted, Scratch& scratch);
/// Counts the levels anew, among the units that have not run.
void recount_levels(const std::vector<NodeId>& wanted, Scratch& scratch);
/// Appends a group of `scratch.group`, cut into segments; orders it, and `scratch.running` with it,
/// by segment.
void add_group(const graph::Graph& graph, Scratch& scratch, Plan& plan, Part part = Part::kWhole,
               std::uint64_t args = kAllArgs);

}  // namespace dynet::schedule
