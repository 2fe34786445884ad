#pragma once

// Written by tools/generate-api from the operations in dynet/ops/activation.h. Not to be edited.

#include "dynet/expr/arguments.h"

namespace dynet {

/// Hyperbolic tangent, elementwise.
/// `y = tanh(x)`
/// Shapes: any -> the same.
Expression tanh(const Expression& x, Where where = Where::here());

/// Logistic function (sigmoid), elementwise.
/// `y = 1 / (1 + exp(-x))`
/// Shapes: any -> the same.
Expression logistic(const Expression& x, Where where = Where::here());

/// Rectifier, elementwise. The slope at 0 is 0.
/// `y = max(x, 0)`
/// Shapes: any -> the same.
Expression rectify(const Expression& x, Where where = Where::here());

/// Exponential, elementwise.
/// `y = exp(x)`
/// Shapes: any -> the same.
Expression exp(const Expression& x, Where where = Where::here());

/// Natural logarithm, elementwise: -inf at 0, NaN below.
/// `y = ln(x)`
/// Shapes: any -> the same.
Expression log(const Expression& x, Where where = Where::here());

/// Square, elementwise.
/// `y = x * x`
/// Shapes: any -> the same.
Expression square(const Expression& x, Where where = Where::here());

/// Square root, elementwise: NaN below 0; the slope at 0 is inf.
/// `y = sqrt(x)`
/// Shapes: any -> the same.
Expression sqrt(const Expression& x, Where where = Where::here());

/// Exponential linear unit, elementwise.
/// `y = x > 0 ? x : alpha * (exp(x) - 1)`
/// Shapes: any -> the same.
/// Source: Clevert et al., 2015.
Expression elu(const Expression& x, float alpha = 1.0F, Where where = Where::here());

/// Sigmoid linear unit (swish), elementwise.
/// `y = x * logistic(beta * x)`
/// Shapes: any -> the same.
/// Source: Elfwing et al., 2017; Ramachandran et al., 2017.
Expression silu(const Expression& x, float beta = 1.0F, Where where = Where::here());

/// Error function, elementwise.
/// `y = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x`
/// Shapes: any -> the same.
Expression erf(const Expression& x, Where where = Where::here());

}  // namespace dynet
