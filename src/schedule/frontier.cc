// The batching policy: type by type, all units that are ready.
//
// A type of which all units that are left are ready is complete: it runs at once. Of the others the
// one runs that misses least. What a type misses are the units of its lowest unfinished level that
// are not ready; a type that misses none is *safe*: no schedule needs fewer groups for it. (Neubig
// et al., 2017, "On-the-fly operation batching in dynamic computation graphs", run the type of the
// lowest mean depth, safe or not.)
//
// Levels are counted once. After a choice that was not safe they are too high for later units.
// Counting them anew was tried: it costs much and most programs get more groups, because the first
// levels keep examples in step and exact ones forget who lags behind (docs/decisions/0007).

#include <algorithm>

#include "groups.h"
#include "places.h"
#include "schedule/policy.h"
#include "units.h"
#include "util/interrupt.h"

namespace dynet::schedule {
namespace {

/// Candidates that are compared for one choice: more are possible in a graph of thousands of
/// types, whose cost has to stay in proportion to its size.
constexpr std::size_t kMaxCompared = 64;
/// A unit missing costs the more, the more units the type has left, since the two will stay apart
/// for long. Among types with few left this does not matter.
constexpr std::uint64_t kFewUnits = 256;

class Frontier final : public Policy {
 public:
  void plan(const graph::Graph& graph, const std::vector<NodeId>& wanted, Plan& plan) override {
    if (wanted.size() == 1) {
      groups_.add_one_by_one(graph, wanted, plan);
    } else if (s_.make(graph, wanted)) {
      run(graph, plan);
    } else {  // nothing to merge: no price for looking further
      groups_.add_one_by_one(graph, wanted, plan);
      plan.bound = static_cast<std::uint32_t>(wanted.size());
    }
  }

 private:
  void run(const graph::Graph& graph, Plan& plan) {
    for (const Type& t : s_.types) {
      plan.bound += t.unrun == 0 ? 0 : t.levels;
    }
    candidates_.clear();
    complete_.clear();
    for (std::uint32_t u = 0; u < s_.unit_count; ++u) {
      if (s_.units[u].waiting == 0) {
        make_ready(u);
      }
    }
    util::Interrupt interrupt;
    for (std::size_t done = 0;;) {
      interrupt.pass(1 + static_cast<std::int64_t>(running_.size() / 16));
      std::uint32_t next = kNone;
      if (done < complete_.size()) {
        next = complete_[done++];
      } else if (!candidates_.empty()) {
        next = choose();
        remove_candidate(s_.types[next]);
      } else {
        return;
      }
      Type& type = s_.types[next];
      take_ready(type);
      release_users(groups_.add(graph, group_, type.part, type.args, plan));
    }
  }

  void make_ready(std::uint32_t u) {
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

  void remove_candidate(const Type& t) {
    candidates_[t.place] = candidates_.back();
    s_.types[candidates_[t.place]].place = t.place;
    candidates_.pop_back();
  }

  /// Units of the type that a safe choice would wait for.
  std::uint32_t missing(Type& t) {
    if (t.lane == kNone) {
      return t.unrun - t.ready;
    }
    while (s_.level_counts[t.counts + t.level] == 0) {  // some unit has not run
      ++t.level;
    }
    const std::uint32_t lowest = s_.level_counts[t.counts + t.level];
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

  /// The ready units of a type become `running_`, and their nodes `group_`. They stand in the order
  /// in which they were released, that is the order in which the last of their operands lie in
  /// memory: operands are read, and results are read by the next group, as few long runs.
  void take_ready(Type& t) {
    running_.clear();
    for (std::uint32_t n = t.ready, u = t.ready_head; n != 0; --n, u = s_.units[u].next) {
      running_.push_back(u);
      if (t.lane != kNone) {
        --s_.level_counts[t.counts + s_.units[u].level];
      }
    }
    if (t.part == Part::kFirst) {
      order_as_the_rest_will_run();
    }
    group_.clear();
    for (const std::uint32_t u : running_) {
      group_.push_back(s_.units[u].node);
    }
    t.unrun -= t.ready;
    t.ready = 0;
  }

  /// First terms are all ready at once; the other terms run level by level, and want the memory of
  /// one level side by side.
  void order_as_the_rest_will_run() {
    const auto level = [&](std::uint32_t u) { return s_.units[u].level; };
    const auto below = [&](std::uint32_t x, std::uint32_t y) { return level(x) < level(y); };
    if (std::is_sorted(running_.begin(), running_.end(), below)) {
      return;
    }
    const std::uint32_t rest = s_.units[running_[0]].type + 1;
    find_places(running_, s_.types[rest].levels, level, places_);
    sorted_.resize(running_.size());
    for (const std::uint32_t u : running_) {
      sorted_[places_[level(u)]++] = u;
    }
    running_.swap(sorted_);
  }

  /// In the order of the group's memory: `order`, where it is not that of `running_`.
  void release_users(std::span<const std::uint32_t> order) {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      const Unit& unit = s_.units[running_[order.empty() ? i : order[i]]];
      for (std::uint32_t e = unit.users; e != unit.users_end; ++e) {
        if (--s_.units[s_.edges[e]].waiting == 0) {
          make_ready(s_.edges[e]);
        }
      }
    }
  }

  Units s_;
  GroupMaker groups_;
  std::vector<std::uint32_t> candidates_;  ///< types that have ready units and others
  std::vector<std::uint32_t> complete_;    ///< types whose units were all ready, in this order
  std::vector<std::uint32_t> running_;     ///< units of the group
  std::vector<NodeId> group_;              ///< nodes of `running_`
  std::vector<std::uint32_t> places_;
  std::vector<std::uint32_t> sorted_;
};

}  // namespace

std::unique_ptr<Policy> make_frontier() { return std::make_unique<Frontier>(); }

}  // namespace dynet::schedule
