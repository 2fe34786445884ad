#pragma once

// From a plan to one that needs less memory at a time, for inference scopes.
//
// Policies run large groups early: all inputs, all input products of a recurrence. Where gradients
// are wanted that costs nothing, since every value stays anyway. Where a value is dropped after its
// last use, it keeps them all alive at once. So large groups are cut into pieces, a piece that
// nobody waits for runs just before its first user, and a piece that is smaller than what it is the
// last to need runs at once.

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "schedule/pieces.h"
#include "schedule/plan.h"
#include "util/stamped.h"

namespace dynet::schedule {

/// Owns its buffers. Thread rule: one thread at a time.
class Shortener {
 public:
  /// Fills `to` with the nodes of `plan`: the same parts of them, each after what it needs. A group
  /// that would touch more than one in `kShare` of all results' elements is cut, but nothing
  /// smaller than `kSmallest` elements; one of leaves, which read nothing together, into smaller
  /// pieces. Linear in the plan, but for sorting the arguments of a piece.
  void shorten(const graph::Graph& graph, const Plan& plan, Plan& to);

  static constexpr std::int64_t kShare = 64;
  static constexpr std::int64_t kSmallest = 1024;
  static constexpr std::int64_t kLeafShare = 8;

 private:
  /// What is known of a piece while an order is made.
  struct State {
    std::int64_t elements = 0;  ///< of its results
    std::uint32_t users_left = 0;
    std::uint32_t needs_left = 0;
    std::uint32_t depth = 0;  ///< pieces before it on the longest path
    bool is_done = false;
  };

  void cut(const graph::Graph& graph, const Plan& plan);
  [[nodiscard]] std::int64_t touched_elements(const graph::Graph& graph, const Group& group,
                                              const Segment& segment, NodeId n) const;
  void count_steps();
  void order_late();
  void run_in_order();
  void run(std::uint32_t piece);
  [[nodiscard]] bool list_reducing(std::uint32_t piece);
  [[nodiscard]] std::uint32_t only_user(std::uint32_t piece) const;

  Pieces pieces_;
  std::vector<State> state_;                ///< by piece
  util::Stamped<std::uint8_t> is_planned_;  ///< by node
  std::vector<std::uint32_t> late_;
  std::vector<std::uint32_t> ready_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> to_check_;
  std::vector<std::uint32_t> chain_;
};

}  // namespace dynet::schedule
