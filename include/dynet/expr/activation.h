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

/// Scaled exponential linear unit, elementwise.
/// `y = lambda * (x > 0 ? x : alpha * (exp(x) - 1)), lambda = 1.0507, alpha = 1.6733`
/// Shapes: any -> the same.
/// Source: Klambauer et al., 2017.
Expression selu(const Expression& x, Where where = Where::here());

/// Softsign, elementwise.
/// `y = x / (1 + |x|)`
/// Shapes: any -> the same.
Expression softsign(const Expression& x, Where where = Where::here());

/// Logarithm of the logistic function, elementwise.
/// `y = -ln(1 + exp(-x))`
/// Shapes: any -> the same.
Expression log_sigmoid(const Expression& x, Where where = Where::here());

/// Smooth rectifier, elementwise.
/// `y = ln(1 + exp(beta * x)) / beta`
/// Shapes: any -> the same.
template <int = 0>
Expression softplus(const Expression& x, float beta = 1.0F, Where where = Where::here());

/// Gaussian error linear unit, elementwise, by the error function itself.
/// `y = x * (1 + erf(x / sqrt(2))) / 2`
/// Shapes: any -> the same.
/// Source: Hendrycks and Gimpel, 2016.
template <int = 0>
Expression gelu(const Expression& x, Where where = Where::here());

/// Gaussian error linear unit, elementwise, approximated by a hyperbolic tangent.
/// `y = x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2`
/// Shapes: any -> the same.
/// Source: Hendrycks and Gimpel, 2016.
template <int = 0>
Expression gelu_tanh(const Expression& x, Where where = Where::here());

}  // namespace dynet
