#pragma once

// Written by tools/generate-api from the operations in dynet/ops/elementary.h. Not to be edited.

#include "dynet/expr/arguments.h"

namespace dynet {

/// Exponential, elementwise.
/// `y = exp(x)`
/// Shapes: any -> the same.
Expression exp(const Expression& x, Where where = Where::here());

/// Exponential minus 1, elementwise, which keeps its digits near 0.
/// `y = exp(x) - 1`
/// Shapes: any -> the same.
template <int = 0>
Expression expm1(const Expression& x, Where where = Where::here());

/// Natural logarithm, elementwise: -inf at 0, NaN below.
/// `y = ln(x)`
/// Shapes: any -> the same.
Expression log(const Expression& x, Where where = Where::here());

/// Logarithm of 1 + x, elementwise, which keeps its digits near 0: -inf at -1, NaN below.
/// `y = ln(1 + x)`
/// Shapes: any -> the same.
template <int = 0>
Expression log1p(const Expression& x, Where where = Where::here());

/// Square, elementwise.
/// `y = x * x`
/// Shapes: any -> the same.
Expression square(const Expression& x, Where where = Where::here());

/// Cube, elementwise.
/// `y = x * x * x`
/// Shapes: any -> the same.
Expression cube(const Expression& x, Where where = Where::here());

/// Square root, elementwise: NaN below 0; the slope at 0 is inf.
/// `y = sqrt(x)`
/// Shapes: any -> the same.
Expression sqrt(const Expression& x, Where where = Where::here());

/// Absolute value, elementwise. The slope at 0 is 0.
/// `y = |x|`
/// Shapes: any -> the same.
Expression abs(const Expression& x, Where where = Where::here());

/// Error function, elementwise.
/// `y = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x`
/// Shapes: any -> the same.
Expression erf(const Expression& x, Where where = Where::here());

/// Logarithm of the gamma function's absolute value, elementwise: inf at whole x <= 0.
/// `y = ln |gamma(x)|`
/// Shapes: any -> the same.
Expression lgamma(const Expression& x, Where where = Where::here());

/// Each element of x to the power of the one element y: NaN if x < 0 and y is no whole number. The
///   gradient of y is NaN if an element of x is 0 or below.
/// `z = x^y`
/// Shapes: any, {1} -> the first.
/// Errors: ShapeError unless y has one element.
Expression pow(const Expression& x, const Expression& y, Where where = Where::here());

/// Each element to the power of a number: NaN if x < 0 and a is no whole number.
/// `y = x^a`
/// Shapes: any -> the same.
Expression pow(const Expression& x, real a, Where where = Where::here());

/// The nearest number from lo to hi, elementwise; NaN stays NaN. The gradient of elements outside
///   is 0.
/// `y = min(max(x, lo), hi)`
/// Shapes: any -> the same.
/// Errors: ValueError unless lo <= hi.
template <int = 0>
Expression clip(const Expression& x, float lo, float hi, Where where = Where::here());

/// Elements of x at the places where cond is not 0, elements of y elsewhere. All three broadcast: a
///   dimension of 1, or a missing one, is repeated. No gradient flows to cond.
/// `z = cond != 0 ? x : y`
/// Shapes: cond, x, y with each dimension equal or 1 -> the largest of each.
/// Errors: ShapeError if a dimension differs and neither is 1.
template <int = 0>
Expression where(const Expression& cond, const Expression& x, const Expression& y,
                 Where where = Where::here());

/// Rounds each element, halves away from 0. The gradient is 0 (zero_gradient) or goes straight
///   through (straight_through_gradient).
/// `y = the nearest whole number`
/// Shapes: any -> the same.
Expression round(const Expression& x, GradientMode gradient_mode, Where where = Where::here());

/// Rounds each element up. The gradient is 0 (zero_gradient) or goes straight through
///   (straight_through_gradient).
/// `y = the least whole number that is not below x`
/// Shapes: any -> the same.
Expression ceil(const Expression& x, GradientMode gradient_mode, Where where = Where::here());

/// Rounds each element down. The gradient is 0 (zero_gradient) or goes straight through
///   (straight_through_gradient).
/// `y = the largest whole number that is not above x`
/// Shapes: any -> the same.
Expression floor(const Expression& x, GradientMode gradient_mode, Where where = Where::here());

/// The largest element's place, as a vector with a 1 there; NaN counts as the largest number. The
///   gradient is 0 (zero_gradient) or goes straight through (straight_through_gradient).
/// `y_i = 1 if x_i is the first of the largest elements, else 0`
/// Shapes: {n} -> {n}.
/// Errors: ShapeError unless x has one dimension, of at most 2^24 elements.
Expression argmax(const Expression& x, GradientMode gradient_mode, Where where = Where::here());

/// The value of x, whose gradient is negated.
/// `y = x; dx = -dy`
/// Shapes: any -> the same.
/// Source: Ganin and Lempitsky, 2015.
Expression flip_gradient(const Expression& x, Where where = Where::here());

/// The value of x, whose gradient is scaled.
/// `y = x; dx = lambd * dy`
/// Shapes: any -> the same.
Expression scale_gradient(const Expression& x, float lambd = 1.0F, Where where = Where::here());

}  // namespace dynet
