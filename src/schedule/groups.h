#pragma once

// From a list of nodes to a group of a plan: for policies.

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/plan.h"
#include "util/index_table.h"

namespace dynet::schedule {

/// Cuts groups into kernel calls by the storage of their weights. Holds buffers only.
class GroupMaker {
 public:
  /// Appends a group of `nodes` to the plan: the same key, of which the arguments in the mask
  /// `args` are read. Members with the same weights stand together, otherwise as in `nodes`.
  /// Returns the new order: the index in `nodes` of the member at each position, or nothing if the
  /// order is unchanged. Valid until the next call.
  std::span<const std::uint32_t> add(const graph::Graph& graph, std::span<const NodeId> nodes,
                                     Part part, std::uint64_t args, Plan& plan);

  /// A group for each node, in this order.
  void add_one_by_one(const graph::Graph& graph, std::span<const NodeId> nodes, Plan& plan);

 private:
  class Classes;
  bool order_by_class(const graph::Graph& graph, std::span<const NodeId> nodes, std::uint64_t must,
                      std::uint64_t weights);
  bool order_by_weights(const graph::Graph& graph, std::span<const NodeId> nodes,
                        std::uint64_t must, std::uint64_t args);

  std::vector<std::uint32_t> classes_;      ///< of the members, by their shared operands
  std::vector<std::uint32_t> class_heads_;  ///< first member of each class
  util::IndexTable class_table_;
  std::vector<std::uint32_t> places_;  ///< where each class ends
  std::vector<std::uint32_t> order_;
  std::vector<NodeId> sorted_;
};

}  // namespace dynet::schedule
