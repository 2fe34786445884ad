#pragma once

// Calls of builders that make several nodes, and can be repeated after a failure.

#include <cstddef>

namespace dynet {

struct ComputationGraph;

namespace detail {

/// A call that makes nodes in a graph. If the call fails, its random nodes leave their numbers to
/// the next random nodes, so that the repeated call draws the same numbers. Nodes of the failed
/// call must not be used. Within another scope of the same graph it does nothing.
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
  std::size_t first_ = 0;  ///< node that the call may make
  bool is_kept_ = false;
};

}  // namespace detail
}  // namespace dynet
