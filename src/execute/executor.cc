#include "execute/executor.h"

#include <algorithm>

#include "execute/reading.h"
#include "execute/trace.h"
#include "execute/verify.h"
#include "kernels/float_mode.h"

namespace dynet::execute {

void Executor::set_device(const Device& device) {
  context_.set_device(device);
  values_.pool().set_memory(*device.memory);
  gradients_.pool().set_memory(*device.memory);
  call_memory_.pool().set_memory(*device.memory);
}

const Tensor& Executor::value(NodeId n) {
  compute(n, false);
  verify_if_paranoid(*this, "value");
  return value_views_.view(n, context_.tensor(n, values_.at(n)));
}

void Executor::compute_all() {
  if (context_.graph.size() != 0) {
    compute(context_.graph.size() - 1, true);
    values_.set_complete();
  }
  verify_if_paranoid(*this, "checkpoint");
}

void Executor::compute(NodeId last, bool all) {
  values_.grow();
  if (!all && values_.has(last)) {
    return;
  }
  const Reading reading(context_.graph);
  const kernels::FlushDenormals float_mode;
  Watch watch(context_.graph, false, context_.bytes(1), watch_);
  const Mark before = mark();
  try {
    if (all) {
      wanted_.collect_all(context_.graph, values_, values_.complete_below());
    } else {
      wanted_.collect(context_.graph, values_, last);
    }
    for (const NodeId n : wanted_.parameters()) {
      values_.place_parameter(n);
    }
    run_wanted(last, all);
  } catch (...) {
    roll_back(before);
    give_back_unused();
    throw;
  }
}

/// Nodes stand in the order they were made in, so a piece depends on none after it.
void Executor::run_wanted(NodeId asked, bool all_nodes) {
  const std::vector<NodeId>& all = wanted_.nodes();
  if (!all.empty() && is_in_inference_scope() && !lifetimes_.keeps_all(wanted_, all_nodes)) {
    scheduler_.plan(context_.graph, all, plan_);
    run_dropping(asked, history_.size());
    return;
  }
  for (std::size_t begin = 0; begin < all.size(); begin += limits_.planned_nodes) {
    const bool is_whole = all.size() <= limits_.planned_nodes;
    if (!is_whole) {
      const std::size_t end = std::min(all.size(), begin + limits_.planned_nodes);
      piece_.assign(all.begin() + static_cast<std::ptrdiff_t>(begin),
                    all.begin() + static_cast<std::ptrdiff_t>(end));
    }
    const std::vector<NodeId>& nodes = is_whole ? all : piece_;
    const std::uint32_t first_group = history_.size();
    scheduler_.plan(context_.graph, nodes, plan_);
    trace_plan(context_.graph, nodes, plan_);
    history_.append(plan_);
    const std::size_t used = values_.used();
    values_.place(history_, first_group);
    trace_memory(nodes.size(), values_.used() - used, values_.used() - used, values_);
    run(first_group, true);
  }
}

/// Whether backward would read what forward read: no indices or numbers behind a program's pointer,
/// and no random numbers, whose seed may have been set anew.
bool Executor::can_be_made_again(const SegmentView& segment) const {
  return std::all_of(segment.members.begin(), segment.members.end(), [&](NodeId m) {
    const graph::Node& node = context_.graph[m];
    return !node.record().random &&
           (node.payload == nullptr || node.payload->form == ext::NodePayload::kCopied);
  });
}

/// After a failure: what the failed request took is there for smaller ones, of other graphs too.
void Executor::give_back_unused() {
  call_memory_.end_call();
  call_memory_.pool().give_back_unused();
  values_.pool().give_back_unused();
  gradients_.pool().give_back_unused();
}

/// Runs the groups from `first_group` on. `has_backward`: backward may want their calls.
void Executor::run(std::uint32_t first_group, bool has_backward) {
  if (!context_.device().is_host_visible()) {
    run_uploading(first_group, has_backward);
    return;
  }
  for_each_segment(first_group, history_.size(), [&](const SegmentView& segment, std::uint32_t s) {
    const graph::Arena::Mark before = arena_.mark();
    Assembled* const call = assemble(segment);
    run_segment(segment, call);
    if (has_backward && (s < limits_.kept_calls || !can_be_made_again(segment))) {
      history_.set_call(s, call);
    } else {
      arena_.release(before);
    }
  });
}

/// The payload of all groups goes to the device in one copy. Where nothing is kept for backward it
/// goes in parts, each of which takes the memory of the one before: the queue keeps their order.
void Executor::run_uploading(std::uint32_t first_group, bool has_backward) {
  constexpr std::size_t kPart = std::size_t{1} << 16;
  std::uint32_t end = first_group;
  while (end < history_.size()) {
    const std::uint32_t begin = end;
    const graph::Arena::Mark calls = arena_.mark();
    const memory::Pool::Mark payload = values_.pool().mark();
    do {
      ++end;
      for_each_segment(end - 1, end, [&](const SegmentView& segment, std::uint32_t s) {
        history_.set_call(s, assemble(segment));
      });
    } while (end < history_.size() && (has_backward || upload_.bytes() < kPart));
    upload_.send(values_.pool());
    for_each_segment(begin, end, [&](const SegmentView& segment, std::uint32_t s) {
      run_segment(segment, history_.call(s));
    });
    if (!has_backward) {
      arena_.release(calls);
      values_.pool().release(payload);
    }
  }
}

/// Calls `f(segment, its number)` for those of the groups from `begin` to `end`.
template <class F>
void Executor::for_each_segment(std::uint32_t begin, std::uint32_t end, F f) {
  for (std::uint32_t g = begin; g < end; ++g) {
    const schedule::Group& group = history_.group(g);
    for (std::uint32_t s = group.begin; s < group.begin + group.count; ++s) {
      f(history_.segment(group, s), s);
    }
  }
}

/// Computes `asked` by the plan and keeps what `lifetimes_` says.
void Executor::run_dropping(NodeId asked, std::uint32_t first_group) {
  const graph::Graph& graph = context_.graph;
  shortener_.shorten(graph, plan_, short_plan_);
  trace_plan(graph, wanted_.nodes(), short_plan_);
  history_.append(short_plan_);
  util::Stamped<std::uint8_t>& stays = lifetimes_.decide(graph, values_, short_plan_, asked);
  try {
    values_.place_by_lifetime(history_, short_plan_, first_group, stays);
    trace_memory(wanted_.nodes().size(), static_cast<std::size_t>(values_.layout().bytes),
                 static_cast<std::size_t>(values_.layout().kept_bytes), values_);
    run(first_group, false);
    values_.keep(short_plan_, first_group, stays);
  } catch (...) {
    lifetimes_.undo(graph, short_plan_);
    throw;
  }
  lifetimes_.note_dropped(graph, short_plan_);
  history_.shrink(first_group);
}

/// Null where there is nothing to call.
Assembled* Executor::assemble(const SegmentView& segment) {
  const ext::Record& record = context_.graph[segment.members[0]].record();
  const bool is_written = record.payload_is_value && context_.device().is_host_visible();
  return record.aliases || is_written ? nullptr : assembly_.call(segment);
}

void Executor::run_segment(const SegmentView& segment, Assembled* assembled) {
  if (watch_ == nullptr || context_.graph[segment.members[0]].record().aliases) {
    call_segment(segment, assembled);
    return;
  }
  watch_->before_call(segment.members);
  call_segment(segment, assembled);
  watch_->after_call(segment.members);
}

void Executor::call_segment(const SegmentView& segment, Assembled* assembled) {
  const graph::Node& node = context_.graph[segment.members[0]];
  const ext::Record& record = node.record();
  if (record.aliases) {
    return;
  }
  if (observer_ != nullptr) {
    observer_->on_call(context_.graph, {segment.members, segment.shared, segment.args, false});
  }
  if (assembled == nullptr) {
    payload_.write_inputs(segment.members, values_);
  } else if (record.payload_is_value) {
    const ext::Call& call = assembled->call;
    call.kernels.move(ext::whole_move(call.out[0].size()), call.values, call.out[0]);
  } else if (record.reads_storage == ext::Storage::kRows) {
    const unsigned* rows = assembled->host_indices();
    for (const NodeId m : segment.members) {
      payload_.write_rows(m, rows, values_.at(m));
      rows += context_.graph.examples(m);
    }
  } else {
    if (alone_ != nullptr) {
      alone_->compute(segment);
    }
    record.forward(node.signature->op, assembled->call);
    call_memory_.end_call();
    if (alone_ != nullptr) {
      alone_->compare(segment);
    }
  }
}

void Executor::forget() {
  history_.clear();
  values_.forget();
  value_views_.clear();
  arena_.release({});
  lifetimes_.forget();
  forget_gradients();
}

void Executor::forget_gradients() {
  request_ = {};
  gradient_views_.clear();
}

void Executor::invalidate() {
  forget();
  payload_.next_evaluation();
}

/// Forgets what was computed after a mark of this generation.
void Executor::roll_back(const Mark& mark) {
  upload_.clear();
  values_.roll_back(mark.values, history_, mark.groups);
  history_.shrink(mark.groups);
  arena_.release(mark.operands);
}

void Executor::revert(const Mark& mark, NodeId first_removed) {
  if (mark.generation == history_.generation()) {
    roll_back(mark);
    value_views_.clear();
    forget_gradients();
  } else {
    forget();
  }
  values_.truncate(first_removed);
  lifetimes_.truncate(first_removed);
}

void Executor::remove_all() {
  forget();
  values_.truncate(0);
  payload_.restart_evaluations();
}

void Executor::clear(std::size_t keep_bytes) {
  remove_all();
  observer_ = nullptr;
  limits_ = {};
  values_.pool().trim(keep_bytes);
  gradients_.pool().trim(keep_bytes);
  call_memory_.pool().trim(keep_bytes);
}

}  // namespace dynet::execute
