#pragma once

// Written by tools/generate-api from the operations in dynet/ops/trigonometry.h. Not to be edited.

#include "dynet/expr/arguments.h"

namespace dynet {

/// Sine, elementwise; x in radians, of any size.
/// `y = sin(x)`
/// Shapes: any -> the same.
Expression sin(const Expression& x, Where where = Where::here());
template <int = 0>
Expression sin(const Expression& x) {
  return sin(x, Where());
}

/// Cosine, elementwise; x in radians, of any size.
/// `y = cos(x)`
/// Shapes: any -> the same.
Expression cos(const Expression& x, Where where = Where::here());
template <int = 0>
Expression cos(const Expression& x) {
  return cos(x, Where());
}

/// Tangent, elementwise; x in radians, of any size.
/// `y = tan(x)`
/// Shapes: any -> the same.
Expression tan(const Expression& x, Where where = Where::here());
template <int = 0>
Expression tan(const Expression& x) {
  return tan(x, Where());
}

/// Inverse sine, elementwise: NaN beyond -1 and 1; the slope at -1 and 1 is infinite.
/// `y = asin(x)`
/// Shapes: any -> the same.
Expression asin(const Expression& x, Where where = Where::here());
template <int = 0>
Expression asin(const Expression& x) {
  return asin(x, Where());
}

/// Inverse cosine, elementwise: NaN beyond -1 and 1; the slope at -1 and 1 is infinite.
/// `y = acos(x)`
/// Shapes: any -> the same.
Expression acos(const Expression& x, Where where = Where::here());
template <int = 0>
Expression acos(const Expression& x) {
  return acos(x, Where());
}

/// Inverse tangent, elementwise.
/// `y = atan(x)`
/// Shapes: any -> the same.
Expression atan(const Expression& x, Where where = Where::here());
template <int = 0>
Expression atan(const Expression& x) {
  return atan(x, Where());
}

/// Hyperbolic sine, elementwise.
/// `y = (exp(x) - exp(-x)) / 2`
/// Shapes: any -> the same.
Expression sinh(const Expression& x, Where where = Where::here());
template <int = 0>
Expression sinh(const Expression& x) {
  return sinh(x, Where());
}

/// Hyperbolic cosine, elementwise.
/// `y = (exp(x) + exp(-x)) / 2`
/// Shapes: any -> the same.
Expression cosh(const Expression& x, Where where = Where::here());
template <int = 0>
Expression cosh(const Expression& x) {
  return cosh(x, Where());
}

/// Inverse hyperbolic sine, elementwise.
/// `y = ln(x + sqrt(x^2 + 1))`
/// Shapes: any -> the same.
Expression asinh(const Expression& x, Where where = Where::here());
template <int = 0>
Expression asinh(const Expression& x) {
  return asinh(x, Where());
}

/// Inverse hyperbolic cosine, elementwise: NaN below 1; the slope at 1 is infinite.
/// `y = ln(x + sqrt(x^2 - 1))`
/// Shapes: any -> the same.
Expression acosh(const Expression& x, Where where = Where::here());
template <int = 0>
Expression acosh(const Expression& x) {
  return acosh(x, Where());
}

/// Inverse hyperbolic tangent, elementwise: infinite at -1 and 1, NaN beyond.
/// `y = ln((1 + x) / (1 - x)) / 2`
/// Shapes: any -> the same.
Expression atanh(const Expression& x, Where where = Where::here());
template <int = 0>
Expression atanh(const Expression& x) {
  return atanh(x, Where());
}

}  // namespace dynet
