#pragma once

// Stretches of nodes that a program repeats, such as the steps of a recurrence in plain operations.
// As a cell (dynet/cell.h) a stretch is one node, or two. For people: nothing is planned by it.

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace dynet::schedule {

using graph::NodeId;

struct Repeat {
  NodeId first;         ///< of one of the stretches
  NodeId last;          ///< of the same one
  std::uint32_t nodes;  ///< of a stretch, without parameters
  std::uint32_t times;
};

/// The stretches in `wanted`, ascending ids of nodes, that a cell could hold: at least kFewestNodes
/// nodes, of which others read four at most, and at least kFewestTimes of them. First the ones
/// with most nodes in all. A stretch begins at a node that follows different nodes, and ends at
/// a node that different ones follow, as the basic blocks of compilers do, or at the end of a
/// recurrence.
[[nodiscard]] std::vector<Repeat> find_repeats(const graph::Graph& graph,
                                               const std::vector<NodeId>& wanted);
inline constexpr std::uint32_t kFewestNodes = 4;
inline constexpr std::uint32_t kFewestTimes = 8;

/// "repeats: 13 nodes, 24 times: from affine_transform at train.cc:20 to cmult at train.cc:29; as a
/// cell they would be one node", a line for each of the first few stretches.
[[nodiscard]] std::string repeats_text(const graph::Graph& graph,
                                       const std::vector<NodeId>& wanted);

}  // namespace dynet::schedule
