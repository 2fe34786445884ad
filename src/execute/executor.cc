#include "execute/executor.h"

#include <algorithm>

#include "execute/reading.h"
#include "execute/trace.h"
#include "execute/verify.h"
#include "kernels/float_mode.h"

namespace dynet::execute {

void Executor::follow_device() {
  ext::Memory& own = *context_.graph.device().memory;
  values_.pools().set_own(own);
  gradients_.pools().set_own(own);
  call_memory_.pools().set_own(own);
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
  Watch watch(context_.graph, false, watch_);
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
  call_memory_.pools().reset();
  call_memory_.pools().give_back_unused();
  values_.pools().give_back_unused();
  gradients_.pools().give_back_unused();
}

/// Runs the groups from `first_group` on. `has_backward`: backward may want their calls. The
/// payload of all groups goes to devices that the host does not see in one copy. Where nothing is
/// kept for backward it goes in parts, each of which takes the memory of the one before: the queues
/// keep their order.
void Executor::run(std::uint32_t first_group, bool has_backward) {
  if (values_.pools().are_host_visible()) {
    for (std::uint32_t g = first_group; g < history_.size(); ++g) {
      run_group(g, false, has_backward);
    }
    return;
  }
  constexpr std::size_t kPart = std::size_t{1} << 16;
  std::uint32_t end = first_group;
  while (end < history_.size()) {
    const std::uint32_t begin = end;
    const graph::Arena::Mark calls = arena_.mark();
    const memory::Pools::Mark payload = values_.pools().mark();
    bool are_some_made = false;
    do {
      are_some_made = assemble_uploaded(end++) || are_some_made;
    } while (end < history_.size() && (has_backward || upload_.bytes() < kPart));
    upload_.send(values_.pools());
    for (std::uint32_t g = begin; g < end; ++g) {
      run_group(g, are_some_made && is_uploaded(g), has_backward);
    }
    if (!has_backward) {
      arena_.release(calls);
      values_.pools().release(payload);
    }
  }
}

/// Whether the payload of the calls of a group has to be brought to its device.
bool Executor::is_uploaded(std::uint32_t g) const {
  return !context_.memory(history_.members(g)[0]).is_host_visible();
}

/// Makes the calls of a group whose payload is uploaded. False where it is not.
bool Executor::assemble_uploaded(std::uint32_t g) {
  if (!is_uploaded(g)) {
    return false;
  }
  const schedule::Group& group = history_.group(g);
  for (std::uint32_t s = group.begin; s < group.begin + group.count; ++s) {
    history_.set_call(s, assemble(history_.segment(group, s)));
  }
  return true;
}

/// `is_made`: its calls are.
void Executor::run_group(std::uint32_t g, bool is_made, bool has_backward) {
  const schedule::Group& group = history_.group(g);
  for (std::uint32_t s = group.begin; s < group.begin + group.count; ++s) {
    const SegmentView segment = history_.segment(group, s);
    if (is_made) {
      run_segment(segment, history_.call(s));
      continue;
    }
    const graph::Arena::Mark before = arena_.mark();
    Assembled* const call = assemble(segment);
    run_segment(segment, call);
    if (has_backward && (s < limits_.kept_calls || !can_be_made_again(segment))) {
      history_.set_call(s, call);
    } else {
      arena_.release(before);
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
    trace_memory(wanted_.nodes().size(), static_cast<std::size_t>(values_.layout().bytes()),
                 static_cast<std::size_t>(values_.layout().kept_bytes()), values_);
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
  const graph::Node& node = context_.graph[segment.members[0]];
  return needs_call(node) ? assembly_.call(segment) : nullptr;
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
    if (node.signature->from != nullptr) {
      copies_.forward(segment.members);
    } else {
      payload_.write_inputs(segment.members, values_);
    }
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
    call_memory_.begin_call(*node.device().memory);
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
  values_.pools().trim(keep_bytes);
  gradients_.pools().trim(keep_bytes);
  call_memory_.pools().trim(keep_bytes);
}

}  // namespace dynet::execute
