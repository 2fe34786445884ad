#pragma once

// Scheduling: from a Graph to a Plan.
//
// In:  a Graph and the nodes of it that must be computed now (the executor finds them).
// Out: a Plan, an ordered list of groups. The nodes of one group have equal keys and do not depend
//      on each other; every node asked for is in exactly one group, after what it needs.
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
// This header holds the data and nothing else; policy.h says who fills it. Start reading at
// one_by_one.cc (complete in a few lines, and the oracle that every other policy is tested
// against), then groups.h (from a list of nodes to a group), units.h and ready.h (which group
// runs next). Two parts change a finished plan: device_order.h the order of groups on several
// devices, shorten.h the size of groups in an inference scope. Nothing here touches numbers:
// a policy can be tested with shapes alone. Surprising: aliases (reshape) are scheduled like other
// nodes, since the backward pass needs their place in the order, but they run alone and compute
// nothing.

#include <cstdint>
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
using ext::Part;

inline constexpr std::uint64_t kAllArgs = ~std::uint64_t{0};
inline constexpr std::uint32_t kMaxMaskedArgs = 64;  ///< bits of Segment::shared and Group::args
/// The mask of the first `count` arguments, or of all that have a bit.
[[nodiscard]] constexpr std::uint64_t bits_below(std::uint32_t count) {
  return count >= kMaxMaskedArgs ? kAllArgs : (std::uint64_t{1} << count) - 1;
}
/// Whether bit `arg` of a mask of arguments is set; arguments that it has no bit for are read.
[[nodiscard]] inline bool is_read(std::uint64_t args, std::uint32_t arg) {
  return arg >= kMaxMaskedArgs || ((args >> arg) & 1) != 0;
}
/// Nodes that run together: segments [begin, begin + count), members [first, first + members).
struct Group {
  std::uint32_t begin;
  std::uint32_t count;
  std::uint32_t first;
  std::uint32_t members;
  Part part = Part::kWhole;
  std::uint64_t args = kAllArgs;  ///< bit a: argument a is read
  [[nodiscard]] bool reads(std::uint32_t arg) const { return is_read(args, arg); }
};
/// Plain data. `clear` keeps the memory.
struct Plan {
  std::vector<NodeId> members;
  std::vector<Segment> segments;
  std::vector<Group> groups;
  /// No plan of these units has fewer groups; 0 if the policy does not know a bound. The sum over
  /// all types of the longest path, counted in units of the type.
  std::uint32_t bound = 0;
  void clear() {
    members.clear();
    segments.clear();
    groups.clear();
    bound = 0;
  }
};

}  // namespace dynet::schedule
