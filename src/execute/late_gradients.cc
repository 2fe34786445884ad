#include "execute/late_gradients.h"

#include <algorithm>

#include "execute/path.h"

namespace dynet::execute {

bool LateGradients::can_wait(const SegmentView& segment) const {
  const ext::Record& record = gradients_.context().graph[segment.members[0]].record();
  return record.rule != nullptr && record.outputs == 1 && !record.adds_arguments &&
         std::all_of(segment.members.begin(), segment.members.end(),
                     [this](NodeId n) { return can_wait(n); });
}

/// Products are left for it, its arguments are parameters, and one of them wants its gradient: one
/// that gradients are delivered to (a full pass wants those of others too), and that has no other
/// node in the graph, with which it would share the gradient.
bool LateGradients::can_wait(NodeId weight) const {
  if (!computed_.has(weight) || !gradients_.needs(weight)) {
    return false;
  }
  const graph::Graph& graph = gradients_.context().graph;
  std::size_t wanted = 0;
  for (const NodeId a : graph.args(weight)) {
    if (graph[a].record().gradient_goes_to != ext::GradientTo::kStorage) {
      return false;
    }
    if (gradients_.needs(a)) {
      if (!is_trained(graph, a)) {
        return false;
      }
      wanted += graph.storages()[graph[a].payload->storage_slot].nodes;
    }
  }
  return wanted == 1;
}

void LateGradients::note(const SegmentView& segment, const Assembled& whole) {
  const graph::Graph& graph = gradients_.context().graph;
  if (notes_.empty()) {  // most graphs have none, and need no table
    last_of_.begin(graph.size());
  }
  for (const NodeId& weight : segment.members) {
    Assembled& assembled = *assembly_.part(segment, {&weight, 1}, whole);
    const bool is_passing = !gradients_.is_written(weight);
    Note note{.weight = weight,
              .parameter = weight,
              .call = &assembled.call,
              .to = arena_.array<ext::Block>(1),
              .gradient = is_passing ? gradients_.waste(weight) : gradients_.ensure(weight),
              .is_passing = is_passing};
    auto* gradient = arena_.array<ext::Block>(1);
    *gradient = {note.gradient, 1, false};
    note.call->d_out = arena_.operands(1, [&](std::size_t) {
      return ext::Operand{
          .dim = graph.dim(weight), .examples = 1, .blocks = gradient, .block_count = 1};
    });
    note.call->d_in = arena_.operands(assembled.arguments.size(), [&](std::size_t i) {
      const std::span<const NodeId> nodes = assembled.arguments[i].nodes;
      if (nodes.empty()) {
        return ext::Operand();
      }
      const NodeId argument = nodes[0];
      ext::Operand to{.dim = graph.dim(argument)};
      if (gradients_.needs(argument)) {
        note.parameter = argument;
        to.examples = 1;
        to.blocks = note.to;
        to.block_count = 1;
      }
      return to;
    });
    note.slope = is_passing ? slope_of(note) : nullptr;
    note.next = last_of_[note.parameter];
    notes_.push_back(note);
    for (const NodeId n : {note.parameter, weight}) {
      last_of_.set(n, static_cast<std::uint32_t>(notes_.size()));
    }
    computed_.leave(weight);
  }
}

const ext::Operand* LateGradients::slope_of(const Note& note) const {
  const graph::Graph& graph = gradients_.context().graph;
  const std::span<const NodeId> args = graph.args(note.weight);
  const ext::RuleInfo& rule = *graph[note.weight].record().rule;
  if (args.size() != std::size(rule.slope_of)) {
    return nullptr;
  }
  const std::uint8_t slope = rule.slope_of[args[0] == note.parameter ? 0 : 1];
  const Dim& dim = graph.dim(note.weight);
  const bool is_as_large =
      std::all_of(args.begin(), args.end(), [&](NodeId a) { return graph.dim(a) == dim; });
  return slope != ext::RuleInfo::kNoArgument && is_as_large ? &note.call->in[slope] : nullptr;
}

void LateGradients::add(NodeId parameter, void* data, bool fresh) {
  for (std::uint32_t i = last_of_[parameter]; i != 0; i = notes_[i - 1].next) {
    const Note& note = notes_[i - 1];
    *note.to = {data, 1, fresh};
    fresh = false;
    if (note.slope != nullptr && computed_.finish_times(note.weight, *note.slope, *note.to)) {
      continue;
    }
    computed_.finish_into(note.weight, note.gradient, note.is_passing);
    const graph::Node& node = gradients_.context().graph[note.weight];
    node.record().backward(node.signature->op, *note.call);
  }
}

}  // namespace dynet::execute
