// Backward: the order in which the groups of a pass are walked.
#include "execute/backward.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>

#include "execute/reading.h"
#include "execute/routes.h"
#include "kernels/float_mode.h"

namespace dynet::execute {
namespace {
/// Members of a group whose gradients one call computes if they all read one large node: the pieces
/// of its gradient (gradients.h) are added up between calls. Calls of other groups stay whole, as
/// operands of parts of a group cost some 100 instructions for each member.
constexpr std::size_t kMembersAtOnce = 256;
constexpr std::int64_t kManyBytes = std::int64_t{1} << 20;  ///< of pieces, one for 31 readers

/// Looks at neighbours in two places. A group that it misses takes more memory, no more.
bool reads_one_large_node(const graph::Graph& graph, const Assembled& call) {
  return std::any_of(call.arguments.begin(), call.arguments.end(), [&](const Argument& argument) {
    const std::span<const NodeId> nodes = argument.nodes;
    const std::size_t middle = nodes.size() / 2;
    return nodes.size() > kMembersAtOnce &&
           (nodes[0] == nodes[1] || nodes[middle] == nodes[middle + 1]) &&
           graph.bytes(nodes[middle]) > kManyBytes / static_cast<std::int64_t>(nodes.size() / 31);
  });
}

/// Calls `f` with the members that one call computes the gradients of, one part after the other.
template <class F>
void for_each_part(const graph::Graph& graph, const Assembled& call, std::span<const NodeId> active,
                   F f) {
  const std::size_t at_once = reads_one_large_node(graph, call) ? kMembersAtOnce : active.size();
  for (std::size_t begin = 0; begin < active.size(); begin += at_once) {
    f(active.subspan(begin, std::min(at_once, active.size() - begin)));
  }
}
}  // namespace

void Backward::run(NodeId root, bool full) {
  const Reading reading(context_.graph);
  forget();
  const Hooks::Request request(hooks_, true);
  const util::Arena::Mark before = tools_.arena.mark();
  try {
    hooks_.rehearse([&] { walk(root, full, Pass::kInspect); });
    walk(root, full, Pass::kAccumulate);
    hooks_.each([](Hook& hook) { hook.before_delivery(); });
    deliver();
    changes_.pass(path_.found());
  } catch (...) {
    tools_.arena.release(before);
    forget();
    gradients_.pools().reset();
    throw;
  }
  tools_.arena.release(before);
  request_ = {true, full, root, Pass::kAccumulate};
  hooks_.each([](Hook& hook) { hook.after_request("backward"); });
}

void Backward::walk(NodeId root, bool full, Pass pass) {
  const kernels::FlushDenormals float_mode;
  changes_.begin_backward(root);
  // A pass that only inspects leaves the memory of the views handed out so far alone.
  gradients_.begin(pass == Pass::kInspect);
  products_.begin(context_.graph.size());
  tools_.upload.clear();
  path_.find(root, full, pass == Pass::kAccumulate, gradients_);
  const NodeId owner = gradients_.owner(root);
  context_.kernels(owner).fill(gradients_.target(owner).data, 1.0, 1);
  path_.walk_groups([&](std::uint32_t g) {
    hooks_.each([g](Hook& hook) { hook.before_group(g); });
    const schedule::Group& group = history_.group(g);
    for (std::uint32_t s = group.begin + group.count; s-- > group.begin;) {
      const SegmentView segment = history_.segment(group, s);
      Assembled* const call = history_.call(s);
      run_segment(segment, changes_.has_any() ? put_back(segment, call) : call, pass);
    }
  });
  for (const NodeId weight : products_.weights()) {  // rows of tables
    if (products_done(context_.graph, weight) != ProductsDone::kAtDelivery) {
      finish_products(weight);
    }
  }
  gradients_.settle_all();
}

/// Adds up the pieces of the gradients of nodes that the pass comes to.
void Backward::settle_gradients(std::span<const NodeId> members) {
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

/// Adds the products that were left for `n`, if any, to its gradient.
void Backward::finish_products(NodeId n) {
  if (!products_.has(n)) {
    return;
  }
  gradients_.begin_write();
  const Gradients::Target to = gradients_.target(n);
  gradients_.finish_pieces();
  const ext::Block block{to.data, 1, to.fresh};
  products_.add(context_.kernels(n), n,
                {.dim = context_.graph.dim(n), .examples = 1, .blocks = &block, .block_count = 1});
  products_.drop(n);
}

/// The products that were left for the gradients of nodes that the pass comes to.
void Backward::finish_weights(std::span<const NodeId> members) {
  const std::uint32_t outputs = context_.graph[members[0]].record().outputs;
  for (const NodeId m : members) {
    for (std::uint32_t k = 0; k < outputs; ++k) {
      finish_products(m + k);
    }
  }
}

/// The call of a segment, with the values of parameters that it was computed with.
Assembled* Backward::put_back(const SegmentView& segment, Assembled* call) {
  const graph::Node& node = context_.graph[segment.members[0]];
  if (node.record().is_leaf() || node.record().stops_gradient || !needs_call(node)) {
    return call;
  }
  if (call == nullptr) {  // not kept
    call = tools_.assembly.call(segment);
  }
  changes_.put_back(segment, *call);
  return call;
}

void Backward::run_segment(const SegmentView& segment, Assembled* whole, Pass pass) {
  const ext::Record& record = context_.graph[segment.members[0]].record();
  if (record.stops_gradient || record.gradient_goes_to != ext::GradientTo::kArguments) {
    return;
  }
  settle_gradients(segment.members);
  if (products_.has_computed()) {
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
  if (has_any(active, [&](NodeId m) { return !is_active(m); })) {
    active_.clear();
    std::copy_if(active.begin(), active.end(), std::back_inserter(active_), is_active);
    active = active_;
  }
  if (active.empty() || context_.graph[active[0]].arity == 0) {
    return;
  }
  const util::Arena::Mark before = tools_.arena.mark();
  const bool is_copy = context_.graph[active[0]].signature->from != nullptr;
  if (whole == nullptr && !record.aliases && !is_copy) {  // not kept
    whole = tools_.assembly.call(segment);
  }
  if (is_copy) {
    copy_back(active);
  } else if (record.aliases) {
    for (const NodeId m : active) {
      run_alias(m);
    }
  } else if (pass == Pass::kInspect) {  // each member's own parameter node gets its own gradient
    for (const NodeId& m : active) {
      call(segment, {&m, 1}, *whole, pass);
    }
  } else {
    for_each_part(context_.graph, *whole, active,
                  [&](std::span<const NodeId> part) { call(segment, part, *whole, pass); });
  }
  tools_.arena.release(before);
}

void Backward::call(const SegmentView& segment, std::span<const NodeId> active, Assembled& whole,
                    Pass pass) {
  const graph::Node& node = context_.graph[active[0]];
  const util::Arena::Mark before = tools_.arena.mark();
  gradients_.begin_write();
  Assembled& assembled = active.size() == segment.members.size()
                             ? whole
                             : *tools_.assembly.part(segment, active, whole);
  if (changes_.has_any()) {
    changes_.put_back(segment, assembled);
  }
  tools_.upload.send(gradients_.pools());
  operands_.attach(assembled, active, segment.shared, pass == Pass::kAccumulate);
  gradients_.finish_pieces();
  const Hook::Call shown{active, segment.shared, segment.args, segment.part, true, true};
  hooks_.each([&](Hook& hook) { hook.before_call(context_.graph, shown); });
  tools_.memory.begin_call(*node.device().memory);
  node.record().backward(node.signature->op, assembled.call);
  tools_.memory.end_call();
  hooks_.each([&](Hook& hook) { hook.after_call(context_.graph, shown); });
  operands_.settle(assembled);
  tools_.arena.release(before);
}

void Backward::copy_back(std::span<const NodeId> active) {
  const Hook::Call shown{active, 0, schedule::kAllArgs, schedule::Part::kWhole, true, false};
  hooks_.each([&](Hook& hook) { hook.before_call(context_.graph, shown); });
  gradients_.begin_write();
  copies_.backward(active);
  hooks_.each([&](Hook& hook) { hook.after_call(context_.graph, shown); });
}

/// An alias has its argument's memory as value, but a gradient of its own.
void Backward::run_alias(NodeId n) {
  const NodeId argument = context_.graph[n].args[0];
  if (!gradients_.needs(argument)) {
    return;
  }
  const NodeId t = gradients_.owner(argument);
  gradients_.begin_write();
  const Gradients::Target to = gradients_.target(t);
  gradients_.finish_pieces();
  context_.kernels(t).add_scaled(1.0, gradients_.ensure(n), to.data, context_.graph.elements(t),
                                 to.fresh);
}

}  // namespace dynet::execute
