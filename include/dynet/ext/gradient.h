#pragma once

// The gradients of an operation, in operations.
//
// Rules need no line here: their slopes are formulas, which the library evaluates with nodes in
// place of numbers. Another operation has a member beside forward, for example transpose:
//
//   void gradient(auto& to) const {
//     to.give(0, to.add(Transpose{}, to.d_out()));
//   }
//
// The member is a template because it is read twice. With a GradientBuilder as `to` it adds nodes,
// for gradients of gradients (dynet/expr/gradient.h). With a GradientRun (gradient_run.h) it is
// backward, over kernels; an operation that has a quicker backward keeps it as a second member, and
// says how much quicker. Results of functions of `to` have types of their own with a GradientRun:
// `auto` holds them.
//
// A rule may have the member too, in place of its formula. An operation that has neither formula
// nor member has no gradients of gradients.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dynet/dim.h"
#include "dynet/ext/formula.h"
#include "dynet/ext/optional.h"
#include "dynet/ext/properties.h"
#include "dynet/ext/row_rule.h"
#include "dynet/ext/rows.h"
#include "dynet/ext/rule_loop.h"

namespace dynet::ext {

struct Record;
namespace detail {
template <class Op>
constexpr const Record& record_of();  // op.h
}  // namespace detail

/// The source of the payload of a new node.
struct GradientIndices {
  bool same = false;  ///< the node's own, by pointer if the node's is
  std::span<const unsigned> given = {};
};

/// Adds nodes for the gradients of one node of a graph. Thread rule: as the graph.
class GradientBuilder {
 public:
  /// A node of the graph.
  struct Node {
    std::uint32_t id;
  };
  /// A rule at some nodes: `results` are its outputs, and its saved outputs if there are nodes for
  /// them; else the rule's formula computes these once more.
  struct RuleAt {
    const RuleInfo* rule;     ///< null: a rule over rows
    const RowRule* row_rule;  ///< null: elementwise
    const void* op;
    std::span<const Node> in, results, d_out;
    std::uint32_t wanted;  ///< bit i: the gradient of argument i is wanted
  };
  using Indices = GradientIndices;
  static constexpr Indices kSame{.same = true};

  GradientBuilder() = default;
  GradientBuilder(const GradientBuilder&) = delete;
  GradientBuilder& operator=(const GradientBuilder&) = delete;
  virtual ~GradientBuilder() = default;

  /// Arguments of the operation, absent ones included.
  [[nodiscard]] virtual std::size_t args() const = 0;
  /// Whether the gradient of argument i is asked for; never if it is absent.
  [[nodiscard]] virtual bool wants(std::size_t i) const = 0;
  [[nodiscard]] virtual Node in(std::size_t i) const = 0;
  [[nodiscard]] virtual Node out(std::size_t k = 0) const = 0;
  /// The gradient of output k, of its shape: zeros for an unused output.
  virtual Node d_out(std::size_t k = 0) = 0;
  /// With the batch.
  [[nodiscard]] virtual Dim dim(Node n) const = 0;
  /// How many indices the node itself has.
  [[nodiscard]] virtual std::uint32_t index_count() const = 0;

  /// Adds a node. Of several outputs the first.
  virtual Node add(const Record& record, const void* op, std::span<const Node> args,
                   const Indices& indices) = 0;
  template <class Op, std::same_as<Node>... N>
  Node add(const Op& op, N... args) {
    const std::array<Node, sizeof...(N)> all{args...};
    return add(detail::record_of<Op>(), &op, all, {});
  }
  template <class Op>
  Node add_indexed(const Op& op, Node x, const Indices& indices) {
    return add(detail::record_of<Op>(), &op, {&x, 1}, indices);
  }
  /// A node of the same random operation, of `x`, that draws the same numbers.
  virtual Node drawn_again(const Record& record, const void* op, Node x) = 0;
  template <class Op>
  Node drawn_again(const Op& op, Node x) {
    return drawn_again(detail::record_of<Op>(), &op, x);
  }
  virtual Node constant(const Dim& shape, double value) = 0;
  /// The indices of the node as numbers, as many in each example as `shape` has. UsageError if
  /// they are given by pointer and have no bound.
  virtual Node indices_as_numbers(const Dim& shape) = 0;
  virtual Node scaled(Node x, double factor) = 0;
  virtual Node reshaped(Node x, const Dim& shape) = 0;
  /// The gradient of argument i, or a term of it: summed along repeated dimensions, repeated along
  /// summed dimensions.
  virtual void give(std::size_t i, Node gradient) = 0;
  /// All gradients of a rule.
  virtual void give(const Formula& formula) = 0;

  // For several operations (src/ops/gradient.cc).

