#pragma once

// Written by tools/generate-api from the operations in dynet/ops/attention.h. Not to be edited.

#include "dynet/expr/arguments.h"

namespace dynet {

/// Scaled dot-product attention: q has a column for each query, k and v one for each key. With
///   several heads the rows of q, k and v are cut into equal pieces, one per head, and each piece
///   attends by itself. A query without keys gets 0.
/// `y_j = sum_i p_ij v_i, p_j = softmax of q_j . k_i / sqrt(d / heads) over the keys i (causal: i
///   <= j)`
/// Shapes: {d,m}, {d,n}, {e,n} -> {e,m}; {d}, {d,n}, {e,n} -> {e}.
/// Errors: ShapeError for other shapes, or where heads is 0 or divides d or e not; more than 2^24
///   keys or queries.
/// Source: Vaswani et al., 2017.
template <int = 0>
Expression attention(const Expression& q, const Expression& k, const Expression& v,
                     unsigned heads = 1, bool causal = false, Where where = Where::here());

}  // namespace dynet
