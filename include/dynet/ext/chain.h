#pragma once

// Paths through a chain of steps, which Kernels::chain sums up or compares in one recursion from
// step to step. Conditional random fields, hidden Markov models and alignments are such chains.
//
// At each of several steps a path is in one of n states. Its score is the sum of an emission for
// each step, of a transition for each pair of steps that follow each other, of the start of its
// first state and of the end of its last state. A score of -inf is a path that does not exist.
// Example: with 3 states and 4 steps there are 81 paths, and the path 0, 0, 2, 1 has the
// transitions (0, 0), (2, 0), (1, 2).

#include <cstdint>

#include "dynet/ext/kernels.h"
#include "dynet/ext/operand.h"

namespace dynet::ext {

/// The request about all paths.
enum class Paths : std::uint8_t {
  kSum,   ///< ln of the sum of exp(score) over all of them; -inf if none exists
  kBest,  ///< the largest score. NaN counts as the largest. Of equal paths the one whose last
          ///< state is the first, then the last but one, ...
  kGiven  ///< the score of one path
};

/// The operands of one call. Operands of one direction may be absent in the other.
struct Chain {
  Paths paths = Paths::kSum;
  /// False: transitions are {n,n}, element (i, j) goes from state j to state i. True: transitions
  /// are {n,b}, element (i, k) goes from state i - k to state i, and there are no others.
  bool is_band = false;
  Operand emissions;    ///< {n,steps}, steps >= 1, n >= 1
  Operand transitions;  ///< {n,n} or {n,b}, b >= 1
  Operand start, end;   ///< {n}; absent: zeros
  /// The number of steps of the example: rounded down, at least 1, at most all. Numbers of later
  /// steps are not read. Absent: all steps.
  Operand lengths;  ///< {1}
  /// kBest: forward writes the path, 0 at later steps, and backward reads it. kGiven: read; with
  /// fewer places than steps, only so many steps count.
  Operand path;  ///< {steps} of type unsigned
  /// kSum, kBest: forward writes for each step and state the sum, or the best, of the paths up to
  /// there without the emission there, up to a number that all states of a step have in common;
  /// kSum: backward reads it.
  Operand before;  ///< {n,steps}, of as many examples as the call
  Operand value;   ///< {1}: the result, written by forward; kSum, kBest: read by backward

  // Backward reads the first. To the others it adds the gradients, whatever their blocks say; kBest
  // follows the best path. If none exists (value is -inf), no gradient flows.
  Operand d_value;  ///< {1}
  Operand d_emissions, d_transitions, d_start, d_end;

  /// The number of examples of the call: of an operand with more than one.
  [[nodiscard]] std::int64_t examples() const {
    std::int64_t n = 1;
    for (const Operand* o : {&emissions, &transitions, &start, &end, &lengths, &path, &before,
                             &value, &d_value, &d_emissions, &d_transitions, &d_start, &d_end}) {
      n = o->absent() || o->examples == 1 ? n : o->examples;
    }
    return n;
  }
};

}  // namespace dynet::ext
