#pragma once

// Written by tools/generate-api from the operations in dynet/ops/loss.h. Not to be edited.

#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// Softmax along dimension d: by default of each column. Shifted by the maximum, so that it does
///   not overflow.
/// `y_i = exp(x_i) / sum_j exp(x_j), j along dimension d`
/// Shapes: any -> the same.
/// Errors: ShapeError if x has no dimension d.
Expression softmax(const Expression& x, unsigned d = 0, Where where = Where::here());

/// Logarithm of the softmax along dimension d: by default of each column.
/// `y_i = x_i - ln(sum_j exp(x_j)), j along dimension d`
/// Shapes: any -> the same.
/// Errors: ShapeError if x has no dimension d.
Expression log_softmax(const Expression& x, unsigned d = 0, Where where = Where::here());

/// Negative log likelihood of class v under the softmax of x. A batch takes one class per example.
/// `y = ln(sum_j exp(x_j)) - x_v`
/// Shapes: {n} -> {1}.
/// `v`: one index for all examples, or one for each; by pointer it is read again at every run.
/// Errors: ShapeError unless x is a vector of at most 2^24 elements, ValueError if a batch is given
///   one class, IndexError if v is not below n.
Expression pickneglogsoftmax(const Expression& x, unsigned v, Where where = Where::here());
Expression pickneglogsoftmax(const Expression& x, detail::Pointer<unsigned> v,
                             Where where = Where::here());
Expression pickneglogsoftmax(const Expression& x, const std::vector<unsigned>& v,
                             Where where = Where::here());
Expression pickneglogsoftmax(const Expression& x, detail::Pointer<std::vector<unsigned>> v,
                             Where where = Where::here());

/// Binary cross entropy of the predictions x and the targets y. If y is 0 or 1, only the term that
///   counts is computed. ln(0) is taken as ln(1.17549435e-38); with a target in between, x of
///   exactly 0 or 1 costs -ln(1.17549435e-38).
/// `z = -sum_i (y_i ln(x_i) + (1 - y_i) ln(1 - x_i))`
/// Shapes: two equal shapes -> {1}.
/// Errors: ShapeError if the shapes differ.
Expression binary_log_loss(const Expression& x, const Expression& y, Where where = Where::here());

}  // namespace dynet
