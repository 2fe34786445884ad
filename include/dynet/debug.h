#pragma once

// Traces and times, to see the library work. docs/debugging.md shows the printed texts.

#include <cstdint>
#include <fstream>
#include <string>

namespace dynet {

struct ComputationGraph;
struct Expression;
struct Tensor;

/// While the scope lives, the traces in `words` ("graph", "plan", "memory", "execute", "time",
/// "repeats", separated by commas, or "all") report to stderr and no other trace does: the scope
/// replaces the environment's DYNET_TRACE in all threads. Scopes nest and end in reverse order.
/// ValueError for other words.
class TraceScope {
 public:
  explicit TraceScope(const std::string& words);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  std::uint8_t before_;
};

/// Names the first node with bad numbers: "NaN first in node 12, log(v11) {3}, built at
/// train.cc:33". Looks for NaN in computed values; then, after a backward pass, for NaN and
/// infinities in the gradients, from the loss down; then for infinite values. Empty if there are
/// none. -inf is not bad if the program gave it as a number, if an operation gives it by
/// definition, or if it follows from such a number. Trainer::update has the text in its error about
/// a bad gradient, for the last graph that ran backward in its thread: no other thread may use this
/// graph meanwhile.
[[nodiscard]] std::string find_nan(const ComputationGraph& cg);

/// The text of a node in errors: "node 5, tanh(v4) {3}, built at train.cc:33". StaleExpression.
[[nodiscard]] std::string describe(const Expression& e);
/// The value if it is computed, else null. Valid as long as a result of value(). StaleExpression.
[[nodiscard]] const Tensor* computed_value(const Expression& e);

/// While the scope lives, records the work of all threads: forward and backward passes with
/// planning and each kernel call (nodes, group, line of the first node), and updates of trainers.
/// The file, written when the scope ends, opens in Perfetto (ui.perfetto.dev) and in
/// chrome://tracing. Recording takes some microseconds per call, and a million events are kept. One
/// at a time: UsageError. IoError if the file cannot be written.
class TimelineScope {
 public:
  explicit TimelineScope(const std::string& file);
  /// Ends the recording if close() was not called; a failure is then not reported.
  ~TimelineScope();
  TimelineScope(const TimelineScope&) = delete;
  TimelineScope& operator=(const TimelineScope&) = delete;
  /// Stops recording and writes the file.
  void close();

 private:
  std::string name_;
  std::ofstream file_;
};

/// The time of kernel calls of all graphs, a line for each operation and direction, since
/// `--dynet-profiling` (or `profiling_flag`) was set: to 1, or to 2 for nodes per call and bytes of
/// results too. Empty without measurements. The same text goes to the standard output when the
/// process ends. Thread-safe.
[[nodiscard]] std::string profile_text();
/// Forgets the measurements.
void reset_profile();

}  // namespace dynet
