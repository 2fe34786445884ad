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
// order of their segments; the memory stage lays their results side by side in this order.
//
// Start reading at one_by_one.cc (complete in 15 lines, and the oracle that every other policy is
// tested against), then agenda.cc, then segments.cc. Nothing here touches numbers or devices: a
// policy can be tested with shapes alone. Surprising: aliases (reshape) are scheduled like other
// nodes, since the backward pass needs their place in the order, but they run alone and compute
// nothing.

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
/// Nodes that run together: segments [begin, begin + count), members [first, first + members).
struct Group {
  std::uint32_t begin;
  std::uint32_t count;
  std::uint32_t first;
  std::uint32_t members;
};
/// Plain data. `clear` keeps the memory.
struct Plan {
  std::vector<NodeId> members;
  std::vector<Segment> segments;
  std::vector<Group> groups;
  void clear() {
    members.clear();
    segments.clear();
    groups.clear();
  }
  /// "group 3: 4 x affine_transform, 1 segment: v12 v15 v18 v21", a line each.
  [[nodiscard]] std::string to_text(const graph::Graph& graph) const;
};

enum class Policy : std::uint8_t { kOneByOne, kAgenda };

/// Buffers that policies reuse, so that scheduling allocates nothing in steady state.
struct Scratch {
  std::vector<std::uint32_t> local;    ///< node -> index among the wanted, + 1
  std::vector<std::uint32_t> waiting;  ///< wanted node -> arguments not run yet
  std::vector<std::uint32_t> depth;
  std::vector<std::uint32_t> users_begin;  ///< wanted node -> its users, in `users`
  std::vector<std::uint32_t> users;
  std::vector<std::uint32_t> type_of_key;  ///< key -> type + 1
  std::vector<std::uint32_t> type;         ///< wanted node -> type
  struct Type {
    std::uint64_t depth_sum = 0;
    std::uint32_t unrun = 0;
    std::uint32_t ready_head = 0;  ///< list of ready nodes through `next`, index + 1
    std::uint32_t ready = 0;
    graph::KeyId key = 0;
    bool alone = false;
  };
  std::vector<Type> types;
  std::vector<std::uint32_t> next;
  std::vector<NodeId> group;
  std::vector<std::uint64_t> identities;
  std::vector<std::uint32_t> order;  ///< types that have ready nodes
  std::vector<std::uint32_t> rank;   ///< of the members when a group is sorted into segments
  std::vector<NodeId> sorted;
  std::vector<std::uint64_t> sorted_identities;
};

/// `wanted`: ascending ids of nodes to compute, none of them a parameter or a projection. Whatever
/// else they depend on has been computed. Fills `plan`.
void make_plan(const graph::Graph& graph, const std::vector<NodeId>& wanted, Policy policy,
               Scratch& scratch, Plan& plan);

/// The least number of groups any schedule can have: for each key the longest path counting only
/// nodes of that key, summed.
[[nodiscard]] std::uint32_t lower_bound(const graph::Graph& graph,
                                        const std::vector<NodeId>& wanted);

/// Why two nodes would not run together, or "equal keys".
[[nodiscard]] std::string explain(const graph::Graph& graph, NodeId a, NodeId b);

// The parts, for make_plan and for tests.
void plan_one_by_one(const graph::Graph& graph, const std::vector<NodeId>& wanted, Scratch& scratch,
                     Plan& plan);
void plan_by_agenda(const graph::Graph& graph, const std::vector<NodeId>& wanted, Scratch& scratch,
                    Plan& plan);
/// Appends a group of `scratch.group`, cut into segments.
void add_group(const graph::Graph& graph, Scratch& scratch, Plan& plan);

}  // namespace dynet::schedule
