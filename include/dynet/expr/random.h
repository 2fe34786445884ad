#pragma once

// Written by tools/generate-api from the operations in dynet/ops/random.h. Not to be edited.

#include "dynet/expr/arguments.h"

namespace dynet {

/// Sets elements to 0 with probability p and scales the others up, so that the mean stays. With p =
///   1 all are 0. Active wherever the node is: there is no test mode.
/// `y = x * m / (1 - p), m_i = 0 with probability p, else 1`
/// Shapes: any -> the same.
/// Errors: ValueError unless 0 <= p <= 1.
/// Source: Srivastava et al., 2014.
Expression dropout(const Expression& x, float p, Where where = Where::here());

/// Adds Gaussian noise.
/// `y = x + n, n_i normal with mean 0 and deviation stddev`
/// Shapes: any -> the same.
/// Errors: ValueError where stddev is negative.
Expression noise(const Expression& x, float stddev, Where where = Where::here());

}  // namespace dynet
