#pragma once

// Values without gradients, in little memory.

namespace dynet {

/// While it lives, values that this thread asks any graph for are computed for their own sake: a
/// result is dropped as soon as no node in the graph waits for it, and its memory is used again.
/// What was asked for stays readable as always, and so does a result that no node uses yet, such as
/// the last state of a recurrence. A dropped value that is asked for or used after all is computed
/// again; once that has happened in a graph, it keeps everything until it is cleared, so nothing is
/// computed more than twice.
///
/// What counts is where a value is asked for, not where its node was made. `backward` is a
/// GraphError within the scope, and behind it if the path from the root meets a trained node
/// that was computed within; `invalidate()` makes that graph forget. Batching, random numbers and
/// values are those of a graph outside a scope. A checkpoint within the scope keeps everything,
/// too. Scopes nest. Thread rule: for the thread that made it, which has to end it.
class InferenceScope {
 public:
  InferenceScope();
  ~InferenceScope();
  InferenceScope(const InferenceScope&) = delete;
  InferenceScope& operator=(const InferenceScope&) = delete;
};

}  // namespace dynet
