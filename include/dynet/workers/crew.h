#pragma once

// Worker processes and the work of one call, beneath workers.h, which has the description, and
// mp.h. The names are not in namespace dynet, because programs of DyNet 2.1 include mp.h
// (docs/decisions/0027).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "dynet/errors.h"
#include "dynet/model.h"

namespace dynet::errors {

/// A worker threw, was killed, left or hangs.
struct WorkerError : detail::ErrorOf<std::runtime_error> {
  WorkerError(const std::string& text, unsigned worker_number, int process, int signal_number)
      : ErrorOf(text), worker(worker_number), pid(process), signal(signal_number) {}
  unsigned worker;  ///< from 0
  int pid;          ///< of the worker, which is gone
  int signal;       ///< that killed the worker, not sent by the pool; 0: none
};

}  // namespace dynet::errors

namespace dynet::workers {

/// The gradient that learn() leaves in the model: of the mean of the examples' losses, or of their
/// sum.
enum class WorkerGradient { kMean, kSum };

struct WorkerOptions {
  unsigned workers = 2;
  /// Pieces of a minibatch, at most one per example. More pieces share the work better, fewer
  /// pieces leave more nodes to run together. Results depend on the number by rounding. 0: four, or
  /// the number of workers if that is larger.
  unsigned pieces = 0;
  WorkerGradient gradient = WorkerGradient::kMean;
  /// Seconds without a sign of life (a node that is made, a group that is run) after which a worker
  /// counts as hanging. 0: a worker may be silent for ever.
  double patience = 1.5;
};

/// Consecutive examples of a call, as a worker gets them.
struct Piece {
  const unsigned* examples;
  std::size_t count;
  bool learn;    ///< gradients are wanted
  void* result;  ///< the crew's number of bytes, not initialised
};
using Work = std::function<void(const Piece&)>;

/// Functions that the Python module replaces, as its interpreter takes part in forks and signals.
struct Hooks {
  std::function<int()> fork;    ///< as fork()
  std::function<void()> wait;   ///< in the parent, 20 times a second; an exception ends the crew
  std::function<void()> leave;  ///< in a worker, at its end
};

/// The work of one call of a crew. Gradients are multiplied by `scale`.
struct Call {
  const unsigned* examples;
  std::size_t count;
  std::size_t pieces;  ///< from 1 to `count`; with `learn` no more than the crew was made for
  bool learn;
  double scale;
  /// With `learn`: behind the last example of each piece. Null: pieces are equally long.
  const std::uint32_t* ends = nullptr;
};

/// The processes, and their work; the base of WorkerPool and mp.h. Invariant: while a crew is open,
/// all workers live and wait, or a call is under way. Thread rule: one call at a time (UsageError
/// otherwise); the thread that makes a crew outlives it.
class Crew {
 public:
  static constexpr std::size_t kMaxLearningPieces = 1024;
  static constexpr std::size_t kMaxPieces = std::size_t{1} << 20;
  static constexpr std::size_t kMaxExamples = std::size_t{1} << 24;

  /// Forks the workers. `learning_pieces`: the most pieces of a call with `learn`. ValueError for
  /// numbers that are not allowed; UsageError if a parameter of `model` is not in shared memory, or
  /// the system gives no process; out_of_memory.
  Crew(const ParameterCollection& model, Work work, std::size_t result_bytes,
       std::size_t learning_pieces, const WorkerOptions& options, Hooks hooks = {});
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew();

  /// Runs the pieces and adds their gradients to the model's. The results, one after the other;
  /// valid until the next call. WorkerError; UsageError if the crew is closed, or the model's
  /// parameters are not the same as at the fork. ValueError for a call that is too large.
  const std::byte* run(const Call& call);
  /// Distance of results, in bytes.
  [[nodiscard]] std::size_t result_stride() const;
  /// Ends the workers. Does nothing if they have ended. UsageError during a call of run().
  void close();
  /// The processes, by worker; empty when closed.
  [[nodiscard]] std::vector<int> pids() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> it_;
};

}  // namespace dynet::workers
