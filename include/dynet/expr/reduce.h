#pragma once

// Written by tools/generate-api from the operations in dynet/ops/reduce.h. Not to be edited.

#include "dynet/expr/arguments.h"

namespace dynet {

/// Sum of all elements of each example.
/// `y = sum_i x_i`
/// Shapes: any -> {1}.
Expression sum_elems(const Expression& x, Where where = Where::here());

/// Sum over the batch.
/// `y = sum_e x[e] over the examples e`
/// Shapes: {..}xb -> {..}.
Expression sum_batches(const Expression& x, Where where = Where::here());

/// The largest elements along dimension d, which is removed; NaN if one of them is NaN. The
///   gradient goes to the first of equal ones.
/// `y = max x over dimension d`
/// Shapes: {a,b,c} -> {b,c} for d = 0, {a,c} for d = 1, ...; {n} -> {1}.
/// Errors: ShapeError if x has no dimension d, or more than 2^24 elements along it.
Expression max_dim(const Expression& x, unsigned d = 0, Where where = Where::here());

/// The smallest elements along dimension d, which is removed; NaN if one of them is NaN. The
///   gradient goes to the first of equal ones.
/// `y = min x over dimension d`
/// Shapes: {a,b,c} -> {b,c} for d = 0, {a,c} for d = 1, ...; {n} -> {1}.
/// Errors: ShapeError if x has no dimension d, or more than 2^24 elements along it.
Expression min_dim(const Expression& x, unsigned d = 0, Where where = Where::here());

/// Logarithm of the sum of the exponentials along dimension d, which is removed. Elements are
///   shifted by the maximum, so that nothing overflows. If all of them are -inf, y is -inf and the
///   gradient is 0.
/// `y = ln(sum exp(x)) over dimension d`
/// Shapes: {a,b,c} -> {b,c} for d = 0, {a,c} for d = 1, ...; {n} -> {1}.
/// Errors: ShapeError if x has no dimension d.
Expression logsumexp_dim(const Expression& x, unsigned d = 0, Where where = Where::here());

/// Layer normalisation along the first dimension: of each column of a matrix. If all elements of a
///   column are equal, the deviation has no part in the gradient. The gradient of x is then 1e8
///   times the gradient of y without epsilon; an epsilon of 1e-5, as in PyTorch, keeps it small.
/// `y = g * (x - m) / sqrt(v + epsilon) + b, m and v mean and variance of x; with epsilon = 0: /
///   (sqrt(v) + 1e-8)`
/// Shapes: {n,m}xb, {n}, {n} -> {n,m}xb.
/// Errors: ShapeError unless g and b are vectors as long as the columns of x, ValueError unless
///   epsilon is at least 0.
/// Source: Ba et al., 2016.
Expression layer_norm(const Expression& x, const Expression& g, const Expression& b,
                      float epsilon = 0.0F, Where where = Where::here());

}  // namespace dynet
