#pragma once

// Written by tools/generate-api from the operations in dynet/ops/linear.h. Not to be edited.

#include <initializer_list>
#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// Matrix product. A vector on the left counts as one column.
/// `z = x y`
/// Shapes: {m,k}, {k,n} -> {m,n}; {m,k}, {k} -> {m}.
/// Errors: ShapeError for more than two dimensions, or if the columns of x are not the rows of y.
Expression operator*(const detail::Located& x, const Expression& y);

/// Sum of products plus a bias, given as the list b, w1, x1, w2, x2, ... A bias of one column is
///   repeated over the columns and the batch. With one argument the result is its value.
/// `y = b + w1 x1 + w2 x2 + ...`
/// Shapes: {m} or {m,n}, {m,k}, {k,n}, ... -> {m,n}, or {m} if n is 1.
/// Errors: ShapeError for an even number of arguments, or shapes that do not fit.
Expression affine_transform(const std::initializer_list<Expression>& exprs,
                            Where where = Where::here());
Expression affine_transform(const std::vector<Expression>& exprs, Where where = Where::here());

/// Permutes the dimensions; by default the transposed matrix. A vector becomes {1,n}.
/// `dimension i of y is dimension dims[i] of x`
/// Shapes: {m,n} -> {n,m}, or by dims.
/// Errors: ShapeError unless dims is a permutation with one entry per dimension of x (or x has one
///   dimension other than 1).
Expression transpose(const detail::Located& x);
Expression transpose(const Expression& x, const std::vector<unsigned>& dims,
                     Where where = Where::here());

/// Sum of the products of the elements.
/// `z = sum_i x_i * y_i`
/// Shapes: two equal shapes -> {1}.
/// Errors: ShapeError if the shapes differ.
Expression dot_product(const Expression& x, const Expression& y, Where where = Where::here());

/// Sum of the squares of the elements.
/// `y = sum_i x_i^2`
/// Shapes: any -> {1}.
Expression squared_norm(const Expression& x, Where where = Where::here());

/// Squared Euclidean distance.
/// `z = sum_i (x_i - y_i)^2`
/// Shapes: two equal shapes, or two vectors of equal length -> {1}.
/// Errors: ShapeError if the shapes differ.
Expression squared_distance(const Expression& x, const Expression& y, Where where = Where::here());

}  // namespace dynet
