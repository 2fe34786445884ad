#include <algorithm>

#include "execute/executor.h"
#include "execute/reading.h"
#include "execute/trace.h"
#include "kernels/float_mode.h"
#include "params/gradient.h"

namespace dynet::execute {

const Tensor& Executor::value(NodeId n) {
  compute(n, false);
  return value_views_.view(n, tensor(n, values_[n]));
}

void Executor::compute_all() {
  if (graph_.size() != 0) {
    compute(graph_.size() - 1, true);
  }
}

void Executor::compute(NodeId last, bool all) {
  values_.resize(graph_.size(), nullptr);
  group_of_.resize(graph_.size(), 0);
  offset_.resize(graph_.size(), 0);
  if (!all && values_[last] != nullptr) {
    return;
  }
  const Reading reading(*this);
  const kernels::FlushDenormals float_mode;
  collect_wanted(last, all);
  if (wanted_.empty()) {
    return;
  }
  schedule::make_plan(graph_, wanted_, policy_, scratch_, plan_);
  trace_plan(graph_, wanted_, plan_);
  for (const schedule::Group& group : plan_.groups) {
    run_group(plan_, group);
  }
  if (all) {
    computed_below_ = graph_.size();
  }
}

/// Ascending ids of the nodes that must run, found by one sweep back over the arguments. Parameters
/// met on the way get their value at once.
void Executor::collect_wanted(NodeId last, bool all) {
  wanted_.clear();
  is_wanted_.resize(graph_.size(), 0);
  if (all) {
    std::fill(is_wanted_.begin() + computed_below_, is_wanted_.end(), std::uint8_t{1});
  }
  is_wanted_[last] = 1;  // all others are 0: the sweep resets what it visits
  NodeId lowest = all ? computed_below_ : last;
  const auto want = [&](NodeId a) {
    if (values_[a] != nullptr) {
      return;
    }
    is_wanted_[a] = 1;
    lowest = std::min(lowest, a);
  };
  for (NodeId n = last + 1; n-- > lowest;) {
    if (is_wanted_[n] == 0) {
      continue;
    }
    is_wanted_[n] = 0;
    if (values_[n] != nullptr) {
      continue;
    }
    const NodeId owner = graph_.owner(n);
    if (owner != n) {
      want(owner);
    } else if (graph_[n].record().leaf == ext::Leaf::kParameter) {
      resolve_parameter(n);
    } else {
      wanted_.push_back(n);
      for (const NodeId a : graph_.args(n)) {
        want(a);
      }
    }
  }
  std::reverse(wanted_.begin(), wanted_.end());
}

/// The value of a parameter is its storage, or a scaled copy while weight decay is pending.
void Executor::resolve_parameter(NodeId n) {
  const graph::Node& node = graph_[n];
  const auto& storage = params::storage_base(node.payload->storage);
  const double decay = params::decay_factor(storage);
  const void* stored = params::values(storage);
  if (decay == 1.0) {
    values_[n] = const_cast<void*>(stored);  // values are written by trainers only, between passes
  } else {
    const std::int64_t elements = graph_.dim(n).elements();
    void* scaled = values_pool_.allocate(bytes(elements));
    kernels().add_scaled(decay, stored, scaled, elements, true);
    values_[n] = scaled;
  }
  resolved_.push_back(n);
}

void Executor::run_group(const schedule::Plan& plan, const schedule::Group& group) {
  const std::span<const NodeId> members{plan.members.data() + group.first, group.members};
  const ext::Record& record = graph_[members[0]].record();
  const memory::Pool::Mark before = values_pool_.mark();
  const memory::Placement place = memory::place_group(graph_, plan, group, number(), values_pool_);
  std::uint32_t offset = 0;
  for (const NodeId m : members) {
    offset_[m] = offset;
    if (record.aliases) {
      values_[m] = values_[graph_.args(m)[0]];
    }
    for (std::uint32_t k = 0; k < record.outputs && !record.aliases; ++k) {
      const std::int64_t size = bytes(graph_.dim(m + k).example_elements());
      values_[m + k] = static_cast<std::byte*>(place.outputs[k]) + offset * size;
    }
    offset += static_cast<std::uint32_t>(graph_.examples(m));
  }
  remember(plan, group, place);
  try {
    for (std::uint32_t s = group.begin; s < group.begin + group.count; ++s) {
      const schedule::Segment& segment = plan.segments[s];
      run_segment({plan.members.data() + segment.begin, segment.count}, segment.shared);
    }
  } catch (...) {
    for (const NodeId m : members) {
      forget(m);
    }
    history_.groups.pop_back();
    places_.pop_back();
    values_pool_.release(before);
    throw;
  }
}

void Executor::remember(const schedule::Plan& plan, const schedule::Group& group,
                        const memory::Placement& place) {
  const schedule::Group kept{static_cast<std::uint32_t>(history_.segments.size()), group.count,
                             static_cast<std::uint32_t>(history_.members.size()), group.members};
  for (std::uint32_t s = group.begin; s < group.begin + group.count; ++s) {
    schedule::Segment segment = plan.segments[s];
    segment.begin = segment.begin - group.first + kept.first;
    history_.segments.push_back(segment);
  }
  const auto first = plan.members.begin() + group.first;
  history_.members.insert(history_.members.end(), first, first + group.members);
  history_.groups.push_back(kept);
  places_.push_back(place);
  const auto index = static_cast<std::uint32_t>(history_.groups.size());
  for (std::uint32_t i = 0; i < group.members; ++i) {
    group_of_[plan.members[group.first + i]] = index;
  }
}

/// Drops the value of a node (and of its other outputs).
void Executor::forget(NodeId n) {
  for (std::uint32_t k = 0; k < graph_[n].record().outputs; ++k) {
    values_[n + k] = nullptr;
  }
  group_of_[n] = 0;
}

void Executor::run_segment(std::span<const NodeId> members, std::uint64_t shared) {
  const graph::Node& node = graph_[members[0]];
  const ext::Record& record = node.record();
  if (record.aliases) {
    return;
  }
  if (observer_ != nullptr) {
    observer_->on_call(graph_, members, shared, false);
  }
  if (record.leaf != ext::Leaf::kNo) {
    for (const NodeId m : members) {
      run_leaf(graph_[m], m);
    }
    return;
  }
  assembler_.reset();
  ext::Call call = assemble(members, shared);
  record.forward(node.signature->op, call);
}

/// Inputs and lookups: the places where numbers enter.
void Executor::run_leaf(const graph::Node& node, NodeId n) {
  auto* to = static_cast<std::byte*>(values_[n]);
  if (node.record().leaf == ext::Leaf::kInput) {
    const std::span<const float> from = graph_.values(n);
    kernels().from_floats(from.data(), to, graph_.dim(n).elements());  // there may be more
    return;
  }
  const auto& table = params::lookup_storage(node.payload->storage);
  const double decay = params::decay_factor(table);
  const std::int64_t elements = graph_.dim(n).example_elements();
  for (const unsigned index : graph_.indices(n)) {
    kernels().add_scaled(decay, params::row(table, index), to, elements, true);
    to += bytes(elements);
  }
}

void Executor::invalidate() {
  std::fill(values_.begin(), values_.end(), nullptr);
  std::fill(group_of_.begin(), group_of_.end(), 0);
  value_views_.clear();
  history_.clear();
  places_.clear();
  resolved_.clear();
  values_pool_.reset();
  drop_gradients();
  computed_below_ = 0;
  ++evaluation_;
}

void Executor::revert(const Mark& mark, NodeId first_removed) {
  while (history_.groups.size() > mark.groups) {
    const schedule::Group group = history_.groups.back();
    for (std::uint32_t i = 0; i < group.members; ++i) {
      forget(history_.members[group.first + i]);
    }
    history_.members.resize(group.first);
    history_.segments.resize(group.begin);
    history_.groups.pop_back();
    places_.pop_back();
  }
  while (resolved_.size() > mark.resolved) {
    values_[resolved_.back()] = nullptr;
    resolved_.pop_back();
  }
  values_pool_.release(mark.pool);
  drop_gradients();
  const auto truncate = [first_removed](auto& per_node) {
    if (per_node.size() > first_removed) {
      per_node.resize(first_removed);
    }
  };
  truncate(values_);
  truncate(group_of_);
  truncate(offset_);
  value_views_.clear();
  computed_below_ = std::min(computed_below_, first_removed);
}

void Executor::remove_all() {
  invalidate();
  values_.clear();
  group_of_.clear();
  offset_.clear();
  stamp_.clear();
  stamp_arg_.clear();
  stamp_count_ = 0;
  evaluation_ = 0;
}

void Executor::clear(std::size_t keep_bytes) {
  remove_all();
  observer_ = nullptr;
  values_pool_.trim(keep_bytes);
  gradients_pool_.trim(keep_bytes);
}

Tensor Executor::tensor(NodeId n, void* data) const {
  return Tensor(graph_.dim(n), static_cast<float*>(data), const_cast<Device*>(device_),
                DeviceMempool::FXS);
}

}  // namespace dynet::execute
