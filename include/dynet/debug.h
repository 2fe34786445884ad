#pragma once

// Looking at what the library does: traces and times. docs/debugging.md shows what they print.

#include <cstdint>
#include <string>

namespace dynet {

struct ComputationGraph;

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
/// NaN and infinities in the gradients, from the loss down; then for infinite values. Empty where
/// all is finite. What Trainer::update says of a bad gradient has it already.
[[nodiscard]] std::string find_nan(const ComputationGraph& cg);

/// What kernel calls of all graphs took, a line for each operation and direction, since
/// `--dynet-profiling` (or `profiling_flag`) was set: to 1, or to 2 for nodes per call and bytes of
/// results too. Empty where nothing was measured. The same text goes to the standard output when
/// the process ends. Thread-safe.
[[nodiscard]] std::string profile_text();
/// Forgets what was measured.
void reset_profile();

}  // namespace dynet
