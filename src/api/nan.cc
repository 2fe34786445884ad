// The first node that is NaN or infinite: in the nodes just computed, or in a whole graph whose
// gradients turn out to be bad. -inf is no mistake if an operation gives it by definition
// (ext::Record::minus_infinity), nor in nodes that got it from there: masks are made so.
#include "api/nan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "dynet/debug.h"
#include "dynet/interrupt.h"

#include "params/host.h"
#include "util/suspect.h"

namespace dynet::api {
namespace {

using graph::NodeId;

constexpr NodeId kNone = ~NodeId{0};

bool has_nan(const Tensor& t) {
  return params::visit(t, [](const auto* x, std::int64_t n) {
    return std::any_of(x, x + n, [](auto number) { return std::isnan(number); });
  });
}

bool is_minus_infinity(double x) { return std::isinf(x) && x < 0.0; }

bool has_minus_infinity(const Tensor& t) {
  return params::visit(t, [](const auto* x, std::int64_t n) {
    return std::any_of(x, x + n, [](double number) { return is_minus_infinity(number); });
  });
}

/// Nothing but numbers and -inf?
bool has_no_other(const Tensor& t) {
  return params::visit(t, [](const auto* x, std::int64_t n) {
    return std::all_of(
        x, x + n, [](double number) { return std::isfinite(number) || is_minus_infinity(number); });
  });
}

Tensor computed(const execute::Executor& executor, NodeId n) {
  return executor.context().tensor(n, executor.values().at(n));
}

/// Does node `n` give -inf by definition, whatever its arguments? An input only if its own numbers
/// have -inf: they can be read when the value has been dropped.
bool gives_minus_infinity(const graph::Graph& graph, NodeId n) {
  const ext::Record& record = graph[n].record();
  if (!record.minus_infinity || !record.payload_is_value) {
    return record.minus_infinity;
  }
  const std::span<const float> numbers = graph.values(n);
  return std::any_of(numbers.begin(), numbers.end(), is_minus_infinity);
}

/// Looks at one node after the other of a graph that computes nothing meanwhile.
class Numbers {
 public:
  explicit Numbers(const GraphState& state) : state_(state) {}

  /// Has the value of `n`, which is there, NaN, inf, or -inf that is not meant?
  bool are_bad(NodeId n) {
    const Tensor value = computed(state_.executor, n);
    return !value.is_valid() && !(has_no_other(value) && hands_on(n));
  }

 private:
  /// Whether `n` has -inf from a node that gives it by definition, along values with -inf. Values
  /// that were dropped (in an inference scope) count as having it.
  bool hands_on(NodeId n) {
    const graph::Graph& graph = state_.graph;
    const execute::Values& values = state_.executor.values();
    while (hands_on_.size() <= n) {  // in the order of the nodes: arguments come before
      const auto m = static_cast<NodeId>(hands_on_.size());
      const NodeId owner = graph.owner(m);
      const std::span<const NodeId> args = graph.args(owner);
      const bool may =
          gives_minus_infinity(graph, owner) ||
          std::any_of(args.begin(), args.end(), [this](NodeId a) { return hands_on_[a]; });
      hands_on_.push_back(may &&
                          (!values.has(m) || has_minus_infinity(computed(state_.executor, m))));
    }
    return hands_on_[n];
  }

