// From the members of a segment to the operands of one call.
#include <algorithm>

#include "execute/executor.h"
#include "params/random_streams.h"

namespace dynet::execute {

/// Argument `arg` of each member. Valid until the assembler's mark before it is released.
std::span<const NodeId> Executor::argument_nodes(const Step& step, std::uint32_t arg) {
  if (step.members.size() == 1 || is_shared(step, arg)) {
    return graph_.args(step.members[0]).subspan(arg, 1);
  }
  auto* nodes = assembler_.room<NodeId>(step.members.size());
  for (std::size_t i = 0; i < step.members.size(); ++i) {
    nodes[i] = graph_[step.members[i]].args[arg];
  }
  return {nodes, step.members.size()};
}

/// The values of nodes, all examples of each.
ext::Operand Executor::stacked(std::span<const NodeId> nodes) {
  return assembler_.operand(
      graph_.dim(nodes[0]), example_bytes(nodes[0]), nodes.size(), [&](std::size_t i) {
        return ext::Block{values_[nodes[i]], graph_.examples(nodes[i]), false};
      });
}

/// The terms that come second add to the results.
ext::Operand Executor::outputs(const Step& step, std::uint32_t output) {
  const bool stores = step.part != schedule::Part::kRest;
  const NodeId first = step.members[0] + output;
  return assembler_.operand(graph_.dim(first), example_bytes(first), step.members.size(),
                            [&](std::size_t i) {
                              const NodeId m = step.members[i];
                              return ext::Block{values_[m + output], graph_.examples(m), stores};
                            });
}

ext::Operand Executor::saved(std::span<const NodeId> members, std::uint32_t index) {
  const Dim& dim = graph_[members[0]].signature->saved[index];
  const std::int64_t size = bytes(dim.example_elements());
  return assembler_.operand(dim, size, members.size(), [&](std::size_t i) {
    const NodeId m = members[i];
    auto* base = static_cast<std::byte*>(places_[group_of_[m] - 1].saved[index]);
    return ext::Block{base + offset_[m] * size, graph_.examples(m), true};
  });
}

/// The arguments that the call reads.
std::span<const Executor::Argument> Executor::list_arguments(const Step& step) {
  const graph::Node& first = graph_[step.members[0]];
  if (first.record().adds_arguments && step.members.size() == 1 && first.examples == 1) {
    // A sum over a list: its arguments are the examples of one operand.
    return {assembler_.make<Argument>(0U, graph_.args(step.members[0])), 1};
  }
  auto* arguments = assembler_.room<Argument>(first.arity);
  std::size_t count = 0;
  for (std::uint32_t a = 0; a < first.arity; ++a) {
    if (a >= schedule::kMaxMaskedArgs || ((step.args >> a) & 1) != 0) {
      new (&arguments[count++]) Argument{a, argument_nodes(step, a)};
    }
  }
  return {arguments, count};
}

/// In memory of the assembler, all but the gradients.
Executor::Assembled* Executor::assemble(const Step& step) {
  const std::span<const NodeId> members = step.members;
  const graph::Node& node = graph_[members[0]];
  const ext::Record& record = node.record();
  auto* assembled = assembler_.make<Assembled>(ext::Call(kernels()), list_arguments(step));
  ext::Call& call = assembled->call;
  call.in = assembler_.operands(assembled->arguments.size(), [&](std::size_t i) {
    return stacked(assembled->arguments[i].nodes);
  });
  call.out = assembler_.operands(
      record.outputs, [&](std::size_t k) { return outputs(step, static_cast<std::uint32_t>(k)); });
  call.saved = assembler_.operands(
      record.saved, [&](std::size_t k) { return saved(members, static_cast<std::uint32_t>(k)); });
  call.examples = call.out[0].examples;
  if (record.payload == ext::Payload::kIndices) {
    call.indices = expand_indices(members, call.examples);
  }
  if (record.payload == ext::Payload::kValues) {
    call.values = expand_values(members);
  }
  if (record.random) {
    call.random = random_keys(members);
  }
  return assembled;
}

/// One index an example; a single one given for a batch is repeated.
const unsigned* Executor::expand_indices(std::span<const NodeId> members, std::int64_t examples) {
  if (members.size() == 1) {
    const std::span<const unsigned> all = graph_.indices(members[0]);
    if (static_cast<std::int64_t>(all.size()) == examples) {
      return all.data();
    }
  }
  auto* expanded = assembler_.array<unsigned>(static_cast<std::size_t>(examples));
  unsigned* at = expanded;
  for (const NodeId m : members) {
    const std::span<const unsigned> all = graph_.indices(m);
    for (std::int64_t e = 0; e < graph_.examples(m); ++e) {
      *at++ = all.size() == 1 ? all[0] : all[static_cast<std::size_t>(e)];
    }
  }
  return expanded;
}

/// One scalar {1} an example, in the device's number type; one for all where there is one member.
ext::Operand Executor::expand_values(std::span<const NodeId> members) {
  auto* numbers = assembler_.array<double>(members.size());  // room for either number type
  auto* bytes_at = reinterpret_cast<std::byte*>(numbers);
  for (const NodeId m : members) {
    kernels().from_floats(graph_.values(m).data(), bytes_at, 1);
    bytes_at += number_bytes_;
  }
  if (members.size() == 1) {
    return assembler_.operand({1}, number_bytes_, 1,
                              [&](std::size_t) { return ext::Block{numbers, 1, false}; });
  }
  // A member with several examples repeats its scalar.
  std::int64_t examples = 0;
  for (const NodeId m : members) {
    examples += graph_.examples(m);
  }
  auto* repeated =
      reinterpret_cast<std::byte*>(assembler_.array<double>(static_cast<std::size_t>(examples)));
  std::byte* at = repeated;
  const std::byte* from = reinterpret_cast<std::byte*>(numbers);
  const auto width = static_cast<std::size_t>(number_bytes_);
  for (const NodeId m : members) {
    for (std::int64_t e = 0; e < graph_.examples(m); ++e) {
      at = std::copy_n(from, width, at);
    }
    from += width;
  }
  return assembler_.operand({1}, number_bytes_, 1,
                            [&](std::size_t) { return ext::Block{repeated, examples, false}; });
}

std::span<const ext::Call::Random> Executor::random_keys(std::span<const NodeId> members) {
  auto* keys = assembler_.array<ext::Call::Random>(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    keys[i] = {
        {params::random_seed(), random_stream_, graph_[members[i]].random_ordinal, evaluation_},
        graph_.examples(members[i])};
  }
  return {keys, members.size()};
}

}  // namespace dynet::execute
