// The batching policy: type by type, all units that are ready. ready.h says which type is next.

#include <algorithm>

#include "groups.h"
#include "places.h"
#include "ready.h"
#include "schedule/policy.h"
#include "units.h"
#include "util/interrupt.h"

namespace dynet::schedule {
namespace {

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
    ready_.begin();
    util::Interrupt interrupt;
    for (;;) {
      interrupt.pass(1 + static_cast<std::int64_t>(running_.size() / 16));
      const std::uint32_t next = ready_.next();
      if (next == kNone) {
        return;
      }
      Type& type = s_.types[next];
      ready_.take(type, running_);
      order(type.part);
      release_users(groups_.add(graph, group_, type.part, type.args, plan));
    }
  }

  /// Makes `group_` of the nodes of `running_`. They stand in the order in which they were
  /// released, that is the order in which the last of their operands lie in memory: operands are
  /// read, and results are read by the next group, as few long runs.
  void order(Part part) {
    if (part == Part::kFirst) {
      order_as_the_rest_will_run();
    }
    group_.clear();
    for (const std::uint32_t u : running_) {
      group_.push_back(s_.units[u].node);
    }
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

  /// In the order of the group's memory: `order`, unless it is the order of `running_`.
  void release_users(std::span<const std::uint32_t> order) {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      const Unit& unit = s_.units[running_[order.empty() ? i : order[i]]];
      for (std::uint32_t e = unit.users; e != unit.users_end; ++e) {
        if (--s_.units[s_.edges[e]].waiting == 0) {
          ready_.add(s_.edges[e]);
        }
      }
    }
  }

  Units s_;
  Ready ready_{s_};
  GroupMaker groups_;
  std::vector<std::uint32_t> running_;  ///< units of the group
  std::vector<NodeId> group_;           ///< nodes of `running_`
  std::vector<std::uint32_t> places_;
  std::vector<std::uint32_t> sorted_;
};

}  // namespace

std::unique_ptr<Policy> make_frontier() { return std::make_unique<Frontier>(); }

}  // namespace dynet::schedule
