#pragma once

// Arithmetic on values, which are numbers or nodes, for gradients as nodes.
//
// A formula has constants among its words. As long as only constants meet, the result is a number;
// a product with 1 or a sum with 0 adds no node, a product with 0 is 0. Example: (2 * 3) * x + 0
// adds one node. Surprising: no operation compares. `a < b` is the rectifier of b - a, which is not
// 0 if a < b. A NaN in either counts as true, since NaN is not 0.

#include "api/gradient_nodes.h"

namespace dynet::api {

using Node = ext::GradientBuilder::Node;

/// A number or a node.
struct Value {
  bool is_number = true;
  double number = 0.0;
  Node node{};

  Value(double v) : number(v) {}                // NOLINT(google-explicit-constructor)
  Value(Node n) : is_number(false), node(n) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] bool is(double v) const { return is_number && number == v; }
};

/// Arithmetic on values, without nodes that would add 0 or multiply by 1.
class Arithmetic {
 public:
  explicit Arithmetic(GradientNodes& to) : to_(to) {}

  Value add(Value a, Value b);
  Value subtract(Value a, Value b);
  Value multiply(Value a, Value b);
  Value divide(Value a, Value b);
  Value negate(Value a) { return multiply(a, -1.0); }
  Value largest(Value a, Value b);
  Value smallest(Value a, Value b);
  Value power(Value a, Value b);
  /// `then` if `c` is not 0, else `otherwise`.
  Value choose(Value c, Value then, Value otherwise);
  /// Not 0 if a < b.
  Value less(Value a, Value b);
  template <class Op>
  Value of_one(const Op& op, Value a) {
    return to_.add(op, node(a));
  }
  /// A number is one element, which is repeated.
  Node node(Value v) { return v.is_number ? to_.constant({1}, v.number) : v.node; }

 private:
  template <class Scalar, class Both>
  Value with_number(const Scalar& scalar, const Both& both, Node a, Value b);
  template <class Op>
  Value extreme(const Op& op, Value a, Value b);

  GradientNodes& to_;
};

}  // namespace dynet::api
