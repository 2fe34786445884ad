#pragma once

// Evaluation: a model without its dropout.

namespace dynet {

/// While the scope lives, this thread adds no dropout and no noise to graphs. `dropout`,
/// `dropout_dim`, `dropout_batch`, `block_dropout` and `noise` refuse wrong arguments as always and
/// return x itself; steps of builders use neither masks of dropout nor noisy weights. Example:
///
///   double accuracy() {
///     const Evaluating no_dropout;
///     ...                          // two calls give the same number
///   }
///
/// The place where a node is made counts, not the place of a request: a loss that was built within
/// the scope has no dropout after the scope either, and a loss that was built before keeps its
/// dropout. Each step of a builder is such a place: a sequence may begin outside of the scope and
/// go on within. Masks of a sequence stay as they are for steps after the scope; masks that are not
/// drawn yet are drawn by the first step outside. So an evaluation takes no random numbers from the
/// training around it.
///
/// Random numbers that a program asks for stay random: `random_normal` and its relatives,
/// `sample_categorical`, and masks that the program makes of these. Values, batching and gradients
/// are as outside; InferenceScope (inference.h) saves the memory for gradients. `beam_search` and
/// WorkerPool::evaluate open a scope themselves.
///
/// Scopes nest. Thread rule: a scope belongs to the thread that made it and has to end it. Workers
/// of a WorkerPool that was made in a scope begin outside of it.
class Evaluating {
 public:
  Evaluating();
  ~Evaluating();
  Evaluating(const Evaluating&) = delete;
  Evaluating& operator=(const Evaluating&) = delete;

  /// Whether this thread is in a scope. For regularisation of a program's own, such as unknown
  /// words in place of rare words.
  [[nodiscard]] static bool is_on();
};

}  // namespace dynet
