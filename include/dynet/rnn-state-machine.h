#pragma once

// Which calls of a recurrent builder may follow which.

namespace dynet {

/// CREATED -> new_graph -> GRAPH_READY -> start_new_sequence -> READING_INPUT -> add_input, ...
// NOLINTBEGIN(readability-identifier-naming): DyNet's names, unscoped as there
enum RNNState { CREATED, GRAPH_READY, READING_INPUT };
enum RNNOp { new_graph, start_new_sequence, add_input };
// NOLINTEND(readability-identifier-naming)

/// The state of one builder. Thread rule: as the builder.
class RNNStateMachine {
 public:
  [[nodiscard]] RNNState state() const { return state_; }
  /// StateError, naming state and operation, if `op` may not come now.
  void check(RNNOp op) const;
  /// Checks as check() does, then goes to the state after `op`.
  void transition(RNNOp op);
  /// As at first, for a new_graph that failed.
  void reset() { state_ = CREATED; }

 private:
  RNNState state_ = CREATED;
};

}  // namespace dynet
