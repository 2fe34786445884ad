#include "execute/history.h"

#include <algorithm>

#include "util/reserve.h"

namespace dynet::execute {

void History::append(const schedule::Plan& plan) {
  util::reserve_more(plan_.members, plan.members.size());
  util::reserve_more(plan_.segments, plan.segments.size());
  util::reserve_more(plan_.groups, plan.groups.size());
  const auto first_member = static_cast<std::uint32_t>(plan_.members.size());
  const auto first_segment = static_cast<std::uint32_t>(plan_.segments.size());
  for (const NodeId m : plan.members) {  // often few: a call would cost more
    plan_.members.push_back(m);
  }
  for (schedule::Segment segment : plan.segments) {
    segment.begin += first_member;
    plan_.segments.push_back(segment);
  }
  for (schedule::Group group : plan.groups) {
    group.first += first_member;
    group.begin += first_segment;
    plan_.groups.push_back(group);
  }
}

/// Calls are kept one after the other: room is made for many at once.
void History::make_room_for_call(std::uint32_t s) {
  const std::size_t wanted = s + std::size_t{1};
  calls_.resize(std::min(std::max(wanted, 2 * calls_.size()), plan_.segments.size()), nullptr);
}

void History::shrink(std::uint32_t groups) {
  if (groups >= size()) {
    return;
  }
  const schedule::Group& first = plan_.groups[groups];
  plan_.members.resize(first.first);
  plan_.segments.resize(first.begin);
  calls_.resize(std::min<std::size_t>(calls_.size(), first.begin));
  plan_.groups.resize(groups);
}

void History::clear() {
  plan_.clear();
  calls_.clear();
  ++generation_;
}

}  // namespace dynet::execute
