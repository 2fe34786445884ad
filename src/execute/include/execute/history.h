#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "execute/segment.h"
#include "schedule/plan.h"

namespace dynet::execute {

/// The groups that have run, in this order, with the calls that were made. What backward walks.
///
/// A position in it (a number of groups) means something only within one generation: `clear` begins
/// a new one, so whoever keeps a position keeps the generation with it and compares. Invariant:
/// segments and members of a group follow those of the group before. Not thread-safe.
class History {
 public:
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  /// Number of groups.
  [[nodiscard]] std::uint32_t size() const {
    return static_cast<std::uint32_t>(plan_.groups.size());
  }
  /// Appends the groups of a plan; none of their calls has been made. Changes nothing where it
  /// throws.
  void append(const schedule::Plan& plan);
  [[nodiscard]] const schedule::Group& group(std::uint32_t g) const { return plan_.groups[g]; }
  [[nodiscard]] std::span<const NodeId> members(std::uint32_t g) const {
    const schedule::Group& group = plan_.groups[g];
    return {plan_.members.data() + group.first, group.members};
  }
  /// Segment `s` of `group`, from `group.begin` on.
  [[nodiscard]] SegmentView segment(const schedule::Group& group, std::uint32_t s) const {
    const schedule::Segment& segment = plan_.segments[s];
    return {{plan_.members.data() + segment.begin, segment.count},
            segment.shared,
            group.args,
            group.part};
  }
  /// What was assembled for segment `s`; null where it needed no call, or the call was not kept.
  [[nodiscard]] Assembled* call(std::uint32_t s) const {
    return s < calls_.size() ? calls_[s] : nullptr;
  }
  void set_call(std::uint32_t s, Assembled* call) {
    if (s >= calls_.size()) {
      make_room_for_call(s);
    }
    calls_[s] = call;
  }
  /// Drops the groups from `groups` on.
  void shrink(std::uint32_t groups);
  /// Drops all groups and begins a generation.
  void clear();
  [[nodiscard]] const schedule::Plan& plan() const { return plan_; }

 private:
  void make_room_for_call(std::uint32_t s);

  schedule::Plan plan_;
  /// The calls of the plan's segments, at least up to the last one that was kept; null: none.
  std::vector<Assembled*> calls_;
  std::uint64_t generation_ = 0;
};

}  // namespace dynet::execute
