#pragma once

// Written by tools/generate-api from the operations in dynet/ops/matrix.h. Not to be edited.

#include "dynet/expr/arguments.h"

namespace dynet {

/// Inverse of a square matrix; all elements are NaN if it is singular.
/// `y = x^-1; the gradient of x is -transpose(y) dy transpose(y)`
/// Shapes: {n,n} -> {n,n}.
/// Errors: ShapeError unless x is a square matrix.
Expression inverse(const Expression& x, Where where = Where::here());

/// Logarithm of the determinant of a square matrix: NaN if the determinant is negative, -inf if it
///   is 0.
/// `y = ln(det(x)); the gradient of x is dy transpose(x^-1)`
/// Shapes: {n,n} -> {1}.
/// Errors: ShapeError unless x is a square matrix.
Expression logdet(const Expression& x, Where where = Where::here());

}  // namespace dynet
