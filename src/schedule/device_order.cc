#include "schedule/device_order.h"

#include <algorithm>
#include <functional>

#include "dynet/devices.h"

namespace dynet::schedule {

DeviceOrder::Turn DeviceOrder::turn_of(const graph::Graph& graph, NodeId first) {
  const graph::Signature& signature = *graph[first].signature;
  if (signature.from != nullptr && !signature.from->is_host_visible()) {
    return Turn::kWaits;
  }
  return signature.device->is_host_visible() ? Turn::kOnHost : Turn::kQueued;
}

/// Whether there is anything to order.
bool DeviceOrder::find_turns(const graph::Graph& graph, const Plan& plan) {
  turns_.clear();
  for (const Group& group : plan.groups) {
    turns_.push_back(turn_of(graph, plan.members[group.first]));
  }
  return std::any_of(turns_.begin(), turns_.end(), [this](Turn t) { return t != turns_[0]; });
}

void DeviceOrder::arrange(const graph::Graph& graph, Plan& plan) {
  if (!find_turns(graph, plan)) {
    return;
  }
  pieces_.clear();
  for (std::uint32_t g = 0; g < plan.groups.size(); ++g) {
    pieces_.add(g, plan.groups[g].first, plan.groups[g].members);
  }
  pieces_.connect(graph, plan);
  order();
  pieces_.write(plan, order_, ordered_);
  std::swap(plan, ordered_);
}

void DeviceOrder::order() {
  order_.clear();
  ready_.clear();
  needs_left_.resize(pieces_.size());
  const auto add = [this](std::uint32_t p) {
    ready_.emplace_back(turns_[p], p);
    std::push_heap(ready_.begin(), ready_.end(), std::greater<>());
  };
  for (std::uint32_t p = 0; p < pieces_.size(); ++p) {
    needs_left_[p] = static_cast<std::uint32_t>(pieces_.needs(p).size());
    if (needs_left_[p] == 0) {
      add(p);
    }
  }
  while (!ready_.empty()) {
    std::pop_heap(ready_.begin(), ready_.end(), std::greater<>());
    const std::uint32_t p = ready_.back().second;
    ready_.pop_back();
    order_.push_back(p);
    for (const std::uint32_t user : pieces_.users(p)) {
      if (--needs_left_[user] == 0) {
        add(user);
      }
    }
  }
}

}  // namespace dynet::schedule
