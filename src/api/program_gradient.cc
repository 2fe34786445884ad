// Gradients of a program as nodes: the program's steps once more, as nodes, and the gradients of
// these.

#include <algorithm>
#include <set>
#include <vector>

#include "dynet/ext/add_node.h"

#include "api/gradient_nodes.h"
#include "ops/program.h"

namespace dynet::api {

using Node = ext::GradientBuilder::Node;

/// The value of each step as a node, computed once more. `values` begins with the arguments.
void GradientNodes::add_steps(const ops::ProgramContent& program, std::vector<Node>& values) {
  for (const ops::ProgramStep& step : program.steps) {
    std::vector<Expression> args;
    args.reserve(step.args.size());
    for (const ops::ValueId a : step.args) {
      args.push_back(a == ops::kNoValue ? Expression() : expression(values[a]));
    }
    ext::NodePayload payload;
    if (!step.indices.empty()) {
      payload = ext::NodePayload::of(step.indices);
    } else if (!step.values.empty()) {
      payload = ext::NodePayload::of(step.values);
    }
    const Expression first = ext::add_node(*step.record, step.op.get(), &owner_, args, payload,
                                           where_, args.empty() ? device_ : nullptr);
    for (std::uint32_t k = 0; k < step.record->outputs; ++k) {
      values.push_back({first.i + k});
    }
  }
}

void GradientNodes::give(const ops::Program& program) {
  const ops::ProgramContent& content = program.content();
  std::vector<Node> values;
  std::set<graph::NodeId> wanted;
  for (const graph::NodeId n : places_) {
    values.push_back({n});
    if (path_.has(n)) {
      wanted.insert(n);
    }
  }
  const graph::NodeId first = graph_.size();
  add_steps(content, values);
  const graph::NodeId end = graph_.size();
  const GradientPath path = GradientPath::from(graph_, first, {wanted.begin(), wanted.end()});
  GradientNodes steps(owner_, path, where_);
  steps.set_device(*device_);
  for (std::size_t k = 0; k < content.results.size(); ++k) {
    if (const auto part = sum_of_parts(out(k).id); part.has_value()) {
      steps.add_part(values[content.results[k]].id, *part);
    }
  }
  for (graph::NodeId n = end; n-- > first;) {
    if (path.goes_through(n) && steps.is_reached(n)) {
      steps.go_through(n);
    }
  }
  for (const graph::NodeId n : wanted) {
    if (const auto sum = steps.sum_of_parts(n); sum.has_value()) {
      add_part(n, *sum);
    }
  }
}

void add_gradient_of_program(const void* op, unsigned /*absent*/, ext::GradientBuilder& to) {
  // The library has one builder.
  static_cast<GradientNodes&>(to).give(*static_cast<const ops::ProgramOperation*>(op)->program);
}

}  // namespace dynet::api
