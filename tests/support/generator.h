#pragma once

// Random graphs over every operation of the list.
//
// The generator also builds its graph in double, one by one, and looks at the values, so that it
// knows which nodes may be arguments of an operation that wants numbers of some interval; others go
// through a squashing function first. Operations come in rounds: several copies of one example,
// with arguments from before the round, so that copies can merge. The draw of an operation, and of
// a pattern of batch extents and shared arguments, depends on the number of its merges so far, so
// rare combinations catch up. Example: a pattern merged 0 times is more likely than a pattern
// merged 50 times.

#include <map>
#include <string>
#include <vector>

#include "testing/program.h"

namespace dynet::testing {

/// One way to use an operation: which arguments have the batch, and which are one storage for all
/// copies.
struct Combination {
  const Sample* sample = nullptr;
  std::vector<char> batched;
  std::vector<char> shared;
  [[nodiscard]] std::string pattern() const;
  [[nodiscard]] bool has(std::size_t arg) const {
    return arg >= sample->inputs.size() || !ext::is_absent(sample->inputs[arg]);
  }
  /// Empty if such nodes may run in one group (docs/batching.md), else the reason why not.
  [[nodiscard]] std::string reason_alone() const;
};

/// The combinations of all samples that are no leaves.
std::vector<Combination> combinations_of(const std::vector<Sample>& samples);

/// How often each combination was merged: keys as Observed::combination makes them.
using Counts = std::map<std::string, long>;

/// A random graph. The same seed, combinations and counts give the same graph.
Program random_program(std::uint64_t seed, const std::vector<Combination>& combinations,
                       const Counts& counts);

}  // namespace dynet::testing
