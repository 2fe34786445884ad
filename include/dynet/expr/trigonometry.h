#pragma once

// Written by tools/generate-api from the operations in dynet/ops/trigonometry.h. Not to be edited.

#include "dynet/expr/arguments.h"

namespace dynet {

/// Sine, elementwise; x in radians, of any size.
/// `y = sin(x)`
/// Shapes: any -> the same.
Expression sin(const Expression& x, Where where = Where::here());

/// Cosine, elementwise; x in radians, of any size.
/// `y = cos(x)`
/// Shapes: any -> the same.
Expression cos(const Expression& x, Where where = Where::here());

/// Tangent, elementwise; x in radians, of any size.
/// `y = tan(x)`
/// Shapes: any -> the same.
Expression tan(const Expression& x, Where where = Where::here());

/// Inverse sine, elementwise: NaN beyond -1 and 1; the slope at -1 and 1 is infinite.
/// `y = asin(x)`
/// Shapes: any -> the same.
Expression asin(const Expression& x, Where where = Where::here());

/// Inverse cosine, elementwise: NaN beyond -1 and 1; the slope at -1 and 1 is infinite.
/// `y = acos(x)`
/// Shapes: any -> the same.
Expression acos(const Expression& x, Where where = Where::here());

/// Inverse tangent, elementwise.
/// `y = atan(x)`
/// Shapes: any -> the same.
Expression atan(const Expression& x, Where where = Where::here());

/// Hyperbolic sine, elementwise.
/// `y = (exp(x) - exp(-x)) / 2`
/// Shapes: any -> the same.
Expression sinh(const Expression& x, Where where = Where::here());

/// Hyperbolic cosine, elementwise.
/// `y = (exp(x) + exp(-x)) / 2`
/// Shapes: any -> the same.
Expression cosh(const Expression& x, Where where = Where::here());

/// Inverse hyperbolic sine, elementwise.
/// `y = ln(x + sqrt(x^2 + 1))`
/// Shapes: any -> the same.
Expression asinh(const Expression& x, Where where = Where::here());

/// Inverse hyperbolic cosine, elementwise: NaN below 1; the slope at 1 is infinite.
/// `y = ln(x + sqrt(x^2 - 1))`
/// Shapes: any -> the same.
Expression acosh(const Expression& x, Where where = Where::here());

/// Inverse hyperbolic tangent, elementwise: infinite at -1 and 1, NaN beyond.
/// `y = ln((1 + x) / (1 - x)) / 2`
/// Shapes: any -> the same.
Expression atanh(const Expression& x, Where where = Where::here());

}  // namespace dynet
