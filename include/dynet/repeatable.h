#pragma once

// Calls of builders that make several nodes, and may be made again if they failed.

#include <cstddef>

namespace dynet {

struct ComputationGraph;

namespace detail {

/// While a call makes nodes in a graph: if it fails, its random nodes leave their numbers to
/// those that come next, so that the call, repeated, draws what it would have drawn. What the call
/// drew may not be used then. Within another one in the same graph it does nothing.
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