  const GraphState& state_;
  std::vector<bool> hands_on_;  ///< by node, up to the last node asked for
};

/// The first node in the order of the program whose value is there and is bad.
template <class IsBad>
NodeId first_value(const GraphState& state, const IsBad& is_it) {
  const execute::Values& values = state.executor.values();
  for (NodeId n = 0; n < values.size(); ++n) {
    if (values.has(n) && is_it(n)) {
      return n;
    }
  }
  return kNone;
}

/// The last node, so the first that backward comes to, whose gradient is bad.
NodeId first_bad_gradient(GraphState& state) {
  for (NodeId n = state.graph.size(); n-- > 0;) {
    if (state.executor.can_have_gradient(n) && !state.executor.gradient(n).is_valid()) {
      return n;
    }
  }
  return kNone;
}

/// The last node that reads `n`: backward comes to its gradients first.
NodeId last_reader(const graph::Graph& graph, NodeId n) {
  for (NodeId m = graph.size(); m-- > n + 1;) {
    const std::span<const NodeId> args = graph.args(m);
    if (std::find(args.begin(), args.end(), n) != args.end()) {
      return m;
    }
  }
  return kNone;
}

/// The first of the nodes that groups from `first_group` on computed and whose value is bad.
NodeId first_invalid(const GraphState& state, std::uint32_t first_group) {
  const execute::Executor& executor = state.executor;
  Numbers numbers(state);
  NodeId first = kNone;
  for (std::uint32_t g = first_group; g < executor.history().size(); ++g) {
    for (const NodeId n : executor.history().members(g)) {
      if (n < first && numbers.are_bad(n)) {
        first = n;
      }
    }
  }
  return first;
}

[[noreturn]] void fail_invalid(const GraphState& state, NodeId bad) {
  throw errors::NumericError("NaN or infinity in " + state.graph.describe(bad));
}

}  // namespace

const Tensor& checked_value(GraphState& state, NodeId n) {
  execute::Executor& executor = state.executor;
  if (!state.check_validity) {
    return executor.value(n);
  }
  const std::uint32_t first_group = executor.history().size();
  const Tensor& value = executor.value(n);
  NodeId bad = first_invalid(state, first_group);
  if (bad == kNone && Numbers(state).are_bad(n)) {  // computed before, or in an inference scope
    bad = std::min(n, first_invalid(state, 0));
  }
  if (bad != kNone) {
    fail_invalid(state, bad);
  }
  return value;
}

void compute_checked(GraphState& state, std::span<const NodeId> nodes) {
  const std::uint32_t first_group = state.executor.history().size();
  state.executor.compute_together(nodes);
  if (!state.check_validity) {
    return;
  }
  const NodeId bad = first_invalid(state, first_group);
  if (bad != kNone) {
    fail_invalid(state, bad);
  }
  for (const NodeId n : nodes) {
    static_cast<void>(checked_value(state, n));
  }
}

void compute_all(GraphState& state) {
  const std::uint32_t first_group = state.executor.history().size();
  state.executor.compute_all();
  const NodeId bad = state.check_validity ? first_invalid(state, first_group) : kNone;
  if (bad != kNone) {
    fail_invalid(state, bad);
  }
}

namespace {

/// Infinite values may be meant, and count for the least, or not at all.
std::string find_nan(GraphState& state, bool names_infinite_values) {
  const NodeId nan =
      first_value(state, [&](NodeId n) { return has_nan(computed(state.executor, n)); });
  if (nan != kNone) {
    return "NaN first in " + state.graph.describe(nan);
  }
  const NodeId gradient = first_bad_gradient(state);
  if (gradient != kNone) {
    const NodeId reader = last_reader(state.graph, gradient);
    return "NaN or infinity first in the gradient of " + state.graph.describe(gradient) +
           (reader == kNone ? "" : "\n  which comes back from " + state.graph.describe(reader));
  }
  Numbers numbers(state);
  const NodeId infinity = names_infinite_values
                              ? first_value(state, [&](NodeId n) { return numbers.are_bad(n); })
                              : kNone;
  return infinity == kNone ? "" : "infinity first in " + state.graph.describe(infinity);
}

}  // namespace

void suspect(const ComputationGraph& graph, const GraphState& state) {
  util::set_suspect({&graph, state.epoch, [](const util::Suspect& s) {
                       const auto* const suspected = static_cast<const ComputationGraph*>(s.graph);
                       if (!is_live(suspected) || suspected->state().epoch != s.epoch) {
                         return std::string();
                       }
                       const InterruptScope nobody(nullptr);  // looking may take a backward
                       try {
                         // Bad gradients of this graph would be named: infinite values are meant.
                         return exclusively(suspected->state(),
                                            [&] { return find_nan(suspected->state(), false); });
                       } catch (const errors::Error&) {  // the error that asks is the one to report
                         return std::string();
                       }
                     }});
}

}  // namespace dynet::api

namespace dynet {

std::string find_nan(const ComputationGraph& cg) {
  return api::exclusively(cg.state(), [&] { return api::find_nan(cg.state(), true); });
}

}  // namespace dynet