  /// The first two dimensions change places.
  Node transposed(Node x);
  Node product(Node x, Node y);
  /// The sum along dimension d, which becomes 1.
  Node summed_along(Node x, unsigned d);
  /// dW = dy transpose(x), given as the gradient of argument i. One W beside a batch gets the sum
  /// over it from one product.
  void give_weight(std::size_t i, Node dy, Node x);
  /// The gradient of argument 0 of a node that picks examples by its indices.
  void give_examples();
  /// Entries `from`, ... of dimension d.
  Node part(Node x, unsigned from, unsigned count, unsigned d);
  /// x between zeros, so that it begins at `from` of `extent` entries of dimension d.
  Node padded(Node x, unsigned from, unsigned extent, unsigned d);
  /// Entry i of dimension d is added to entry index[i] of `rows` zeros.
  Node scattered(Node x, unsigned rows, unsigned d, const Indices& indices);
  /// Entry i of dimension d is entry index[i] of x.
  Node gathered(Node x, unsigned count, unsigned d, const Indices& indices);
  /// Running sums from the end of dimension d.
  Node summed_onward(Node x, unsigned d);
  /// Repeated along dimensions that are 1 in x.
  Node repeated(Node x, const Dim& shape);
  /// Entry i of each dimension k goes to entry from[k] + i * strides[k] of zeros.
  Node spread(Node x, const Dim& shape, std::span<const unsigned> from,
              std::span<const unsigned> strides);
  Node spread(Node x, const Dim& shape, const auto& from, const auto& strides) {
    return spread(x, shape, {from.items, from.count}, {strides.items, strides.count});
  }
  /// Output k of the node whose first output is `first`.
  static Node output(Node first, std::uint32_t k) { return {first.id + k}; }
  /// Saved output k. The graph has no node of it: again(*this) computes it.
  Node saved(std::size_t /*k*/, const auto& again) { return again(*this); }
  /// Entry i of dimension d goes to the entry of zeros that the i-th place of saved output k says.
  /// again(*this) computes the places as numbers, in the shape of x.
  Node put_back(Node x, const Dim& shape, unsigned d, std::size_t /*k*/, const auto& again) {
    return put_at(x, again(*this), shape[d], d);
  }
  /// 0, 1, ... along dimension d, of `extent` entries.
  Node positions(unsigned extent, unsigned d);
  /// Entry i of dimension d is added to entry places[i] of `extent` zeros.
  Node put_at(Node x, Node places, unsigned extent, unsigned d);
  /// Numbers of this shape that a rule does not read.
  Node unread(const Dim& shape) { return constant(shape, 0.0); }
  /// x, for a list of arguments: with a GradientRun, in memory.
  static Node ready(Node x) { return x; }

  /// The gradients of a rule's arguments `in`, from the gradients of its outputs: the rule's own
  /// slope. `results`: the outputs; the saved outputs may follow.
  template <class Rule, std::size_t kIn, std::size_t kResults, std::size_t kOuts>
  std::array<Node, kIn> through(const Rule& rule, const std::array<Node, kIn>& in,
                                const std::array<Node, kResults>& results,
                                const std::array<Node, kOuts>& d_out,
                                std::uint32_t wanted = ~std::uint32_t{0}) {
    static_assert(detail::can_say<Rule>(), "a word of the rule has no operation (formula.h)");
    RuleAt at{nullptr, nullptr, &rule, in, results, d_out, wanted};
    if constexpr (RowOperation<Rule>) {
      at.row_rule = &kRowRule<Rule>;
    } else {
      at.rule = &kRuleInfo<Rule>;
    }
    std::array<Node, kIn> d_in{};
    add_slopes(at, formula_of(rule), d_in);
    return d_in;
  }
  /// Gives the gradient of the rule's argument k as the gradient of argument to[k], unless that is
  /// kNobody.
  static constexpr std::size_t kNobody = ~std::size_t{0};
  template <class Rule, std::size_t kIn, std::size_t kResults, std::size_t kOuts>
  void give_through(const Rule& rule, const std::array<Node, kIn>& in,
                    const std::array<Node, kResults>& results, const std::array<Node, kOuts>& d_out,
                    const std::array<std::size_t, kIn>& to) {
    std::uint32_t wanted = 0;
    for (std::size_t k = 0; k < kIn; ++k) {
      wanted |= to[k] != kNobody && wants(to[k]) ? std::uint32_t{1} << k : 0;
    }
    const std::array<Node, kIn> d_in = through(rule, in, results, d_out, wanted);
    for (std::size_t k = 0; k < kIn; ++k) {
      if ((wanted >> k & 1U) != 0) {
        give(to[k], d_in[k]);
      }
    }
  }

 protected:
  /// Each in the shape of its argument.
  virtual void add_slopes(const RuleAt& at, const Formula& formula, std::span<Node> d_in) = 0;
};

template <class Op>
concept HasGradient = requires(const Op op, GradientBuilder& to) { op.gradient(to); };

namespace detail {
/// Gives the formula of the form that lacks the groups in `absent`.
template <class Op, std::size_t... kI>
void give_form(const Op& op, unsigned absent, GradientBuilder& to,
               std::index_sequence<kI...> /*forms*/) {
  if (absent == 0) {
    to.give(formula_of(op));
  }
  ((absent == kI + 1 ? to.give(formula_of(Without<Op, kI + 1>{op})) : void()), ...);
}

using AddGradient = void (*)(const void* op, unsigned absent, GradientBuilder& to);

/// The function that adds an operation's gradients as nodes; null if there is none.
template <class Op>
constexpr AddGradient gradient_of() {
  if constexpr (HasGradient<Op>) {
    return [](const void* op, unsigned /*absent*/, GradientBuilder& to) {
      static_cast<const Op*>(op)->gradient(to);
    };
  } else if constexpr (Rule<Op>) {
    if constexpr (can_say<Op>()) {
      return [](const void* op, unsigned absent, GradientBuilder& to) {
        constexpr std::size_t kForms = (std::size_t{1} << optional_groups<Op>()) - 1;
        give_form(*static_cast<const Op*>(op), absent, to, std::make_index_sequence<kForms>{});
      };
    } else {
      return nullptr;
    }
  } else if constexpr (RowOperation<Op>) {
    if constexpr (can_say<Op>()) {
      return [](const void* op, unsigned /*absent*/, GradientBuilder& to) {
        to.give(formula_of(*static_cast<const Op*>(op)));
      };
    } else {
      return nullptr;
    }
  } else {
    return nullptr;
  }
}
}  // namespace detail

}  // namespace dynet::ext
