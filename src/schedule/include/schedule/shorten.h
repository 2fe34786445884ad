#pragma once

// From a plan to one that needs less memory at a time, for inference scopes.
//
// Policies run large groups early: all inputs, all input products of a recurrence. If gradients
// are wanted this costs nothing, since every value stays anyway. If values are dropped after their
// last use, a large group keeps all of its values alive at once. So large groups are cut into
// pieces. A piece that waits for no other piece runs just before its first user. A piece that is
// smaller than the values that die with it runs at once.
//
// A piece is so large that its call costs little beside its numbers, and not larger than a
// processor's cache if it need not be: the next piece then finds its numbers there. A plan of few
// results is left as it is. Example: a step of 32 LSTMs that answers requests has the groups of
// training.

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
  /// From which size on something is cut, in elements. Others than these are for tests.
  struct Limits {
    std::int64_t whole = std::int64_t{1} << 20;  ///< of a plan; 4 MiB of floats
    std::int64_t piece = std::int64_t{1} << 16;
  };
  void set_limits(const Limits& limits) { limits_ = limits; }

  /// Fills `to` with the nodes of `plan`: the same parts of them, each after what it needs. A plan
  /// whose results have `Limits::whole` elements at most stays as it is. In others a group that
  /// touches more than one in `kShare` of all results' elements is cut, but nothing smaller than
  /// `Limits::piece` elements; one of leaves, which read nothing together, into smaller pieces.
  /// Linear in the plan, but for sorting the arguments of a piece.
  void shorten(const graph::Graph& graph, const Plan& plan, Plan& to);

  static constexpr std::int64_t kShare = 64;
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

  [[nodiscard]] std::int64_t count_elements(const graph::Graph& graph, const Plan& plan);
  void cut(const graph::Graph& graph, const Plan& plan, std::int64_t most);
  [[nodiscard]] std::int64_t touched_elements(const graph::Graph& graph, const Group& group,
                                              const Segment& segment, NodeId n) const;
  void count_steps();
  void order_late();
  void run_in_order();
  void run(std::uint32_t piece);
  [[nodiscard]] bool list_reducing(std::uint32_t piece);
  [[nodiscard]] std::uint32_t only_user(std::uint32_t piece) const;

  Limits limits_;
  Pieces pieces_;
  std::vector<State> state_;                ///< by piece
  std::vector<std::int64_t> before_;        ///< elements touched by earlier members of a group
  util::Stamped<std::uint8_t> is_planned_;  ///< by node
  std::vector<std::uint32_t> late_;
  std::vector<std::uint32_t> ready_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> to_check_;
  std::vector<std::uint32_t> chain_;
};

}  // namespace dynet::schedule
