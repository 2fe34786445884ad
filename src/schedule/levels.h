#pragma once

// The level of each unit in its type: the number of units of the type on the longest path above it.
//
// A type of which some unit waits for another one *repeats*, and has a counter: for each node, the
// level that the users of the node get from it. The number is the maximum over the node's
// arguments, and one more if the node is of the type. Example: in a chain of three tanh the levels
// are 0, 1 and 2, and the counter of tanh is 1, 2 and 3 behind them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "waits.h"

namespace dynet::schedule {

/// Use: `begin`, then for each wanted node in its order `merge`, and `count` with its type. Reused.
/// Not thread-safe.
class Levels {
 public:
  /// Gives counters to types that repeat, whose numbers of units are known. Sums of terms have a
  /// second one, for the parts of them that come second.
  void begin(std::vector<Type>& types, std::size_t nodes) {
    std::uint32_t counters = 0;
    std::uint32_t count = 0;
    for (Type& t : types) {
      if (t.repeats && counters + 2 <= kMaxCounters) {
        const std::uint32_t parts = t.sites != 0 ? 2 : 1;
        t.counter = counters;
        counters += parts;
        t.counts = count;
        t.levels = 0;
        count += parts * t.unrun;
      }
    }
    width_ = (counters + kAtOnce - 1) / kAtOnce;
    counts.assign(count, 0);
    counters_.resize(nodes * width_);
  }
  /// The counters of node `i`, from the nodes it waits for.
  void merge(std::uint32_t i, std::span<const std::uint32_t> waits) {
    Counters* const counters = counters_.data();
    const std::size_t width = width_;
    for (std::size_t k = 0; k < width; ++k) {
      Counters most{};
      for (const std::uint32_t arg : waits) {
        const Counters of = counters[arg * width + k];
        most = of > most ? of : most;
      }
      counters[i * width + k] = most;
    }
  }
  /// Counts node `i` at its level, which is returned, and raises the counter for its users.
  std::uint32_t count(Type& type, std::uint32_t i) {
    if (type.counter == kNone) {
      return 0;
    }
    Counters& counters = counters_[i * width_ + type.counter / kAtOnce];
    const std::uint16_t level = counters[type.counter % kAtOnce];
    counters[type.counter % kAtOnce] =
        level == kMaxLevel ? level : static_cast<std::uint16_t>(level + 1);
    ++counts[type.counts + level];
    type.levels = std::max(type.levels, level + 1U);
    return level;
  }

  std::vector<std::uint32_t> counts;  ///< units that have not run, by type and level

 private:
  static constexpr std::uint32_t kMaxCounters = 64;
  static constexpr std::uint16_t kMaxLevel = 0xFFFF;  // deeper chains count as one level

  /// Some counters at once: a vector register, with the operators of the compiler.
  using Counters = std::uint16_t __attribute__((vector_size(16)));
  static constexpr std::uint32_t kAtOnce = sizeof(Counters) / sizeof(std::uint16_t);
  std::vector<Counters> counters_;  ///< a row of `width_` for each wanted node
  std::size_t width_ = 0;
};

}  // namespace dynet::schedule
