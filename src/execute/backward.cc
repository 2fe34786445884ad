// Backward: the order in which the groups of a pass are walked.
#include <algorithm>
#include <iterator>
#include <span>
#include <string>

#include "execute/executor.h"
#include "execute/reading.h"
#include "kernels/float_mode.h"

namespace dynet::execute {

void Executor::backward(NodeId root, bool full) {
  const graph::Graph& graph = context_.graph;
  if (is_in_inference_scope()) {
    throw GraphError(
        "backward: within an inference scope there are no gradients; call it outside\n  " +
        graph.describe(root));
  }
  if (graph.dim(root).elements() != 1) {
    throw ShapeError("backward: the node has shape " + to_string(graph.dim(root)) +
                     "; want one element, such as a loss summed over its batch\n  " +
                     graph.describe(root));
  }
  compute(root, false);
  const Reading reading(graph);
  forget_gradients();
  const Hooks::Request request(hooks_, true);
  const util::Arena::Mark before = arena_.mark();
  try {
    hooks_.rehearse([&] { run_backward(root, full, Pass::kInspect); });
    run_backward(root, full, Pass::kAccumulate);
    hooks_.each([](Hook& hook) { hook.before_delivery(); });
    deliver();
    changes_.pass(path_.found());
  } catch (...) {
    arena_.release(before);
    forget_gradients();
    gradients_.pools().reset();
    give_back_unused();
    throw;
  }
  arena_.release(before);
  request_ = {true, full, root, Pass::kAccumulate};
  hooks_.each([](Hook& hook) { hook.after_request("backward"); });
}

void Executor::run_backward(NodeId root, bool full, Pass pass) {
  const kernels::FlushDenormals float_mode;
  changes_.begin_backward(root);
  // A pass that only inspects leaves the memory of the views handed out so far alone.
  gradients_.begin(pass == Pass::kInspect);
  weights_.begin();
  computed_weights_.begin();
  upload_.clear();
  path_.find(root, full, pass == Pass::kAccumulate, gradients_);
  const NodeId owner = gradients_.owner(root);
  context_.kernels(owner).fill(gradients_.target(owner).data, 1.0, 1);
  path_.walk_groups([&](std::uint32_t g) {
    hooks_.each([g](Hook& hook) { hook.before_group(g); });
    const schedule::Group& group = history_.group(g);
    for (std::uint32_t s = group.begin + group.count; s-- > group.begin;) {
      const SegmentView segment = history_.segment(group, s);
      Assembled* const call = history_.call(s);
      backward_segment(segment, changes_.has_any() ? put_back(segment, call) : call, pass);
    }
  });
  computed_weights_.finish_all();  // of rows of tables
  gradients_.settle_all();
}

/// Adds up the pieces of the gradients of nodes that the pass comes to.
void Executor::settle_gradients(std::span<const NodeId> members) {
  if (!gradients_.has_pieces()) {
    return;
  }
  const std::uint32_t outputs = context_.graph[members[0]].record().outputs;
  for (const NodeId m : members) {
    for (std::uint32_t k = 0; k < outputs; ++k) {
      gradients_.settle(m + k);
    }
  }
}

/// The products that were left for the gradients of nodes that the pass comes to.
void Executor::finish_weights(std::span<const NodeId> members) {
  const std::uint32_t outputs = context_.graph[members[0]].record().outputs;
  for (const NodeId m : members) {
    for (std::uint32_t k = 0; k < outputs; ++k) {
      computed_weights_.finish(m + k);
    }
  }
}

/// The call of a segment, with the values of parameters that it was computed with.
Assembled* Executor::put_back(const SegmentView& segment, Assembled* call) {
  const graph::Node& node = context_.graph[segment.members[0]];
  if (node.record().is_leaf() || node.record().stops_gradient || !needs_call(node)) {
    return call;
  }
  if (call == nullptr) {  // not kept
    call = assembly_.call(segment);
  }
  changes_.put_back(segment, *call);
  return call;
}

void Executor::backward_segment(const SegmentView& segment, Assembled* whole, Pass pass) {
  const ext::Record& record = context_.graph[segment.members[0]].record();
  if (record.stops_gradient || record.gradient_goes_to != ext::GradientTo::kArguments) {
    return;
  }
  settle_gradients(segment.members);
  if (computed_weights_.has_any()) {
    finish_weights(segment.members);
    settle_gradients(segment.members);
  }
  const auto is_active = [outputs = record.outputs, notes = gradients_.notes()](NodeId m) {
    bool reached = notes.is_written(m);
    for (std::uint32_t k = 1; k < outputs && !reached; ++k) {
      reached = notes.is_written(m + k);
    }
    return reached && notes.needs(m);
  };
  std::span<const NodeId> active = segment.members;
  if (!std::all_of(active.begin(), active.end(), is_active)) {
    active_.clear();
    std::copy_if(active.begin(), active.end(), std::back_inserter(active_), is_active);
    active = active_;
  }
  if (active.empty() || context_.graph[active[0]].arity == 0) {
    return;
  }
  const util::Arena::Mark before = arena_.mark();
  const bool is_copy = context_.graph[active[0]].signature->from != nullptr;
  if (whole == nullptr && !record.aliases && !is_copy) {  // not kept
    whole = assembly_.call(segment);
  }
  if (is_copy) {
    copy_back(active);
  } else if (record.aliases) {
    for (const NodeId m : active) {
      backward_alias(m);
    }
  } else if (pass == Pass::kInspect) {  // each member's own parameter node gets its own gradient
    for (const NodeId& m : active) {
      backward_call(segment, {&m, 1}, *whole, pass);
    }
  } else {
    backward_call(segment, active, *whole, pass);
  }
  arena_.release(before);
}

void Executor::backward_call(const SegmentView& segment, std::span<const NodeId> active,
                             Assembled& whole, Pass pass) {
  const graph::Node& node = context_.graph[active[0]];
  const util::Arena::Mark before = arena_.mark();
  Assembled& assembled =
      active.size() == segment.members.size() ? whole : *assembly_.part(segment, active, whole);
  if (changes_.has_any()) {
    changes_.put_back(segment, assembled);
  }
  upload_.send(gradients_.pools());
  gradient_operands_.attach(assembled, active, segment.shared, pass == Pass::kAccumulate);
  const Hook::Call call{active, segment.shared, segment.args, segment.part, true, true};
  hooks_.each([&](Hook& hook) { hook.before_call(context_.graph, call); });
  call_memory_.begin_call(*node.device().memory);
  node.record().backward(node.signature->op, assembled.call);
  call_memory_.end_call();
  hooks_.each([&](Hook& hook) { hook.after_call(context_.graph, call); });
  gradient_operands_.settle(assembled);
  arena_.release(before);
}

void Executor::copy_back(std::span<const NodeId> active) {
  const Hook::Call call{active, 0, schedule::kAllArgs, schedule::Part::kWhole, true, false};
  hooks_.each([&](Hook& hook) { hook.before_call(context_.graph, call); });
  copies_.backward(active);
  hooks_.each([&](Hook& hook) { hook.after_call(context_.graph, call); });
}

/// An alias has its argument's memory as value, but a gradient of its own.
void Executor::backward_alias(NodeId n) {
  const NodeId argument = context_.graph[n].args[0];
  if (!gradients_.needs(argument)) {
    return;
  }
  const NodeId t = gradients_.owner(argument);
  const Gradients::Target to = gradients_.target(t);
  context_.kernels(t).add_scaled(1.0, gradients_.ensure(n), to.data, context_.graph.elements(t),
                                 to.fresh);
}

}  // namespace dynet::execute
