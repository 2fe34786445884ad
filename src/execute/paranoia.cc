// The hook of DYNET_PARANOID.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "dynet/except.h"

#include "execute/executor.h"
#include "execute/verify.h"

namespace dynet::execute {
namespace {

/// How far results may be apart if the terms of sums are added in another order, relative to
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

/// Computes the members of each call one by one, with the same inputs and random numbers, and
/// compares their results with the results of the call; then gradients with the gradients of
/// a rehearsal. Finds operations that mix numbers of different members, and loops that depend on
/// the place of an element. Does nothing for devices whose memory the host does not see. After each
/// request, verifies the executor. Not thread-safe.
class Paranoia final : public Hook {
 public:
  explicit Paranoia(const HookParts& parts)
      : executor_(parts.executor),
        tools_(parts.tools),
        context_(executor_.context()),
        values_(executor_.values()) {}

  void before_call(const graph::Graph& graph, const Call& call) override;
  /// GraphError that names operation, group and node if a result differs.
  void after_call(const graph::Graph& graph, const Call& call) override;
  [[nodiscard]] bool wants_rehearsal() const override { return true; }
  void after_rehearsal() override;
  /// GraphError if a gradient differs from its gradient in the rehearsal.
  void before_delivery() override;
  void after_request(const char* event) override { verify_if_paranoid(executor_, event); }

 private:
  [[nodiscard]] bool is_of_use(const Call& call) const;
  [[nodiscard]] std::string difference(NodeId n, std::int64_t elements, const std::byte* together,
                                       const std::byte* alone) const;
  [[nodiscard]] std::string readers_of(NodeId n) const;
  template <class F>
  void for_each_result(const Call& call, F f) const;

  const Executor& executor_;
  CallTools& tools_;
  const Context& context_;
  const Values& values_;
  std::vector<std::byte> before_, alone_;  ///< the results of all members, one after the other
  struct Gradient {
    NodeId node;
    std::size_t at;  ///< in gradients_
  };
  std::vector<Gradient> nodes_;
  std::vector<std::byte> gradients_;
};

/// The nodes that read `n`: the mistake is in the backward of one of them.
std::string Paranoia::readers_of(NodeId n) const {
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

bool Paranoia::is_of_use(const Call& call) const {
  return !call.backward && call.has_kernel && call.members.size() > 1 &&
         context_.memory(call.members[0]).is_host_visible();
}

/// Calls f(node, its memory, elements) for all results of the call of each member: every output,
/// and sums that are saved. The first part of a node computes the sums alone.
template <class F>
void Paranoia::for_each_result(const Call& call, F f) const {
  const graph::Signature& signature = *context_.graph[call.members[0]].signature;
  const ext::Record& record = *signature.record;
  const std::uint32_t sums = record.saves_sums ? record.head_args : 0;
  const std::uint32_t outputs =
      sums != 0 && call.part == schedule::Part::kFirst ? 0 : record.outputs;
  for (const NodeId m : call.members) {
    for (std::uint32_t k = 0; k < outputs; ++k) {
      f(m + k, static_cast<std::byte*>(values_.at(m + k)), context_.graph.elements(m + k));
    }
    for (std::uint32_t k = 0; k < sums; ++k) {
      f(m, Values::Saved(values_, context_.graph[m], k).at(m),
        signature.saved[k].example_elements() * context_.graph.examples(m));  // of uncut nodes
    }
  }
}

void Paranoia::before_call(const graph::Graph& graph, const Call& call) {
  before_.clear();
  alone_.clear();
  if (!is_of_use(call)) {
    return;
  }
  const graph::Node& first = graph[call.members[0]];
  const std::int64_t number_bytes = ext::bytes_of(first.signature->number);
  const auto keep = [&](std::vector<std::byte>& in) {
    for_each_result(call, [&](NodeId, const std::byte* at, std::int64_t elements) {
      in.insert(in.end(), at, at + elements * number_bytes);
    });
  };
  keep(before_);
  for (const NodeId& m : call.members) {
    const util::Arena::Mark mark = tools_.arena.mark();
    const SegmentView one{{&m, 1}, call.shared, call.args, call.part};
    tools_.memory.begin_call(*first.device().memory);
    first.record().forward(graph[m].signature->op, tools_.assembly.call(one)->call);
    tools_.memory.end_call();
    tools_.arena.release(mark);
  }
  keep(alone_);
  const std::byte* from = before_.data();
  for_each_result(call, [&](NodeId, std::byte* at, std::int64_t elements) {
    std::copy_n(from, elements * number_bytes, at);
    from += elements * number_bytes;
  });
}

void Paranoia::after_call(const graph::Graph& graph, const Call& call) {
  if (alone_.empty() || !is_of_use(call)) {
    return;
  }
  const std::byte* alone = alone_.data();
  for_each_result(call, [&](NodeId n, const std::byte* at, std::int64_t elements) {
    const std::string found = difference(n, elements, at, alone);
    if (!found.empty()) {
      const NodeId first = graph.owner(n);
      throw errors::GraphError(std::string(graph[first].record().info->name) + ": computed with " +
                               std::to_string(call.members.size() - 1) + " other nodes, in group " +
                               std::to_string(values_.group_of(first)) + ", " + found + "\n  " +
                               graph.describe(n));
    }
    alone += elements * ext::bytes_of(graph[n].signature->number);
  });
}

std::string Paranoia::difference(NodeId n, std::int64_t elements, const std::byte* together,
                                 const std::byte* alone) const {
  return context_.graph[n].signature->number == ext::Number::kFloat
             ? difference_of<float>(together, alone, elements)
             : difference_of<double>(together, alone, elements);
}

void Paranoia::after_rehearsal() {
  const Gradients& gradients = executor_.gradients();
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

void Paranoia::before_delivery() {
  const Gradients& gradients = executor_.gradients();
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

}  // namespace

bool wants_paranoia() { return is_paranoid(); }

std::unique_ptr<Hook> make_paranoia(const HookParts& parts) {
  return std::make_unique<Paranoia>(parts);
}

}  // namespace dynet::execute
