#include "api/gradient_nodes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "dynet/dynet.h"
#include "dynet/except.h"
#include "dynet/ext/add_node.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/input.h"
#include "dynet/ops/reduce.h"
#include "dynet/ops/shape.h"

#include "api/evaluating.h"

namespace dynet::api {

using Node = ext::GradientBuilder::Node;

Dim broadcast(const Dim& a, const Dim& b) {
  Dim r = a;
  r.nd = std::max(a.nd, b.nd);
  for (unsigned k = 0; k < r.nd; ++k) {
    r.d[k] = a[k] == 1 ? b[k] : a[k];
  }
  r.bd = std::max(a.bd, b.bd);
  return r;
}

GradientNodes::GradientNodes(ComputationGraph& graph, const GradientPath& path, const Where& where)
    : owner_(graph),
      graph_(graph.state().graph),
      path_(path),
      where_(where),
      device_(&graph_.device()),
      parts_(path.nodes().size()) {}

Expression GradientNodes::expression(Node n) const { return {&owner_, n.id}; }

void GradientNodes::go_through(graph::NodeId n) {
  const graph::Node& node = graph_[n];
  const ext::Record& record = node.record();
  node_ = n;
  device_ = &node.device();
  places_.assign(node.arguments().begin(), node.arguments().end());
  const unsigned absent = node.signature->absent;
  for (std::size_t i = 0; absent != 0 && i < record.arg_count; ++i) {
    if (record.optional[i] != 0 && (absent >> (record.optional[i] - 1U) & 1U) != 0) {
      places_.insert(places_.begin() + static_cast<std::ptrdiff_t>(i), graph::kAbsent);
    }
  }
  record.gradient(node.signature->op, absent, *this);
}

void GradientNodes::add_part(graph::NodeId n, Node part) {
  if (const std::size_t place = path_.place(n); place != GradientPath::kNone) {
    parts_[place].push_back(part);
  }
}

Node GradientNodes::sum(const std::vector<Node>& all) {
  const ops::Sum op;
  return all.size() == 1 ? all[0] : add(ext::kRecord<ops::Sum>, &op, all, {});
}

std::optional<Node> GradientNodes::sum_of_parts(graph::NodeId n) {
  if (!has_parts(n)) {
    return std::nullopt;
  }
  std::vector<Node>& parts = parts_[path_.place(n)];
  parts.assign(1, sum(parts));
  return parts[0];
}

bool GradientNodes::wants(std::size_t i) const {
  return has(i) && path_.has(places_[i]) && graph_.dim(places_[i]).elements() != 0;
}

Node GradientNodes::out(std::size_t k) const { return {node_ + static_cast<graph::NodeId>(k)}; }

Node GradientNodes::d_out(std::size_t k) {
  const auto sum = sum_of_parts(out(k).id);
  return sum.has_value() ? *sum : constant(dim(out(k)), 0.0);
}

std::uint32_t GradientNodes::index_count() const {
  const graph::StoredPayload* payload = graph_[node_].payload;
  return payload == nullptr ? 0 : payload->count;
}

Node GradientNodes::add_with(const ext::Record& record, const void* op, std::span<const Node> args,
                             const ext::NodePayload& payload) {
  std::vector<Expression> all;
  all.reserve(args.size());
  for (const Node n : args) {
    all.push_back(expression(n));
  }
  return {
      ext::add_node(record, op, &owner_, all, payload, where_, args.empty() ? device_ : nullptr).i};
}

Node GradientNodes::add(const ext::Record& record, const void* op, std::span<const Node> args,
                        const Indices& indices) {
  ext::NodePayload payload;
  if (indices.same) {
    payload = graph_.payload(node_);
  } else if (!indices.given.empty()) {
    payload = ext::NodePayload::of(indices.given);
  }
  return add_with(record, op, args, payload);
}

/// The graph computes nothing while gradients are added, so nobody has drawn yet. The node that is
/// differentiated may be older than an Evaluating scope; then its mask counts in the scope, too.
Node GradientNodes::drawn_again(const ext::Record& record, const void* op, Node x) {
  const api::OutsideEvaluating draws;
  const Node again = add(record, op, {&x, 1}, {});
  owner_.state().graph.draw_as(again.id, node_);
  return again;
}

Node GradientNodes::number_line(const Dim& shape) {
  std::vector<float> numbers(static_cast<std::size_t>(shape.elements()));
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  const ops::Input op{shape};
  return add_with(ext::kRecord<ops::Input>, &op, {}, ext::NodePayload::of(numbers));
}

/// By pointer: from a table of all numbers below the bound.
Node GradientNodes::indices_as_numbers(const Dim& shape) {
  const ext::NodePayload payload = graph_.payload(node_);
  const auto per_example = static_cast<unsigned>(shape.example_elements());
  Dim all = shape;
  all.bd = payload.count / std::max(per_example, 1U);
  if (payload.form == ext::NodePayload::kCopied) {
    const std::span<const unsigned> indices = graph_.indices(node_);
    const std::vector<float> numbers(indices.begin(), indices.end());
    const ops::Input op{all};
    return add_with(ext::kRecord<ops::Input>, &op, {}, ext::NodePayload::of(numbers));
  }
  const ext::Record& record = graph_[node_].record();
  if (record.index_limit == nullptr) {
    throw errors::UsageError(
        "gradient: " + std::string(record.info->name) +
        " has no backward in operations where its indices are given by pointer\n  " +
        graph_.describe(node_));
  }
  const Node table = number_line(Dim({graph_.index_limit(node_)}));
  return reshaped(gathered(table, per_example, 0, kSame), all);
}

/// Attributes and payload are floats; a number that is no float is the sum of two.
Node GradientNodes::constant(const Dim& shape, double value) {
  const auto near = static_cast<float>(value);
  const ops::Constant op{shape, near};
  const Node first = add(op);
  const double rest = value - static_cast<double>(near);
  if (rest == 0.0 || !std::isfinite(rest)) {
    return first;
  }
  const auto more = static_cast<float>(rest);
  const ops::AddScalar plus;
  return add_with(ext::kRecord<ops::AddScalar>, &plus, {&first, 1}, ext::NodePayload::of(more));
}

Node GradientNodes::scaled(Node x, double factor) {
  if (factor == 1.0) {
    return x;
  }
  if (factor == -1.0) {
    return add(ops::Negate{}, x);
  }
  const auto near = static_cast<float>(factor);
  if (static_cast<double>(near) != factor) {
    return add(ops::CMult{}, x, constant({1}, factor));
  }
  const ops::MultiplyScalar op;
  return add_with(ext::kRecord<ops::MultiplyScalar>, &op, {&x, 1}, ext::NodePayload::of(near));
}

Node GradientNodes::reshaped(Node x, const Dim& shape) {
  return dim(x) == shape ? x : add(ops::Reshape{shape}, x);
}

Node GradientNodes::broadcast_to(Node x, const Dim& shape) {
  const Dim is = dim(x);
  const Dim all = broadcast(is, shape);
  if (is.example_elements() == all.example_elements() && is.bd == all.bd) {
    return reshaped(x, all);
  }
  return add(ops::Add{}, x, constant(all, 0.0));
}

Node GradientNodes::summed(Node x, std::uint32_t mask, bool over_batch) {
  ops::SumDim op;
  Dim kept = dim(x);
  for (unsigned k = 0; k < kept.nd; ++k) {
    if ((mask >> k & 1U) != 0 && kept.d[k] != 1) {
      op.dims.items[op.dims.count++] = k;
      kept.d[k] = 1;
    }
  }
  Node sum = x;
  if (op.dims.count != 0) {
    sum = reshaped(add(op, x), kept);
  }
  return over_batch ? add(ops::SumBatches{}, sum) : sum;
}

Node GradientNodes::fitted(Node g, const Dim& work, const Dim& to) {
  const Dim is = dim(g);
  std::uint32_t mask = 0;
  double times = 1.0;
  for (unsigned k = 0; k < work.nd; ++k) {
    const bool is_summed = to[k] == 1 && work[k] != 1;
    if (is_summed && is[k] != 1) {
      mask |= std::uint32_t{1} << k;
    } else if (is_summed) {
      times *= work[k];
    }
  }
  const bool over_batch = to.bd == 1 && work.bd != 1;
  if (over_batch && is.bd == 1) {
    times *= work.bd;
  }
  const Node sum = scaled(summed(g, mask, over_batch && is.bd != 1), times);
  return reshaped(broadcast_to(sum, to), to);
}

void GradientNodes::give(std::size_t i, Node gradient) {
  if (!wants(i)) {
    return;
  }
  const Dim to = dim(in(i));
  const Dim is = dim(gradient);
  if (is.example_elements() == to.example_elements()) {
    Dim same = to;
    same.bd = is.bd;
    gradient = reshaped(gradient, same);
  }
  add_part(in(i).id, fitted(gradient, broadcast(dim(gradient), to), to));
}

void GradientNodes::give(const ext::Formula& formula) { give_formula(*this, formula); }

void GradientNodes::add_slopes(const RuleAt& at, const ext::Formula& formula,
                               std::span<Node> d_in) {
  add_formula(*this, at, formula, d_in);
}

}  // namespace dynet::api
