#pragma once

// Calls that draw random numbers in a graph, and can be repeated after a failure.

#include <cstdint>

namespace dynet {

struct ComputationGraph;

namespace detail {

/// A call that makes nodes in a graph, or computes nodes anew. If the call fails, the repeated call
/// draws the same numbers: the call's random nodes leave their numbers to the next random nodes,
/// and the next `invalidate` begins the same evaluation. Nodes of the failed call must not be used.
/// Within another scope of the same graph it does nothing.
class RepeatableDraws {
 public:
  /// Null: no graph.
  explicit RepeatableDraws(ComputationGraph* graph);
  RepeatableDraws(const RepeatableDraws&) = delete;
  RepeatableDraws& operator=(const RepeatableDraws&) = delete;
  ~RepeatableDraws();
  /// The call succeeds.
  void keep() { is_kept_ = true; }

 private:
  ComputationGraph* graph_;
  ComputationGraph* outer_;
  std::uint32_t draws_ = 0;  ///< random nodes of the graph before the call
  std::uint64_t evaluation_ = 0;
  bool is_kept_ = false;
};

}  // namespace detail
}  // namespace dynet
