#pragma once

// Backward in operations: adds nodes that compute an operation's gradients, for gradients of
// gradients (dynet/expr/gradient.h).
//
// Rules need no line here: their slopes are formulas, which the library evaluates with nodes in
// place of numbers. Another operation has a member beside forward and backward, for example
// transpose:
//
//   void gradient(auto& to) const {
//     to.give(0, to.add(Transpose{}, to.d_out()));
//   }
//
// `to` is a GradientBuilder. The member is a template because the records of other operations are
// not yet declared at that point. A rule may have the member too, in place of its formula. An
// operation without formula and member has no backward in operations.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dynet/dim.h"
#include "dynet/ext/formula.h"
#include "dynet/ext/optional.h"
#include "dynet/ext/properties.h"

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
};

namespace detail {
template <class Op>
concept HasGradient = requires(const Op op, GradientBuilder& to) { op.gradient(to); };

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
