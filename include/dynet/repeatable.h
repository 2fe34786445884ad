#pragma once

// Calls of builders that make several nodes, and may be made again where they failed.

#include <cstddef>
#include <new>

namespace dynet {

struct ComputationGraph;

namespace detail {

/// While a call makes nodes in a graph: where it fails, its random nodes leave their numbers to
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

[[noreturn]] void fail_allocation();

/// Runs `f`. A failed allocation inside it is out_of_memory to the caller.
template <class F>
auto with_typed_allocation(F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    fail_allocation();
  }
}

}  // namespace detail
}  // namespace dynet
