#include "execute/assembly.h"

#include <algorithm>

namespace dynet::execute {

Assembled* Assembly::call(const SegmentView& segment) {
  Assembled* assembled = operands(segment);
  const ext::Record& record = context_.graph[segment.members[0]].record();
  if (record.payload != ext::Payload::kNone || record.random) {
    payload_.fill(*assembled, segment.members);
  }
  return assembled;
}

Assembled* Assembly::part(const SegmentView& segment, std::span<const NodeId> active,
                          const Assembled& whole) {
  SegmentView some = segment;
  some.members = active;
  Assembled* assembled = operands(some);
  payload_.fill_part(*assembled, active, whole, segment.members);
  return assembled;
}

/// The arguments that the call reads.
std::span<const Argument> Assembly::list_arguments(const SegmentView& segment) {
  const graph::Node& first = context_.graph[segment.members[0]];
  const bool is_one = segment.members.size() == 1;
  if (is_one && first.record().adds_arguments && first.examples == 1) {
    // A sum over a list: its arguments are the examples of one operand.
    return {arena_.make<Argument>(0U, first.arguments()), 1};
  }
  if (first.signature->absent != 0) {
    return list_optional(segment);
  }
  const std::span<const NodeId> of_first = first.arguments();
  auto* const arguments = arena_.room<Argument>(of_first.size());
  std::size_t count = 0;
  for (std::uint32_t a = 0; a < of_first.size(); ++a) {
    if (segment.reads(a)) {
      new (&arguments[count++])
          Argument{a, is_one ? of_first.subspan(a, 1) : argument_nodes(segment, a)};
    }
  }
  return {arguments, count};
}

/// All arguments of the operation, those that are absent without nodes.
std::span<const Argument> Assembly::list_optional(const SegmentView& segment) {
  const graph::Node& first = context_.graph[segment.members[0]];
  const graph::Signature& signature = *first.signature;
  auto* arguments = arena_.array<Argument>(signature.arity);
  for (std::uint32_t i = 0; i < first.arity; ++i) {
    arguments[signature.argument(i)] = {i, argument_nodes(segment, i)};
  }
  return {arguments, signature.arity};
}

/// Argument `arg` of each member.
std::span<const NodeId> Assembly::argument_nodes(const SegmentView& segment, std::uint32_t arg) {
  if (segment.members.size() == 1 || segment.is_shared(arg)) {
    return context_.graph.args(segment.members[0]).subspan(arg, 1);
  }
  auto* nodes = arena_.room<NodeId>(segment.members.size());
  const graph::Node* const of = &context_.graph[0];
  NodeId* next = nodes;
  for (const NodeId m : segment.members) {
    *next++ = of[m].args[arg];
  }
  return {nodes, next};
}

/// The values of nodes, all examples of each, or all columns.
[[gnu::always_inline]] inline ext::Operand Assembly::stacked(std::span<const NodeId> nodes,
                                                             bool by_columns) {
  if (nodes.empty()) {
    return {};
  }
  const graph::Node* const of = &context_.graph[0];
  const Values::Place* const places = values_.places();
  const auto piece = [nodes, of, places](std::size_t i) __attribute__((always_inline)) {
    const NodeId n = nodes[i];
    return ext::Block{places[n].data, of[n].examples, false};
  };
  if (by_columns) [[unlikely]] {
    return arena_.columns(
        context_.graph, nodes.size(), [nodes](std::size_t i) { return nodes[i]; }, piece);
  }
  return arena_.operand(context_.graph.dim(nodes[0]), context_.graph.example_bytes(nodes[0]),
                        nodes.size(), piece);
}

/// The terms that come second add to the results, where the results are the sums.
[[gnu::always_inline]] inline ext::Operand Assembly::output(const SegmentView& segment,
                                                            std::uint32_t index) {
  const graph::Node* const nodes = &context_.graph[0];
  const std::span<const NodeId> members = segment.members;
  const graph::Signature& signature = *nodes[members[0]].signature;
  const bool stores = segment.part != schedule::Part::kRest || signature.record->saves_sums;
  const Values::Place* const places = values_.places();
  const auto piece = [members, index, stores, nodes, places](std::size_t i)
                         __attribute__((always_inline)) {
                           const NodeId m = members[i];
                           return ext::Block{places[m + index].data, nodes[m].examples, stores};
                         };
  if (signature.cut != 0) [[unlikely]] {
    return arena_.columns(
        context_.graph, members.size(),
        [members, index](std::size_t i) { return members[i] + index; }, piece);
  }
  const NodeId first = members[0] + index;
  return arena_.operand(context_.graph.dim(first), context_.graph.example_bytes(first),
                        members.size(), piece);
}

ext::Operand Assembly::saved(std::span<const NodeId> members, std::uint32_t index) {
  const graph::Node& first = context_.graph[members[0]];
  const Dim& dim = first.signature->saved[index];
  const Values::Saved saved(values_, first, index);
  if (first.record().has_whole) {  // dim.bd examples for each node, whatever its result has
    ext::Operand o = arena_.operand(
        dim, saved.bytes() / dim.bd, members.size(),
        [&](std::size_t i) { return ext::Block{saved.at(members[i]), dim.bd, true}; });
    count_nodes(o, dim);
    return o;
  }
  const graph::Seen seen(context_.graph, members[0]);
  return arena_.operand(dim, saved.bytes(), members.size(), [&](std::size_t i) {
    return ext::Block{saved.at(members[i]), seen.examples(members[i]), true};
  });
}

void count_nodes(ext::Operand& o, const Dim& of_node) {
  auto* blocks = const_cast<ext::Block*>(o.blocks);
  for (std::int64_t b = 0; b < o.block_count; ++b) {
    blocks[b].examples /= of_node.bd;
  }
  o.examples /= of_node.bd;
  if (o.dim.nd == DYNET_MAX_TENSOR_DIM) {
    o.dim.d[1] *= o.dim.d[0];
    std::copy(o.dim.d + 1, o.dim.d + o.dim.nd, o.dim.d);
    --o.dim.nd;
  }
  o.dim.d[o.dim.nd++] = of_node.bd;
}

Assembled* Assembly::operands(const SegmentView& segment) {
  const std::span<const NodeId> members = segment.members;
  const graph::Signature& signature = *context_.graph[members[0]].signature;
  const ext::Record& record = *signature.record;
  const bool has_whole = record.has_whole;
  auto* assembled = new (arena_.room<Assembled>(1))
      Assembled{ext::Call(context_.kernels(members[0]), &memory_), list_arguments(segment)};
  ext::Call& call = assembled->call;
  call.in = arena_.operands(assembled->arguments.size(), [&](std::size_t i) {
    const Argument& argument = assembled->arguments[i];
    ext::Operand o = stacked(argument.nodes, graph::is_cut(signature, argument.index));
    if (has_whole && !o.absent()) [[unlikely]] {
      count_nodes(o, context_.graph.dim(argument.nodes[0]));
    }
    return o;
  });
  call.out = arena_.operands(record.outputs, [&](std::size_t k) {
    const auto index = static_cast<std::uint32_t>(k);
    ext::Operand o = output(segment, index);
    if (has_whole) [[unlikely]] {
      count_nodes(o, context_.graph.dim(members[0] + index));
    }
    return o;
  });
  call.saved = arena_.operands(
      record.saved, [&](std::size_t k) { return saved(members, static_cast<std::uint32_t>(k)); });
  call.examples = call.out[0].examples;
  call.absent = signature.absent;
  call.part = segment.part;
  return assembled;
}

}  // namespace dynet::execute
