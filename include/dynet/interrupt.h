#pragma once

// Stopping a computation that takes long.

namespace dynet {

/// While it lives, what this thread computes (values, gradients) asks `check` between groups of
/// nodes, some twenty times a second, whether to go on; work that takes less never asks. What
/// `check` throws comes out of the call that computes. No parameter, no gradient of a parameter and
/// no value that was there is changed then, and the same can be asked for again. What a call
/// forgets at its start is forgotten: a `backward` the gradients of the nodes that an earlier one
/// left, and `forward`, which computes anew, the old values.
///
/// `check` gets `of`, and must not use the graph. Nodes that run as one group are never stopped
/// inside, however large they are, nor is an update of a trainer. Scopes nest: the inner one is
/// asked, or nobody where its `check` is null. Thread rule: for the thread that made it, which has
/// to end it.
class InterruptScope {
 public:
  using Check = void (*)(void* of);
  explicit InterruptScope(Check check, void* of = nullptr);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  Check outer_;
  void* outer_of_;
};

}  // namespace dynet
