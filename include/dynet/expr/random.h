#pragma once

// Written by tools/generate-api from the operations in dynet/ops/random.h. Not to be edited.

#include "dynet/expr/arguments.h"

namespace dynet {

/// Sets elements to 0 with probability p and scales the others up, so that the mean stays. With p =
///   1 all are 0. The result is x itself within an evaluating scope.
/// `y = x * m / (1 - p), m_i = 0 with probability p, else 1`
/// Shapes: any -> the same.
/// Errors: ValueError unless 0 <= p <= 1.
/// Source: Srivastava et al., 2014.
Expression dropout(const Expression& x, float p, Where where = Where::here());

/// Sets whole slices along dimension d to 0 with probability p and scales the others up: one draw
///   for each index of the other dimensions. The result is x itself within an evaluating scope.
/// `y = x * m / (1 - p), m = 0 with probability p, else 1, the same along dimension d`
/// Shapes: any -> the same.
/// Errors: ShapeError if x has no dimension d, ValueError unless 0 <= p <= 1.
/// Source: Srivastava et al., 2014.
Expression dropout_dim(const Expression& x, unsigned d, float p, Where where = Where::here());

/// Sets whole examples of a batch to 0 with probability p and scales the others up. The result is x
///   itself within an evaluating scope.
/// `y[e] = x[e] * m_e / (1 - p), m_e = 0 with probability p, else 1`
/// Shapes: any -> the same.
/// Errors: ValueError unless 0 <= p <= 1.
Expression dropout_batch(const Expression& x, float p, Where where = Where::here());

/// Sets the whole tensor, all examples of a batch, to 0 with probability p, or scales it up. The
///   result is x itself within an evaluating scope.
/// `y = x * m / (1 - p), m = 0 with probability p, else 1`
/// Shapes: any -> the same.
/// Errors: ValueError unless 0 <= p <= 1.
Expression block_dropout(const Expression& x, float p, Where where = Where::here());

/// Adds Gaussian noise. The result is x itself within an evaluating scope.
/// `y = x + n, n_i normal with mean 0 and deviation stddev`
/// Shapes: any -> the same.
/// Errors: ValueError if stddev is negative.
Expression noise(const Expression& x, float stddev, Where where = Where::here());

}  // namespace dynet
