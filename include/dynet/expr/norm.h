#pragma once

// Written by tools/generate-api from the operations in dynet/ops/norm.h. Not to be edited.

#include "dynet/expr/arguments.h"

namespace dynet {

/// Euclidean norm of all elements of each example. The gradient is 0 if the norm is 0.
/// `y = sqrt(sum_i x_i^2)`
/// Shapes: any -> {1}.
Expression l2_norm(const Expression& x, Where where = Where::here());

/// Weight normalisation: w with the norm g, over all elements. If all of w is 0, value and
///   gradients are 0.
/// `y = g * w / sqrt(sum_i w_i^2)`
/// Shapes: any, {1} -> the shape of w.
/// Errors: ShapeError unless g is one number.
/// Source: Salimans and Kingma, 2016.
Expression weight_norm(const Expression& w, const Expression& g, Where where = Where::here());

/// Root mean square normalisation along the first dimension: of each column of a matrix. Without
///   epsilon, value and gradients of a column of zeros are 0.
/// `y = g * x / sqrt(mean(x^2) + epsilon), the mean along the first dimension`
/// Shapes: {n,m}xb, {n} -> {n,m}xb.
/// Errors: ShapeError unless g is a vector as long as the columns of x, ValueError unless epsilon
///   is at least 0.
/// Source: Zhang and Sennrich, 2019.
template <int = 0>
Expression rms_norm(const Expression& x, const Expression& g, float epsilon = 1e-06F,
                    Where where = Where::here());

}  // namespace dynet
