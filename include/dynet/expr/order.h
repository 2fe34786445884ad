#pragma once

// Written by tools/generate-api from the operations in dynet/ops/order.h. Not to be edited.

#include <array>

#include "dynet/expr/arguments.h"

namespace dynet {

/// Running sums along dimension d: each element is added to all before it.
/// `y_k = x_0 + ... + x_k along dimension d`
/// Shapes: any -> the same.
/// Errors: ShapeError if x has no dimension d.
Expression cumsum(const Expression& x, unsigned d = 0, Where where = Where::here());

/// The k largest elements along dimension d, in the order in which they stand. Of equal elements
///   the first are taken; NaN counts as the largest.
/// `y = the k largest x along dimension d, in the order in which they stand`
/// Shapes: {a,b} -> {a,k} for d = 1, {k,b} for d = 0, ...
/// Errors: ShapeError if x has no dimension d, or not 1 <= k <= its extent <= 2^24.
/// Source: Kalchbrenner et al., 2014.
Expression kmax_pooling(const Expression& x, unsigned k, unsigned d = 1,
                        Where where = Where::here());

/// The k largest elements along dimension d in descending order, and their positions as numbers,
///   through which no gradient flows. Of equal elements the one that stands first comes first; NaN
///   counts as the largest. With the extent as k, x is sorted.
/// `y = the k largest x along dimension d, the largest first; i = their positions`
/// Shapes: {a,b} -> {k,b}, {k,b} for d = 0, {a,k}, {a,k} for d = 1, ...
/// Results: in the order of the formula.
/// Errors: ShapeError if x has no dimension d, or not 1 <= k <= its extent <= 2^24.
template <int = 0>
std::array<Expression, 2> topk(const Expression& x, unsigned k, unsigned d = 0,
                               Where where = Where::here());

}  // namespace dynet
