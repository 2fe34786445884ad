#pragma once

// The nodes that may share groups, and the nodes they wait for. Read by split.h, levels.h and
// units.h.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/plan.h"

namespace dynet::schedule {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// Units that may share groups: one key, or some terms of one key, or a node that runs by itself.
struct Type {
  graph::KeyId key = 0;
  std::uint32_t unrun = 0;
  std::uint32_t ready = 0;  ///< units in the list from ready_head to ready_tail
  std::uint32_t ready_head = kNone;
  std::uint32_t ready_tail = kNone;
  std::uint32_t place = 0;           ///< among the policy's candidates
  std::uint32_t counter = kNone;     ///< in Levels; none: all its units are at level 0
  std::uint32_t counts = 0;          ///< first of its entries in Levels::counts
  std::uint32_t level = 0;           ///< the lowest with units that have not run
  std::uint32_t levels = 1;          ///< how many there are
  std::uint32_t first_part = kNone;  ///< the type of its nodes' first terms
  std::uint32_t site = kNone;        ///< the one that was met last
  std::uint32_t sites = 0;           ///< how many it has
  Part part = Part::kWhole;
  bool repeats = false;  ///< some unit of it waits for another one
  std::uint64_t args = kAllArgs;
};

/// A node and all nodes above it, that is, nodes that it waits for, directly or through others: a
/// bit for each type and for each site (split.h). Numbers beyond the last bit share it.
struct Above {
  std::uint64_t types = 0;
  std::uint64_t sites = 0;

  [[nodiscard]] static std::uint64_t bit_of(std::uint32_t number) {
    return std::uint64_t{1} << std::min(number, std::uint32_t{63});
  }
};

/// The wanted nodes of a request, by their number among them, and the wanted nodes that each of
/// them waits for. Reused. Not thread-safe.
class Waits {
 public:
  /// Begins a request for so many nodes, which are to be added in their order.
  void begin(const graph::Graph& graph, std::size_t nodes) {
    number_.resize(std::max<std::size_t>(number_.size(), graph.size()), 0);
    above_.resize(nodes);
    users_.assign(nodes, 0);
    first_.resize(nodes + 1);
    first_[0] = 0;
  }
  /// Notes the wanted nodes that node `i` waits for. Returns all nodes above it.
  Above add(const graph::Node& node, std::uint32_t i);
  /// Nodes that read a result of node `i`, which is `id`, wait for it from now on. `above` has
  /// its own bits, too.
  void finish(const graph::Node& node, NodeId id, std::uint32_t i, const Above& above) {
    above_[i] = above;
    for (std::uint32_t k = 0; k < node.record().outputs; ++k) {
      number_[id + k] = i + 1;
    }
  }
  /// To be called at the end of each request.
  void forget(const graph::Graph& graph, const std::vector<NodeId>& wanted) {
    for (const NodeId n : wanted) {
      for (std::uint32_t k = 0; k < graph[n].record().outputs; ++k) {
        number_[n + k] = 0;
      }
    }
  }

  /// The number of a wanted node, plus one; 0 for other nodes, and until the node is finished.
  [[nodiscard]] std::uint32_t number(NodeId n) const { return number_[n]; }
  /// A wanted node and all nodes above it.
  [[nodiscard]] const Above& above(std::uint32_t i) const { return above_[i]; }
  /// How many nodes read node `i`.
  [[nodiscard]] std::uint32_t users(std::uint32_t i) const { return users_[i]; }
  /// The nodes that node `i` waits for, one for each argument.
  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t i) const {
    return {waits_.data() + first_[i], first_[i + 1] - first_[i]};
  }
  /// How many waits the first `nodes` nodes have.
  [[nodiscard]] std::uint32_t count(std::size_t nodes) const { return first_[nodes]; }

 private:
  std::vector<std::uint32_t> number_;  ///< by node
  std::vector<std::uint32_t> users_;   ///< by wanted node, as the next two
  std::vector<std::uint32_t> first_;   ///< where its waits begin; and the end
  std::vector<Above> above_;
  std::vector<std::uint32_t> waits_;
};

inline Above Waits::add(const graph::Node& node, std::uint32_t i) {
  std::uint32_t count = first_[i];
  if (waits_.size() < count + node.arity) {
    waits_.resize(2 * (count + std::size_t{node.arity}));
  }
  Above above;
  // Pointers of their own: the numbers that are written may alias everything.
  const std::uint32_t* const number = number_.data();
  const Above* const of = above_.data();
  std::uint32_t* const waits = waits_.data();
  std::uint32_t* const users = users_.data();
  node.visit_own_arguments([&](std::uint32_t, NodeId id) {
    const std::uint32_t arg = number[id];
    if (arg != 0) {
      waits[count++] = arg - 1;
      ++users[arg - 1];
      above.types |= of[arg - 1].types;
      above.sites |= of[arg - 1].sites;
    }
  });
  first_[i + 1] = count;
  return above;
}

}  // namespace dynet::schedule
