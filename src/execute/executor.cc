#include "execute/executor.h"

#include "execute/reading.h"
#include "execute/trace.h"
#include "kernels/float_mode.h"

namespace dynet::execute {

const Tensor& Executor::value(NodeId n) {
  compute(n, false);
  return value_views_.view(n, context_.tensor(n, values_.at(n)));
}

void Executor::compute_all() {
  if (context_.graph.size() != 0) {
    compute(context_.graph.size() - 1, true);
    values_.set_complete();
  }
}

void Executor::compute(NodeId last, bool all) {
  values_.grow();
  if (!all && values_.has(last)) {
    return;
  }
  const Reading reading(context_.graph);
  const kernels::FlushDenormals float_mode;
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
    if (wanted_.nodes().empty()) {
      return;
    }
    scheduler_.plan(context_.graph, wanted_.nodes(), plan_);
    trace_plan(context_.graph, wanted_.nodes(), plan_);
    history_.append(plan_);
    values_.place(history_, before.groups);
    run(before.groups);
  } catch (...) {
    roll_back(before);
    throw;
  }
}

void Executor::run(std::uint32_t first_group) {
  for (std::uint32_t g = first_group; g < history_.size(); ++g) {
    const schedule::Group& group = history_.group(g);
    for (std::uint32_t s = group.begin; s < group.begin + group.count; ++s) {
      history_.set_call(s, run_segment(history_.segment(group, s)));
    }
  }
}

/// Returns what was assembled; null where there was nothing to call.
Assembled* Executor::run_segment(const SegmentView& segment) {
  const graph::Node& node = context_.graph[segment.members[0]];
  const ext::Record& record = node.record();
  if (record.aliases) {
    return nullptr;
  }
  if (observer_ != nullptr) {
    observer_->on_call(context_.graph, {segment.members, segment.shared, segment.args, false});
  }
  if (record.leaf != ext::Leaf::kNo) {
    return run_leaf(segment);
  }
  Assembled* assembled = assembly_.call(segment);
  record.forward(node.signature->op, assembled->call);
  call_memory_.end_call();
  return assembled;
}

/// Inputs and lookups: the places where numbers enter.
Assembled* Executor::run_leaf(const SegmentView& segment) {
  if (context_.graph[segment.members[0]].record().leaf == ext::Leaf::kInput) {
    for (const NodeId m : segment.members) {
      payload_.write_input(m, values_.at(m));
    }
    return nullptr;
  }
  Assembled* assembled = assembly_.call(segment);
  const unsigned* rows = assembled->call.index_data();
  for (const NodeId m : segment.members) {
    payload_.write_rows(m, rows, values_.at(m));
    rows += context_.graph.examples(m);
  }
  return assembled;
}

void Executor::forget() {
  history_.clear();
  values_.forget();
  value_views_.clear();
  arena_.release({});
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
}

void Executor::remove_all() {
  forget();
  values_.truncate(0);
  payload_.restart_evaluations();
}

void Executor::clear(std::size_t keep_bytes) {
  remove_all();
  observer_ = nullptr;
  values_.pool().trim(keep_bytes);
  gradients_.pool().trim(keep_bytes);
  call_memory_.pool().trim(keep_bytes);
}

}  // namespace dynet::execute
