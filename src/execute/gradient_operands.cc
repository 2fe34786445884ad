#include "execute/gradient_operands.h"

#include "execute/routes.h"

namespace dynet::execute {

/// A gradient of a weight that was not left in its sink was written.
void GradientOperands::settle(const Assembled& assembled) {
  const ext::Call& call = assembled.call;
  for (std::size_t i = 0; i < call.d_in.size(); ++i) {
    if (call.d_in[i].sink != nullptr && ((call.left_for_later >> i) & 1) == 0) {
      static_cast<void>(gradients_.target(gradients_.owner(assembled.arguments[i].nodes[0])));
    }
  }
}

/// dy of one output. Members whose output nobody used beside others whose output was used get
/// zeros.
[[gnu::always_inline]] inline ext::Operand GradientOperands::of_output(
    std::span<const NodeId> members, std::uint32_t output) {
  const graph::Graph& graph = context_.graph;
  const NodeId first = members[0] + output;
  const bool by_columns = graph[first].signature->cut != 0;
  const Gradients::Notes notes = gradients_.notes();
  const bool used = has_any(members, [&](NodeId m) { return notes.is_written(m + output); });
  if (!used) {
    return {.dim = by_columns ? graph::Seen(graph, first).dim(first)
                              : graph.dim(first).single_batch()};
  }
  const graph::Node* const nodes = &graph[0];
  const auto piece = [members, output, notes, nodes,
                      this](std::size_t i) __attribute__((always_inline)) {
    const NodeId m = members[i] + output;
    void* data = notes.is_written(m) ? notes.written(m) : gradients_.zeros_of(m);
    return ext::Block{data, nodes[m].examples, false};
  };
  if (by_columns) [[unlikely]] {
    return arena_.columns(
        graph, members.size(), [members, output](std::size_t i) { return members[i] + output; },
        piece);
  }
  return arena_.operand(graph.dim(first), graph.example_bytes(first), members.size(), piece);
}

/// A node that is two different arguments of the call, or of which only a part is written: all add.
void GradientOperands::zero_shared(bool partial, std::span<const Argument> arguments) {
  const Gradients::Notes notes = gradients_.notes();
  gradients_.begin_call();
  for (const Argument& argument : arguments) {
    const Gradients::Stamps stamps = gradients_.begin_operand();
    for (const NodeId n : argument.nodes) {
      if (!notes.needs(n)) {
        continue;
      }
      const NodeId t = notes.follows(n) ? gradients_.owner(n) : n;
      if (notes.was_in_other_operand(t, stamps) || partial) {
        gradients_.ensure_true(t);
      }
    }
  }
}

/// Memory and sink of a weight that all members share.
ext::Operand GradientOperands::of_weight(NodeId n) {
  const Dim& dim = context_.graph.dim(n);
  if (!gradients_.needs(n)) {
    return {.dim = dim};
  }
  const NodeId t = gradients_.owner(n);
  const bool is_computed = products_done(context_.graph, n) != ProductsDone::kAtDelivery;
  auto* const block = arena_.make<ext::Block>(gradients_.ensure(t), 1, !gradients_.is_written(t));
  return {.dim = dim,
          .examples = 1,
          .blocks = block,
          .block_count = 1,
          .sink = &products_.sink(t, is_computed)};
}

/// Where the gradient of an operand goes: absent if none of its nodes wants one.
[[gnu::always_inline]] inline ext::Operand GradientOperands::of_nodes(std::span<const NodeId> nodes,
                                                                      bool by_columns) {
  const graph::Graph& graph = context_.graph;
  const Gradients::Notes notes = gradients_.notes();
  const bool wanted = has_any(nodes, [&](NodeId a) { return notes.needs(a); });
  if (!wanted) {
    return {.dim = by_columns ? graph.interner().column(graph[nodes[0]].shape())
                              : graph.dim(nodes[0]).single_batch()};
  }
  const graph::Node* const of = &graph[0];
  const auto piece = [nodes, notes, of, this](std::size_t i) __attribute__((always_inline)) {
    const NodeId a = nodes[i];
    Gradients::Target target = notes.target_of(a);
    if (target.data == nullptr) {
      target = make_target(a);
    }
    return ext::Block{target.data, of[a].examples, target.fresh};
  };
  if (by_columns) [[unlikely]] {
    return arena_.columns(graph, nodes.size(), [nodes](std::size_t i) { return nodes[i]; }, piece);
  }
  return arena_.operand(graph.dim(nodes[0]), graph.example_bytes(nodes[0]), nodes.size(), piece);
}

/// Where the gradient of a node goes that has no memory so far, or none of its own.
Gradients::Target GradientOperands::make_target(NodeId n) {
  if (!gradients_.needs(n)) {  // beside others that want theirs: written and forgotten
    return {gradients_.waste(n), true};
  }
  return gradients_.target(gradients_.owner(n));
}

void GradientOperands::attach(Assembled& assembled, std::span<const NodeId> members,
                              std::uint64_t shared, bool has_sinks) {
  const graph::Signature& signature = *context_.graph[members[0]].signature;
  const ext::Record& record = *signature.record;
  const bool has_whole = record.has_whole;
  const std::span<const Argument> arguments = assembled.arguments;
  ext::Call& call = assembled.call;
  call.left_for_later = 0;
  call.d_out = arena_.operands(record.outputs, [&](std::size_t k) {
    const auto index = static_cast<std::uint32_t>(k);
    ext::Operand o = of_output(members, index);
    if (has_whole && !o.absent()) [[unlikely]] {
      count_nodes(o, context_.graph.dim(members[0] + index));
    }
    return o;
  });
  if (arguments.size() > 1 || record.partial_gradient) {
    zero_shared(record.partial_gradient, arguments);
  }
  const SegmentView segment{.members = members, .shared = shared};
  call.d_in = arena_.operands(arguments.size(), [&](std::size_t i) {
    const Argument& argument = arguments[i];
    if (argument.nodes.empty()) {
      return ext::Operand();
    }
    if (has_sinks && leaves_products(context_.graph, segment, argument)) {
      return of_weight(argument.nodes[0]);
    }
    ext::Operand o = of_nodes(argument.nodes, graph::is_cut(signature, argument.index));
    if (has_whole && !o.absent()) [[unlikely]] {
      count_nodes(o, context_.graph.dim(argument.nodes[0]));
    }
    return o;
  });
}

}  // namespace dynet::execute
