#pragma once

// Worker processes on one machine (the paper's section 6.3).
//
// A pool forks workers. A worker has a copy of the program, with its data, builders and graphs, and
// shares the parameters with the parent. A call hands out the numbers of some examples: the list is
// cut into pieces, each worker takes one piece after the other, and the mean gradient of all pieces
// is in the model when the call returns. The parent makes the update. Example: 64 examples make 4
// pieces of 16.
//
//   int main(int argc, char** argv) {
//     dynet::initialize(argc, argv, true);             // true: parameters that processes share
//     ...                                              // model, trainer and data
//     dynet::WorkerPool pool(model, loss_of_examples, {2});
//     for (const auto& minibatch : minibatches) {
//       total += pool.learn(minibatch);
//       trainer.update();
//     }
//   }
//
// One to four workers give the same numbers, to the bit, and so does any number of workers with the
// same `WorkerOptions::pieces`: the cut depends on the number of pieces alone, each piece has its
// own gradient and its own random numbers, and the gradients of the pieces are added in a fixed
// order. The numbers differ by rounding from one graph with all examples.
//
// A worker that throws, is killed or hangs is a WorkerError in the parent; then the other workers
// are ended, the gradients are empty, the values of the model are unchanged, and another pool can
// be made. Memory and semaphores have no names and workers die with the thread that made the pool,
// so nothing is left behind, however a process ends. docs/workers.md has examples and the limits.

#include <cstddef>
#include <functional>
#include <vector>

#include "dynet/expression.h"
#include "dynet/model.h"
#include "dynet/workers/crew.h"

namespace dynet {

using workers::WorkerGradient;
using workers::WorkerOptions;

/// Workers that compute losses. Thread rule: as workers::Crew.
class WorkerPool {
 public:
  /// The loss of some examples, a sum over them, in a new graph.
  using Loss =
      std::function<Expression(ComputationGraph& cg, const std::vector<unsigned>& examples)>;
  /// The number that evaluate() adds up in place of losses: right answers, for example.
  using Score = std::function<double(const std::vector<unsigned>& examples)>;

  /// Forks the workers: parameters and data must exist. Errors: as workers::Crew.
  WorkerPool(const ParameterCollection& model, Loss loss, const WorkerOptions& options = {},
             Score score = {});
  /// Work that computes a double as the result of each piece.
  WorkerPool(const ParameterCollection& model, workers::Work work, const WorkerOptions& options,
             workers::Hooks hooks);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  /// Forward and backward over one minibatch. The sum of the losses; the gradient, as
  /// WorkerOptions::gradient says, is added to the model's. `costs`, one per example and at least
  /// 0, are relative costs, such as the lengths of sentences: pieces then have about equal costs;
  /// without costs, about equally many examples. WorkerError, UsageError; ValueError for costs that
  /// are not allowed.
  double learn(const std::vector<unsigned>& examples, const std::vector<double>& costs = {});
  /// The sum of the losses or scores of any number of examples, 16 in a piece, without gradients.
  double evaluate(const std::vector<unsigned>& examples);
  /// Ends the workers, as the destructor does. UsageError during another call.
  void close();
  [[nodiscard]] std::vector<int> pids() const;

 private:
  std::size_t pieces_;
  WorkerGradient gradient_;
  workers::Crew crew_;
};

}  // namespace dynet
