#pragma once

// The types that have ready units, and which of them runs next.
//
// A type of which all units that are left are ready is complete: it runs at once. Of the others the
// one runs that misses least. A type misses the units of its lowest unfinished level that
// are not ready; a type that misses none is *safe*: no schedule needs fewer groups for it. (Neubig
// et al., 2017, "On-the-fly operation batching in dynamic computation graphs", run the type of the
// lowest mean depth, safe or not.)
//
// Levels are counted once. After a choice that was not safe they are too high for later units.
// Counting them anew was tried: it costs much and most programs get more groups, because the first
// levels keep examples in step and exact ones forget who lags behind (docs/decisions/0007).

#include <algorithm>
#include <cstdint>
#include <vector>

#include "units.h"

namespace dynet::schedule {

/// The frontier of one request. Reused. Not thread-safe.
class Ready {
 public:
  explicit Ready(Units& units) : s_(units) {}

  /// Begins with the units that wait for nothing.
  void begin() {
    candidates_.clear();
    complete_.clear();
    done_ = 0;
    for (std::uint32_t u = 0; u < s_.unit_count; ++u) {
      if (s_.units[u].waiting == 0) {
        add(u);
      }
    }
  }
  /// A unit has become ready. The ready units of a type stand in this order.
  void add(std::uint32_t u) {
    const std::uint32_t number = s_.units[u].type;
    Type& t = s_.types[number];
    if (t.ready == 0) {
      t.place = static_cast<std::uint32_t>(candidates_.size());
      candidates_.push_back(number);
      t.ready_head = u;
    } else {
      s_.units[t.ready_tail].next = u;
    }
    t.ready_tail = u;
    if (++t.ready == t.unrun) {
      remove_candidate(t);
      complete_.push_back(number);
    }
  }
  /// The type whose ready units run next; kNone: all have run.
  std::uint32_t next() {
    if (done_ < complete_.size()) {
      return complete_[done_++];
    }
    if (candidates_.empty()) {
      return kNone;
    }
    const std::uint32_t best = choose();
    remove_candidate(s_.types[best]);
    return best;
  }
  /// Moves the ready units of a type to `units`: they are going to run.
  void take(Type& t, std::vector<std::uint32_t>& units) {
    units.clear();
    for (std::uint32_t n = t.ready, u = t.ready_head; n != 0; --n, u = s_.units[u].next) {
      units.push_back(u);
      if (t.counter != kNone) {
        --s_.levels.counts[t.counts + s_.units[u].level];
      }
    }
    t.unrun -= t.ready;
    t.ready = 0;
  }

 private:
  /// Candidates that are compared for one choice: more are possible in a graph of thousands of
  /// types, whose cost has to stay in proportion to its size.
  static constexpr std::size_t kMaxCompared = 64;
  /// A unit missing costs the more, the more units the type has left, since the two will stay apart
  /// for long. Among types with few left this does not matter.
  static constexpr std::uint64_t kFewUnits = 256;

  void remove_candidate(const Type& t) {
    candidates_[t.place] = candidates_.back();
    s_.types[candidates_[t.place]].place = t.place;
    candidates_.pop_back();
  }
  /// Units of the type that a safe choice would wait for.
  std::uint32_t missing(Type& t) {
    if (t.counter == kNone) {
      return t.unrun - t.ready;
    }
    while (s_.levels.counts[t.counts + t.level] == 0) {  // some unit has not run
      ++t.level;
    }
    const std::uint32_t lowest = s_.levels.counts[t.counts + t.level];
    return lowest > t.ready ? lowest - t.ready : 0;
  }
  std::uint32_t choose() {
    std::uint32_t best = kNone;
    std::uint64_t least = 0;
    std::uint32_t least_left = 0;
    for (std::size_t c = 0; c < std::min(candidates_.size(), kMaxCompared); ++c) {
      Type& t = s_.types[candidates_[c]];
      const std::uint64_t cost = missing(t) * (kFewUnits + t.unrun);
      const std::uint32_t left = t.unrun - t.ready;
      if (best == kNone || cost < least || (cost == least && left < least_left)) {
        best = candidates_[c];
        least = cost;
        least_left = left;
      }
    }
    return best;
  }

  Units& s_;
  std::vector<std::uint32_t> candidates_;  ///< types that have ready units and others
  std::vector<std::uint32_t> complete_;    ///< types whose units were all ready, in this order
  std::size_t done_ = 0;                   ///< complete types that have run
};

}  // namespace dynet::schedule
