#pragma once

// Looking at what the library does: traces and times. docs/debugging.md shows what they print.

#include <cstdint>
#include <fstream>
#include <string>

namespace dynet {

struct ComputationGraph;
struct Expression;
struct Tensor;

/// While it lives, what `words` names ("graph", "plan", "memory", "execute", "time", separated by
/// commas, or "all") reports to stderr, and nothing else does: for a while, the environment's
/// DYNET_TRACE is replaced, in all threads. Scopes nest and end in reverse order. ValueError for
/// other words.
class TraceScope {
 public:
  explicit TraceScope(const std::string& words);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  std::uint8_t before_;
};

/// Where numbers became bad first in a graph: "NaN first in node 12, log(v11) {3}, built at
/// train.cc:33". Looks for NaN in the values that were computed; then, after a backward pass, for
/// NaN and infinities in the gradients, from the loss down; then for infinite values. Empty if
/// there are none; -inf counts for none if the program gave it as a number, or an operation
/// gives it by definition, and where it comes from there. Trainer::update says it where a gradient
/// is bad, of the graph that ran backward last in its thread: that one must not be used by another
/// thread meanwhile.
[[nodiscard]] std::string find_nan(const ComputationGraph& cg);

/// What errors say of a node: "node 5, tanh(v4) {3}, built at train.cc:33". StaleExpression.
[[nodiscard]] std::string describe(const Expression& e);
/// The value, if it is there already; null if it would have to be computed. It is valid as
/// long as what value() returns. StaleExpression.
[[nodiscard]] const Tensor* computed_value(const Expression& e);

/// While it lives, records what the library does, in all threads: forward and backward passes, in
/// them planning and each kernel call with its nodes, its group and the line of its first node, and
/// updates of trainers. The file, written when it ends, opens in Perfetto (ui.perfetto.dev) and in
/// chrome://tracing. Recording takes some microseconds per call, and a million events are kept.
/// One at a time: UsageError. IoError if the file cannot be written.
class TimelineScope {
 public:
  explicit TimelineScope(const std::string& file);
  /// Ends it, if close() was not called; then what fails is not reported.
  ~TimelineScope();
  TimelineScope(const TimelineScope&) = delete;
  TimelineScope& operator=(const TimelineScope&) = delete;
  /// Stops recording and writes the file.
  void close();

 private:
  std::string name_;
  std::ofstream file_;
};

/// What kernel calls of all graphs took, a line for each operation and direction, since
/// `--dynet-profiling` (or `profiling_flag`) was set: to 1, or to 2 for nodes per call and bytes of
/// results too. Empty if nothing was measured. The same text goes to the standard output when
/// the process ends. Thread-safe.
[[nodiscard]] std::string profile_text();
/// Forgets what was measured.
void reset_profile();

}  // namespace dynet
