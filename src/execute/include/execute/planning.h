#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "graph/graph.h"
#include "schedule/plan.h"
#include "schedule/policy.h"
#include "schedule/shorten.h"
#include "util/timeline.h"

namespace dynet::execute {

using graph::NodeId;

/// Makes the plans of requests, and owns their buffers. Not thread-safe.
class Planning {
 public:
  /// Nodes that are planned at once. A request for more is planned piece by piece, so that the
  /// buffers of scheduling (some 130 bytes per node) stay this large. More groups are made, but a
  /// few for each piece.
  static constexpr std::size_t kNodesAtOnce = std::size_t{1} << 18;

  [[nodiscard]] schedule::Scheduler& scheduler() { return scheduler_; }
  void set_nodes_at_once(std::size_t count) { nodes_at_once_ = count; }
  void set_pieces(const schedule::Shortener::Limits& limits) { shortener_.set_limits(limits); }

  /// Calls `f` with pieces of `all`, in their order. Nodes stand in the order they were made in, so
  /// a piece depends on no later one.
  template <class F>
  void for_each_piece(const std::vector<NodeId>& all, F f) {
    if (all.size() <= nodes_at_once_) {
      f(all);
      return;
    }
    for (std::size_t begin = 0; begin < all.size(); begin += nodes_at_once_) {
      const std::size_t end = std::min(all.size(), begin + nodes_at_once_);
      piece_.assign(all.begin() + static_cast<std::ptrdiff_t>(begin),
                    all.begin() + static_cast<std::ptrdiff_t>(end));
      f(piece_);
    }
  }
  /// The plan for these nodes; valid until the next call.
  const schedule::Plan& plan(const graph::Graph& graph, const std::vector<NodeId>& nodes) {
    const util::Slice slice("plan");
    scheduler_.plan(graph, nodes, plan_);
    return plan_;
  }
  /// The last plan, cut so that less is alive at a time: for inference scopes.
  const schedule::Plan& shorten(const graph::Graph& graph) {
    shortener_.shorten(graph, plan_, short_plan_);
    return short_plan_;
  }

 private:
  schedule::Scheduler scheduler_;
  schedule::Plan plan_;
  schedule::Shortener shortener_;
  schedule::Plan short_plan_;
  std::vector<NodeId> piece_;
  std::size_t nodes_at_once_ = kNodesAtOnce;
};

}  // namespace dynet::execute
