#include "api/gradient_arithmetic.h"

#include <utility>

#include "dynet/ops/activation.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/elementary.h"
#include "dynet/ops/shape.h"

namespace dynet::api {
namespace {

bool is_float(double v) { return static_cast<double>(static_cast<float>(v)) == v; }

}  // namespace

/// Adds `scalar`, with the number as payload, if `b` is a number that fits a float; else `both`, of
/// two nodes.
template <class Scalar, class Both>
Value Arithmetic::with_number(const Scalar& scalar, const Both& both, Node a, Value b) {
  if (!b.is_number || !is_float(b.number)) {
    return to_.add(both, a, node(b));
  }
  const auto number = static_cast<float>(b.number);
  return to_.add_with(ext::kRecord<Scalar>, &scalar, {&a, 1}, ext::NodePayload::of(number));
}

template <class Op>
Value Arithmetic::extreme(const Op& op, Value a, Value b) {
  const Node x = node(a);
  const Node y = node(b);
  return to_.add(op, to_.broadcast_to(x, to_.dim(y)), to_.broadcast_to(y, to_.dim(x)));
}

Value Arithmetic::add(Value a, Value b) {
  if (a.is_number && b.is_number) {
    return a.number + b.number;
  }
  if (a.is_number) {
    std::swap(a, b);
  }
  if (b.is(0.0)) {
    return a;
  }
  return with_number(ops::AddScalar{}, ops::Add{}, a.node, b);
}

Value Arithmetic::subtract(Value a, Value b) {
  if (a.is_number && b.is_number) {
    return a.number - b.number;
  }
  if (b.is(0.0)) {
    return a;
  }
  if (a.is(0.0)) {
    return negate(b);
  }
  if (a.is_number && is_float(a.number)) {
    return with_number(ops::SubtractFrom{}, ops::Add{}, b.node, a);
  }
  if (a.is_number) {
    return to_.add(ops::Subtract{}, node(a), b.node);
  }
  return with_number(ops::SubtractScalar{}, ops::Subtract{}, a.node, b);
}

Value Arithmetic::multiply(Value a, Value b) {
  if (a.is_number && b.is_number) {
    return a.number * b.number;
  }
  if (a.is_number) {
    std::swap(a, b);
  }
  if (b.is_number) {
    return b.number == 0.0 ? Value(0.0) : Value(to_.scaled(a.node, b.number));
  }
  return to_.add(ops::CMult{}, a.node, b.node);
}

Value Arithmetic::divide(Value a, Value b) {
  if (a.is_number && b.is_number) {
    return a.number / b.number;
  }
  if (a.is(0.0)) {
    return a;
  }
  if (a.is_number) {
    return to_.add(ops::CDiv{}, to_.constant(to_.dim(b.node), a.number), b.node);
  }
  if (b.is_number) {
    return b.is(1.0) ? a : with_number(ops::DivideScalar{}, ops::CDiv{}, a.node, b);
  }
  return to_.add(ops::CDiv{}, to_.broadcast_to(a.node, to_.dim(b.node)), b.node);
}

Value Arithmetic::largest(Value a, Value b) {
  return a.is_number && b.is_number ? Value(rule::Max::of(a.number, b.number))
                                    : extreme(ops::Max{}, a, b);
}

Value Arithmetic::smallest(Value a, Value b) {
  return a.is_number && b.is_number ? Value(rule::Min::of(a.number, b.number))
                                    : extreme(ops::Min{}, a, b);
}

Value Arithmetic::power(Value a, Value b) {
  if (b.is_number && is_float(b.number)) {
    return with_number(ops::PowScalar{}, ops::Pow{}, node(a), b);
  }
  return to_.add(ops::Pow{}, node(a), node(b));
}

Value Arithmetic::choose(Value c, Value then, Value otherwise) {
  if (c.is_number) {
    return c.is(0.0) ? otherwise : then;
  }
  if (then.is_number && otherwise.is_number && then.number == otherwise.number) {
    return then;
  }
  const Node fixed = to_.add(ops::NoBackprop{}, c.node);
  return to_.add(ops::Choose{}, fixed, node(then), node(otherwise));
}

Value Arithmetic::less(Value a, Value b) {
  const Value more = subtract(b, a);
  return more.is_number ? Value(more.number > 0.0 ? 1.0 : 0.0)
                        : Value(to_.add(ops::Rectify{}, more.node));
}

}  // namespace dynet::api
