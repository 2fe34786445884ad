#include "execute/alone.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "dynet/except.h"

#include "execute/verify.h"

namespace dynet::execute {
namespace {

/// How far results may be apart where the terms of sums are added in another order, relative to
/// numbers above 1.
template <class T>
constexpr double kBound = sizeof(T) == sizeof(float) ? 1e-4 : 1e-10;

/// Sums that overflow in one order of their terms need not in another.
template <class T>
bool is_lost(T x) {
  return std::isnan(x) || std::fabs(x) > std::numeric_limits<T>::max() / 16;
}
template <class T>
bool agree(T a, T b) {
  if (a == b || (is_lost(a) && is_lost(b))) {
    return true;
  }
  const auto x = static_cast<double>(a);
  const auto y = static_cast<double>(b);
  return std::fabs(x - y) <= kBound<T> * std::max(1.0, std::fabs(y));
}

/// "element 3 is 0.5 and alone 0.25", or nothing.
template <class T>
std::string difference_of(const std::byte* together, const std::byte* alone, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    T a;
    T b;
    std::memcpy(&a, together + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    std::memcpy(&b, alone + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    if (!agree(a, b)) {
      return "element " + std::to_string(i) + " is " + std::to_string(a) + " and alone " +
             std::to_string(b);
    }
  }
  return "";
}

}  // namespace

/// The nodes that read `n`, whose backward gave its gradient: what to look at.
std::string Alone::readers_of(NodeId n) const {
  std::string text;
  for (NodeId m = n + 1; m < context_.graph.size(); ++m) {
    const auto args = context_.graph.args(m);
    if (std::find(args.begin(), args.end(), n) != args.end()) {
      text += "\n  read by, in group " + std::to_string(values_.group_of(m)) + ": " +
              context_.graph.describe(m);
    }
  }
  return text;
}

std::unique_ptr<Alone> Alone::if_paranoid(const Context& context, const Values& values,
                                          Assembly& assembly, OperandArena& arena,
                                          CallMemory& memory) {
  return is_paranoid() ? std::make_unique<Alone>(context, values, assembly, arena, memory)
                       : nullptr;
}

bool Alone::is_of_use(const SegmentView& segment) const {
  return segment.members.size() > 1 && context_.memory(segment.members[0]).is_host_visible();
}

/// Calls f(node, its memory, elements) for what the call of each member computes: every output, and
/// sums that are saved. The first part of a node computes no more than these.
template <class F>
void Alone::for_each_result(const SegmentView& segment, F f) const {
  const graph::Signature& signature = *context_.graph[segment.members[0]].signature;
  const ext::Record& record = *signature.record;
  const std::uint32_t sums = record.saves_sums ? record.head_args : 0;
  const std::uint32_t outputs =
      sums != 0 && segment.part == schedule::Part::kFirst ? 0 : record.outputs;
  for (const NodeId m : segment.members) {
    for (std::uint32_t k = 0; k < outputs; ++k) {
      f(m + k, static_cast<std::byte*>(values_.at(m + k)), context_.graph.elements(m + k));
    }
    for (std::uint32_t k = 0; k < sums; ++k) {
      f(m, Values::Saved(values_, context_.graph[m], k).at(m),
        signature.saved[k].example_elements() * context_.graph.examples(m));
    }
  }
}

void Alone::compute(const SegmentView& segment) {
  before_.clear();
  alone_.clear();
  if (!is_of_use(segment)) {
    return;
  }
  const graph::Node& first = context_.graph[segment.members[0]];
  const std::int64_t number_bytes = ext::bytes_of(first.signature->number);
  const auto keep = [&](std::vector<std::byte>& in) {
    for_each_result(segment, [&](NodeId, const std::byte* at, std::int64_t elements) {
      in.insert(in.end(), at, at + elements * number_bytes);
    });
  };
  keep(before_);
  for (const NodeId& m : segment.members) {
    const util::Arena::Mark mark = arena_.mark();
    SegmentView one = segment;
    one.members = {&m, 1};
    first.record().forward(context_.graph[m].signature->op, assembly_.call(one)->call);
    memory_.end_call();
    arena_.release(mark);
  }
  keep(alone_);
  const std::byte* from = before_.data();
  for_each_result(segment, [&](NodeId, std::byte* at, std::int64_t elements) {
    std::copy_n(from, elements * number_bytes, at);
    from += elements * number_bytes;
  });
}

void Alone::compare(const SegmentView& segment) const {
  if (alone_.empty()) {
    return;
  }
  const std::byte* alone = alone_.data();
  for_each_result(segment, [&](NodeId n, const std::byte* at, std::int64_t elements) {
    const std::string found = difference(n, elements, at, alone);
    if (!found.empty()) {
      const NodeId first = context_.graph.owner(n);
      throw errors::GraphError(std::string(context_.graph[first].record().info->name) +
                               ": computed with " + std::to_string(segment.members.size() - 1) +
                               " other nodes, in group " + std::to_string(values_.group_of(first)) +
                               ", " + found + "\n  " + context_.graph.describe(n));
    }
    alone += elements * ext::bytes_of(context_.graph[n].signature->number);
  });
}

std::string Alone::difference(NodeId n, std::int64_t elements, const std::byte* together,
                              const std::byte* alone) const {
  return context_.graph[n].signature->number == ext::Number::kFloat
             ? difference_of<float>(together, alone, elements)
             : difference_of<double>(together, alone, elements);
}

void Alone::remember(const Gradients& gradients) {
  nodes_.clear();
  gradients_.clear();
  // There may be room for the nodes of an earlier graph.
  const auto count = std::min(gradients.size(), static_cast<NodeId>(context_.graph.size()));
  for (NodeId n = 0; n < count; ++n) {
    // The nodes of a parameter share one gradient in one pass, and have their own in the other.
    const bool is_parameter = context_.graph[context_.graph.owner(n)].record().gradient_goes_to ==
                              ext::GradientTo::kStorage;
    if (gradients.is_written(n) && !is_parameter && context_.memory(n).is_host_visible()) {
      nodes_.push_back({n, gradients_.size()});
      const auto* at = static_cast<const std::byte*>(gradients.at(n));
      gradients_.insert(gradients_.end(), at, at + context_.graph.bytes(n));
    }
  }
}

void Alone::compare(const Gradients& gradients) const {
  for (const Gradient& g : nodes_) {
    if (!gradients.is_written(g.node)) {
      continue;
    }
    const std::string found =
        difference(g.node, context_.graph.elements(g.node),
                   static_cast<const std::byte*>(gradients.at(g.node)), gradients_.data() + g.at);
    if (!found.empty()) {
      throw errors::GraphError(
          "backward: the gradient of a node is another one where each call has one member: " +
          found + "\n  " + context_.graph.describe(g.node) + readers_of(g.node));
    }
  }
}

}  // namespace dynet::execute
