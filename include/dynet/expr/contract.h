#pragma once

// Written by tools/generate-api from the operations in dynet/ops/contract.h. Not to be edited.

#include "dynet/expr/arguments.h"

namespace dynet {

/// Contracts the last dimension of x with a vector, and adds the bias if there is one. x may be a
///   weight.
/// `z_ij = sum_k x_ijk y_k + b_ij`
/// Shapes: {i,j,k}, {k}, {i,j} -> {i,j}.
/// `b`: may be absent, an empty Expression.
/// Errors: ShapeError for other shapes.
Expression contract3d_1d(const Expression& x, const Expression& y, const Expression& b = {},
                         Where where = Where::here());

/// Products of matrices, one for each entry of the dimensions after the second. These broadcast:
///   each is equal, or 1 or missing in one of the two. A vector counts as a column.
/// `z[.., .., e] = x[.., .., e] y[.., .., e] for every e`
/// Shapes: {m,k,..}, {k,n,..} -> {m,n,..}; {m,k}, {k} -> {m}.
/// Errors: ShapeError if the columns of x are not the rows of y, or a dimension after the second
///   differs and is not 1, or is 0.
template <int = 0>
Expression batch_matmul(const Expression& x, const Expression& y, Where where = Where::here());

}  // namespace dynet
