// The batching policy. A type is a *safe* choice when all its units that have no un-run unit of the
// type above them are ready: no schedule needs fewer groups for it. Among safe types the one at the
// lowest mean depth runs (Neubig et al., 2017, "On-the-fly operation batching in dynamic
// computation graphs", run the lowest mean depth whether safe or not). Where none is safe, the one
// that misses fewest units.
//
// As long as every choice was safe, the units to wait for are those of the type's lowest unfinished
// level, so being safe is one comparison; after another choice the levels are counted anew.

#include <algorithm>

#include "groups.h"
#include "places.h"
#include "schedule/policy.h"
#include "units.h"

namespace dynet::schedule {
namespace {

/// Counting anew takes as long as scheduling once: a graph that needs it again and again (a
/// lattice) goes on by mean depth alone.
constexpr int kMaxRecounts = 24;

class Frontier final : public Policy {
 public:
  void plan(const graph::Graph& graph, const std::vector<NodeId>& wanted, Plan& plan) override {
    if (wanted.size() == 1) {
      groups_.add_one_by_one(graph, wanted, plan);
    } else if (make_units(graph, wanted, s_)) {
      run(graph, wanted, plan);
    } else {  // nothing to merge: no price for looking further
      groups_.add_one_by_one(graph, wanted, plan);
      plan.bound = static_cast<std::uint32_t>(wanted.size());
    }
    if (wanted.size() != 1) {
      forget_units(graph, wanted, s_);
    }
  }

 private:
  struct Choice {
    std::uint32_t candidate;
    std::uint32_t missing;  ///< units of the type that a safe choice would have waited for
  };

  void run(const graph::Graph& graph, const std::vector<NodeId>& wanted, Plan& plan) {
    recounts_ = 0;
    for (const Type& t : s_.types) {
      plan.bound += t.unrun == 0 ? 0 : t.levels;
    }
    candidates_.clear();
    for (std::uint32_t u = 0; u < s_.units.size(); ++u) {
      if (s_.units[u].waiting == 0) {
        make_ready(u);
      }
    }
    while (!candidates_.empty()) {
      const Choice choice = choose();
      const std::uint32_t type = candidates_[choice.candidate];
      candidates_[choice.candidate] = candidates_.back();
      candidates_.pop_back();
      take_ready(s_.types[type]);
      release_users(groups_.add(graph, group_, s_.types[type].part, s_.types[type].args, plan));
      if (choice.missing != 0 && recounts_ < kMaxRecounts) {
        recount_levels(wanted, s_);
        ++recounts_;
      }
    }
  }

  void make_ready(std::uint32_t u) {
    Type& t = s_.types[s_.units[u].type];
    if (t.ready == 0) {
      candidates_.push_back(s_.units[u].type);
      t.ready_head = u;
    } else {
      s_.units[t.ready_tail].next = u;
    }
    t.ready_tail = u;
    ++t.ready;
  }

  std::uint32_t missing(Type& t) {
    if (t.lane == kNone) {
      return t.unrun - t.ready;
    }
    while (t.level + 1 < t.levels && s_.level_counts[t.counts + t.level] == 0) {
      ++t.level;
    }
    const std::uint32_t lowest = s_.level_counts[t.counts + t.level];
    return lowest > t.ready ? lowest - t.ready : 0;
  }

  Choice choose() {
    Choice best{0, kNone};
    const bool counts = recounts_ < kMaxRecounts;
    for (std::uint32_t c = 0; c < candidates_.size(); ++c) {
      Type& t = s_.types[candidates_[c]];
      const Type& b = s_.types[candidates_[best.candidate]];
      const std::uint32_t m = counts ? missing(t) : 0;
      if (m < best.missing ||
          (m == best.missing && t.depth_sum * b.unrun < b.depth_sum * t.unrun)) {
        best = {c, m};
      }
    }
    return best;
  }

  /// The ready units of a type become `running`, and their nodes `group`. They stand in the order
  /// in which they were released, that is the order in which the last of their operands lie in
  /// memory: operands are read, and results are read by the next group, as few long runs.
  void take_ready(Type& t) {
    running_.clear();
    for (std::uint32_t n = t.ready, u = t.ready_head; n != 0; --n, u = s_.units[u].next) {
      running_.push_back(u);
      t.depth_sum -= s_.units[u].depth;
    }
    if (t.part == Part::kFirst) {
      order_as_the_rest_will_run();
    }
    group_.clear();
    for (const std::uint32_t u : running_) {
      group_.push_back(s_.units[u].node);
      s_.units[u].waiting = kNone;
    }
    t.unrun -= t.ready;
    if (t.lane != kNone) {
      std::uint32_t& lowest = s_.level_counts[t.counts + t.level];
      lowest -= std::min(lowest, t.ready);
    }
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
      const std::uint32_t u = running_[order.empty() ? i : order[i]];
      for (std::uint32_t e = s_.units[u].users; e != kNone; e = s_.edges[e].next) {
        if (--s_.units[s_.edges[e].user].waiting == 0) {
          make_ready(s_.edges[e].user);
        }
      }
    }
  }

  Units s_;
  GroupMaker groups_;
  std::vector<std::uint32_t> candidates_;  ///< types that have ready units
  std::vector<std::uint32_t> running_;     ///< units of the group
  std::vector<NodeId> group_;              ///< nodes of `running_`
  std::vector<std::uint32_t> places_;
  std::vector<std::uint32_t> sorted_;
  int recounts_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_frontier() { return std::make_unique<Frontier>(); }

}  // namespace dynet::schedule
