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
  const Mark before = mark();
  try {
    collect_wanted(last, all);
    if (!wanted_.empty()) {
      scheduler_.plan(graph_, wanted_, plan_);
      trace_plan(graph_, wanted_, plan_);
      run_plan();
    }
  } catch (...) {
    roll_back(before);
    is_wanted_.clear();  // all 0 between requests
    throw;
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
  // Marks are bytes, which may alias anything: what they are read with is kept in registers.
  std::uint8_t* const is_wanted = is_wanted_.data();
  void* const* const values = values_.data();
  const graph::Node* const nodes = &graph_[0];
  is_wanted[last] = 1;  // all others are 0: the sweep resets what it visits
  NodeId lowest = all ? computed_below_ : last;
  const auto want = [&](NodeId a) {
    if (values[a] == nullptr) {
      is_wanted[a] = 1;
      lowest = std::min(lowest, a);
    }
  };
  for (NodeId n = last + 1; n-- > lowest;) {
    if (is_wanted[n] == 0) {
      continue;
    }
    is_wanted[n] = 0;
    if (values[n] != nullptr) {
      continue;
    }
    const graph::Node& node = nodes[n];
    if (node.output != 0) {
      want(n - node.output);
    } else if (node.record().leaf == ext::Leaf::kParameter) {
      resolve_parameter(n);
    } else {
      wanted_.push_back(n);
      for (std::uint32_t a = 0; a < node.arity; ++a) {
        want(node.args[a]);
      }
    }
  }
  std::reverse(wanted_.begin(), wanted_.end());
}

/// The value of a parameter is its storage, or a copy while weight decay or exact updates are
/// pending.
void Executor::resolve_parameter(NodeId n) {
  const auto& storage = params::storage_base(graph_[n].payload->storage);
  if (params::is_as_stored(storage)) {
    // Values are written by trainers only, between passes.
    values_[n] = const_cast<void*>(params::values(storage));
  } else {
    values_[n] = values_pool_.allocate(bytes(graph_.elements(n)));
    params::read(storage, values_[n]);
  }
  resolved_.push_back(n);
}

void Executor::run_plan() {
  for (const schedule::Group& group : plan_.groups) {
    if (group.part != schedule::Part::kRest) {
      place_group(group);
    }
    remember(group);
    for (std::uint32_t s = group.begin; s < group.begin + group.count; ++s) {
      const schedule::Segment& segment = plan_.segments[s];
      calls_.push_back(run_segment({{plan_.members.data() + segment.begin, segment.count},
                                    segment.shared,
                                    group.args,
                                    group.part}));
    }
  }
}

/// Gives the members their memory, and their place in the history to come.
void Executor::place_group(const schedule::Group& group) {
  const std::span<const NodeId> members{plan_.members.data() + group.first, group.members};
  const ext::Record& record = graph_[members[0]].record();
  const auto index = static_cast<std::uint32_t>(history_.groups.size() + 1);
  if (record.aliases) {
    for (const NodeId m : members) {
      values_[m] = values_[graph_.args(m)[0]];
      group_of_[m] = index;
      offset_[m] = 0;
    }
    return;
  }
  const memory::Placement place = memory::place_group(graph_, members, number(), values_pool_);
  std::byte* at[ext::kMaxOutputs];
  std::int64_t stride[ext::kMaxOutputs];
  for (std::uint32_t k = 0; k < record.outputs; ++k) {
    at[k] = static_cast<std::byte*>(place.outputs[k]);
    stride[k] = example_bytes(members[0] + k);
  }
  std::uint32_t offset = 0;
  for (const NodeId m : members) {
    group_of_[m] = index;
    offset_[m] = offset;
    const std::int64_t examples = graph_.examples(m);
    for (std::uint32_t k = 0; k < record.outputs; ++k) {
      values_[m + k] = at[k];
      at[k] += stride[k] * examples;
    }
    offset += static_cast<std::uint32_t>(examples);
  }
  places_.resize(index);
  places_[index - 1] = place;
}

void Executor::remember(const schedule::Group& group) {
  schedule::Group kept = group;
  kept.begin = static_cast<std::uint32_t>(history_.segments.size());
  kept.first = static_cast<std::uint32_t>(history_.members.size());
  for (std::uint32_t s = group.begin; s < group.begin + group.count; ++s) {
    schedule::Segment segment = plan_.segments[s];
    segment.begin = segment.begin - group.first + kept.first;
    history_.segments.push_back(segment);
  }
  const auto first = plan_.members.begin() + group.first;
  history_.members.insert(history_.members.end(), first, first + group.members);
  history_.groups.push_back(kept);
}

/// Drops the value of a node (and of its other outputs).
void Executor::forget(NodeId n) {
  for (std::uint32_t k = 0; k < graph_[n].record().outputs; ++k) {
    values_[n + k] = nullptr;
  }
  group_of_[n] = 0;
}

Executor::Assembled* Executor::run_segment(const Step& step) {
  const graph::Node& node = graph_[step.members[0]];
  const ext::Record& record = node.record();
  if (record.aliases) {
    return nullptr;
  }
  if (observer_ != nullptr) {
    observer_->on_call(graph_, {step.members, step.shared, step.args, false});
  }
  if (record.leaf != ext::Leaf::kNo) {
    for (const NodeId m : step.members) {
      run_leaf(graph_[m], m);
    }
    return nullptr;
  }
  Assembled* assembled = assemble(step);
  record.forward(node.signature->op, assembled->call);
  return assembled;
}

/// Inputs and lookups: the places where numbers enter.
void Executor::run_leaf(const graph::Node& node, NodeId n) {
  auto* to = static_cast<std::byte*>(values_[n]);
  if (node.record().leaf == ext::Leaf::kInput) {
    const std::span<const float> from = graph_.values(n);
    kernels().from_floats(from.data(), to, graph_.elements(n));  // there may be more
    return;
  }
  const auto& table = params::lookup_storage(node.payload->storage);
  const std::int64_t row_bytes = bytes(graph_.example_size(n));
  for (const unsigned index : graph_.indices(n)) {
    params::read_row(table, index, to);
    to += row_bytes;
  }
}

void Executor::invalidate() {
  std::fill(values_.begin(), values_.end(), nullptr);
  std::fill(group_of_.begin(), group_of_.end(), 0);
  value_views_.clear();
  history_.clear();
  calls_.clear();
  places_.clear();
  resolved_.clear();
  values_pool_.reset();
  assembler_.release({});
  drop_gradients();
  computed_below_ = 0;
  ++evaluation_;
}

/// Forgets what was computed after the mark.
void Executor::roll_back(const Mark& mark) {
  while (history_.groups.size() > mark.groups) {
    const schedule::Group group = history_.groups.back();
    for (std::uint32_t i = 0; i < group.members; ++i) {
      forget(history_.members[group.first + i]);
    }
    history_.members.resize(group.first);
    history_.segments.resize(group.begin);
    history_.groups.pop_back();
  }
  calls_.resize(std::min(calls_.size(), history_.segments.size()));
  while (resolved_.size() > mark.resolved) {
    values_[resolved_.back()] = nullptr;
    resolved_.pop_back();
  }
  values_pool_.release(mark.pool);
  assembler_.release(mark.operands);
}

void Executor::revert(const Mark& mark, NodeId first_removed) {
  roll_back(mark);
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
