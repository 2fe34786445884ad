#pragma once

// The order of groups on several devices.
//
// A device that has a queue computes while the host does something else, but only the work that the
// host has queued. So the work of such a device comes as early as possible, then the host's own
// work, and last the copies of unfinished numbers, for which the host waits. Of equals the one that
// the policy put first comes first.

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "schedule/pieces.h"
#include "schedule/plan.h"

namespace dynet::schedule {

/// Owns its buffers. Thread rule: one thread at a time.
class DeviceOrder {
 public:
  /// Gives the groups of `plan` this order where they are on several devices, one of which has a
  /// queue. Each still comes after what it needs. Linear in the plan, times the logarithm of its
  /// groups.
  void arrange(const graph::Graph& graph, Plan& plan);

 private:
  enum class Turn : std::uint8_t { kQueued, kOnHost, kWaits };
  static Turn turn_of(const graph::Graph& graph, NodeId first);
  [[nodiscard]] bool find_turns(const graph::Graph& graph, const Plan& plan);
  void order();

  Pieces pieces_;  ///< the groups
  std::vector<Turn> turns_;
  std::vector<std::uint32_t> needs_left_;
  std::vector<std::pair<Turn, std::uint32_t>> ready_;  ///< a heap
  std::vector<std::uint32_t> order_;
  Plan ordered_;
};

}  // namespace dynet::schedule
