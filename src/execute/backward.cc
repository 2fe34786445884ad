#include <algorithm>
#include <string>

#include "execute/deferred.h"
#include "execute/executor.h"
#include "execute/reading.h"
#include "kernels/float_mode.h"
#include "params/gradient.h"

namespace dynet::execute {

void Executor::backward(NodeId root, bool full) {
  if (graph_.dim(root).elements() != 1) {
    throw ShapeError("backward: the node has shape " + to_string(graph_.dim(root)) +
                     "; want one element, such as a loss summed over its batch\n  " +
                     graph_.describe(root));
  }
  compute(root, false);
  const Reading reading(*this);
  run_backward(root, full, Pass::kAccumulate);
  last_root_ = root;
  last_full_ = full;
  has_gradients_ = true;
  flush();
}

/// Before a pass. One that only inspects leaves the memory of the views handed out so far alone.
void Executor::drop_gradients(Pass pass) {
  gradients_.clear();
  flags_.clear();
  if (pass == Pass::kAccumulate) {
    has_gradients_ = false;
    gradient_views_.clear();
    gradients_pool_.reset();
  }
  product_blocks_.reset();
  products_.clear();
  lookups_.clear();
}

void Executor::run_backward(NodeId root, bool full, Pass pass) {
  const kernels::FlushDenormals float_mode;
  drop_gradients(pass);
  pass_ = pass;
  gradients_.resize(graph_.size(), nullptr);
  flags_.resize(graph_.size(), 0);
  stamp_.resize(graph_.size(), 0);
  stamp_arg_.resize(graph_.size(), 0);
  while (deferred_.size() < graph_.storages().size()) {
    deferred_.push_back(
        std::make_unique<Deferred>(*this, static_cast<std::uint32_t>(deferred_.size())));
  }
  for (auto& d : deferred_) {
    d->clear();
  }
  mark_path(root, full);
  kernels().fill(ensure_gradient(root), 1.0, 1);
  flags_[gradient_owner(root)] |= kWritten;
  for (std::size_t g = history_.groups.size(); g-- > 0;) {
    const schedule::Group& group = history_.groups[g];
    for (std::uint32_t s = group.begin + group.count; s-- > group.begin;) {
      const schedule::Segment& segment = history_.segments[s];
      backward_segment({{history_.members.data() + segment.begin, segment.count},
                        segment.shared,
                        group.args,
                        group.part,
                        calls_[s]});
    }
  }
}

bool Executor::is_trained(NodeId n) const {
  const graph::Node& node = graph_[n];
  const ext::Leaf leaf = node.record().leaf;
  if (leaf != ext::Leaf::kParameter && leaf != ext::Leaf::kLookup) {
    return false;
  }
  return graph_.is_trainable(n) && params::storage_base(node.payload->storage).is_updated();
}

/// Which nodes depend on something trained, and which of these the root depends on.
void Executor::mark_path(NodeId root, bool full) {
  // Flags are bytes, which may alias anything: what they are read with is kept in registers.
  std::uint8_t* const flags = flags_.data();
  const graph::Node* const nodes = &graph_[0];
  const auto flows = [&](NodeId n) { return !nodes[n].record().stops_gradient; };
  for (NodeId n = 0; n <= root; ++n) {
    std::uint8_t f = full ? kNeeds : 0;
    const graph::Node& node = nodes[n];
    if (node.record().leaf != ext::Leaf::kNo) {
      f |= flags_of_leaf(n);
    } else if (flows(n)) {
      for (std::uint32_t a = 0; a < node.arity; ++a) {
        f |= flags[node.args[a]] & kNeeds;
      }
    }
    flags[n] = f;
  }
  flags[root] |= kReached;
  for (NodeId n = root + 1; n-- > 0;) {
    if ((flags[n] & (kNeeds | kReached)) != (kNeeds | kReached) || !flows(n)) {
      continue;
    }
    const graph::Node& node = nodes[n];
    for (std::uint32_t a = 0; a < node.arity; ++a) {
      std::uint8_t& f = flags[node.args[a]];
      f |= (f & kNeeds) != 0 ? kReached : 0;
    }
  }
}

std::uint8_t Executor::flags_of_leaf(NodeId n) const {
  const graph::Node& node = graph_[n];
  const bool follows = pass_ == Pass::kAccumulate && node.record().leaf == ext::Leaf::kParameter &&
                       graph_.storages()[node.payload->storage_slot].nodes > 1;
  return static_cast<std::uint8_t>((is_trained(n) ? kNeeds : 0) | (follows ? kFollows : 0));
}

/// All nodes of one parameter share a gradient, that of the first, unless each one's own is asked
/// for.
NodeId Executor::first_node_of_parameter(NodeId n) const {
  return graph_.storages()[graph_[n].payload->storage_slot].first;
}

/// The gradient memory of a node; made for its whole group at once, in the layout of the values.
void* Executor::ensure_gradient(NodeId n) {
  n = gradient_owner(n);
  if (gradients_[n] != nullptr) {
    return gradients_[n];
  }
  const NodeId owner = graph_.owner(n);
  if (group_of_[owner] == 0) {  // a parameter
    gradients_[n] = gradients_pool_.allocate(bytes(graph_.elements(n)));
    return gradients_[n];
  }
  const schedule::Group& group = history_.groups[group_of_[owner] - 1];
  const std::uint32_t output = graph_[n].output;
  const std::span<const NodeId> members{history_.members.data() + group.first, group.members};
  auto* at = static_cast<std::byte*>(
      memory::place_output(graph_, members, output, number(), gradients_pool_));
  const std::int64_t stride = example_bytes(n);
  for (const NodeId m : members) {
    gradients_[m + output] = at;
    at += stride * graph_.examples(m + output);
  }
  return gradients_[n];
}

void Executor::backward_segment(const Step& step) {
  const ext::Record& record = graph_[step.members[0]].record();
  if (record.stops_gradient) {
    return;
  }
  active_.clear();
  for (const NodeId m : step.members) {
    bool reached = false;
    for (std::uint32_t k = 0; k < record.outputs; ++k) {
      reached = reached || (flags_[m + k] & kWritten) != 0;
    }
    if (reached && (flags_[m] & kNeeds) != 0) {
      active_.push_back(m);
    }
  }
  if (active_.empty()) {
    return;
  }
  if (record.aliases) {
    for (const NodeId m : active_) {
      backward_alias(m);
    }
  } else if (record.leaf == ext::Leaf::kLookup) {
    lookups_.insert(lookups_.end(), active_.begin(), active_.end());
  } else if (record.leaf == ext::Leaf::kNo && graph_[active_[0]].arity != 0) {
    if (pass_ == Pass::kInspect) {  // each member's own parameter node gets its own gradient
      for (const NodeId m : active_) {
        backward_call({{&m, 1}, step.shared, step.args, step.part});
      }
    } else {
      if (active_.size() == step.members.size()) {
        backward_call(step);
      } else {
        backward_call({active_, step.shared, step.args, step.part});
      }
    }
  }
}

void Executor::backward_call(const Step& step) {
  const graph::Node& node = graph_[step.members[0]];
  const ext::Record& record = node.record();
  if (observer_ != nullptr) {
    observer_->on_call(graph_, {step.members, step.shared, step.args, true});
  }
  const graph::Arena::Mark before = assembler_.mark();
  Assembled* assembled = step.forward != nullptr ? step.forward : assemble(step);
  ext::Call& call = assembled->call;
  call.d_out = assembler_.operands(record.outputs, [&](std::size_t k) {
    return output_gradient(step.members, static_cast<std::uint32_t>(k));
  });
  call.d_in = input_gradients(step, assembled->arguments);
  record.backward(node.signature->op, call);
  mark_direct(*assembled);
  assembler_.release(before);
}

/// A weight's gradient was left in its sink or written directly, as the operation pleased.
void Executor::mark_direct(const Assembled& assembled) {
  for (std::size_t i = 0; i < assembled.arguments.size(); ++i) {
    ext::ProductSink* sink = assembled.call.d_in[i].sink;
    if (sink == nullptr) {
      continue;
    }
    auto& deferred = static_cast<Deferred&>(*sink);
    if (!deferred.was_pushed) {
      flags_[gradient_owner(assembled.arguments[i].nodes[0])] |= kWritten;
    }
    deferred.was_pushed = false;
  }
}

/// An alias has its argument's memory as value, but a gradient of its own.
void Executor::backward_alias(NodeId n) {
  const NodeId t = gradient_owner(graph_[n].args[0]);
  if ((flags_[graph_[n].args[0]] & kNeeds) == 0) {
    return;
  }
  void* to = ensure_gradient(t);
  kernels().add_scaled(1.0, gradients_[n], to, graph_.elements(t), (flags_[t] & kWritten) == 0);
  flags_[t] |= kWritten;
}

/// dy of one output. Members whose output nobody used beside others whose output was used get
/// zeros.
ext::Operand Executor::output_gradient(std::span<const NodeId> active, std::uint32_t output) {
  const Dim& dim = graph_.dim(active[0] + output);
  const bool used = std::any_of(active.begin(), active.end(),
                                [&](NodeId m) { return (flags_[m + output] & kWritten) != 0; });
  if (!used) {
    return {.dim = dim.single_batch()};
  }
  return assembler_.operand(dim, example_bytes(active[0] + output), active.size(),
                            [&](std::size_t i) {
                              const NodeId m = active[i] + output;
                              void* memory = ensure_gradient(m);
                              if ((flags_[m] & kWritten) == 0) {
                                kernels().fill(memory, 0.0, graph_.elements(m));
                                flags_[m] |= kWritten;
                              }
                              return ext::Block{memory, graph_.examples(m), false};
                            });
}

/// Zeroes what is fresh in the gradient of `n`, so that everybody adds.
void Executor::zero_gradient(NodeId n) {
  n = gradient_owner(n);
  void* memory = ensure_gradient(n);
  if ((flags_[n] & kWritten) == 0) {
    kernels().fill(memory, 0.0, graph_.elements(n));
    flags_[n] |= kWritten;
  }
}

/// A node that is two different arguments of the call, or of which only a part is written: all
/// add.
void Executor::zero_shared_gradients(bool partial, std::span<const Argument> arguments) {
  ++stamp_count_;
  for (const Argument& argument : arguments) {
    for (const NodeId n : argument.nodes) {
      if ((flags_[n] & kNeeds) == 0) {
        continue;
      }
      const NodeId t = gradient_owner(n);
      if (partial || (stamp_[t] == stamp_count_ && stamp_arg_[t] != argument.index)) {
        zero_gradient(t);
      }
      stamp_[t] = stamp_count_;
      stamp_arg_[t] = argument.index;
    }
  }
}

std::span<const ext::Operand> Executor::input_gradients(const Step& step,
                                                        std::span<const Argument> arguments) {
  const bool partial = graph_[step.members[0]].record().partial_gradient;
  if (arguments.size() > 1 || partial) {
    zero_shared_gradients(partial, arguments);
  }
  return assembler_.operands(arguments.size(), [&](std::size_t i) {
    const Argument& argument = arguments[i];
    const bool is_weight = is_shared(step, argument.index) && pass_ == Pass::kAccumulate &&
                           graph_[argument.nodes[0]].record().leaf == ext::Leaf::kParameter;
    return is_weight ? weight_gradient(argument.nodes[0]) : input_gradient(argument.nodes);
  });
}

/// Memory and sink of a parameter that all members share; mark_direct finds out which was used.
ext::Operand Executor::weight_gradient(NodeId n) {
  if ((flags_[n] & kNeeds) == 0) {
    return {.dim = graph_.dim(n)};
  }
  const NodeId t = gradient_owner(n);
  auto* block = assembler_.array<ext::Block>(1);
  *block = {ensure_gradient(t), 1, (flags_[t] & kWritten) == 0};
  return {.dim = graph_.dim(n),
          .examples = 1,
          .blocks = block,
          .block_count = 1,
          .sink = deferred_[graph_[n].payload->storage_slot].get()};
}

/// Where the gradient of an operand goes: absent where none of its nodes wants one.
ext::Operand Executor::input_gradient(std::span<const NodeId> nodes) {
  const Dim& dim = graph_.dim(nodes[0]);
  const bool wanted =
      std::any_of(nodes.begin(), nodes.end(), [&](NodeId a) { return (flags_[a] & kNeeds) != 0; });
  if (!wanted) {
    return {.dim = dim.single_batch()};
  }
  return assembler_.operand(dim, example_bytes(nodes[0]), nodes.size(), [&](std::size_t i) {
    const NodeId a = nodes[i];
    const NodeId t = gradient_owner(a);
    const std::int64_t examples = graph_.examples(t);
    if ((flags_[a] & kNeeds) == 0) {  // beside others that want theirs: written and forgotten
      return ext::Block{assembler_.array<double>(static_cast<std::size_t>(graph_.elements(t))),
                        examples, true};
    }
    void* memory = ensure_gradient(t);
    const bool fresh = (flags_[t] & kWritten) == 0;
    flags_[t] |= kWritten;
    return ext::Block{memory, examples, fresh};
  });
}

}  // namespace dynet::execute
