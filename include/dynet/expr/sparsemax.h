#pragma once

// Written by tools/generate-api from the operations in dynet/ops/sparsemax.h. Not to be edited.

#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// The distribution nearest to x along dimension d: by default of each column. Most of it is 0 if x
///   has large differences. NaN if an element is NaN or inf.
/// `y_i = max(x_i - t, 0) with t such that sum_i y_i = 1, i along dimension d`
/// Shapes: any -> the same.
/// Errors: ShapeError if x has no dimension d, or more than 2^24 elements along it.
/// Source: Martins and Astudillo, 2016.
Expression sparsemax(const Expression& x, unsigned d = 0, Where where = Where::here());

/// Loss of sparsemax against the distribution q of the classes in support, one list for all
///   examples of the batch: never below 0. The gradient is p - q. A class that stands twice counts
///   twice.
/// `y = (sum over p_i > 0 of (x_i^2 - t^2) + sum_i q_i^2) / 2 - sum_i q_i * x_i, p = sparsemax(x)
///   with threshold t, q_i = how often i stands in support / its length`
/// Shapes: {n} -> {1}.
/// `support`: by pointer it is read again at every run.
/// Errors: ShapeError unless x is a vector of at most 2^24 elements, ValueError if support is
///   empty, IndexError if a class is not below n.
/// Source: Martins and Astudillo, 2016.
Expression sparsemax_loss(const Expression& x, unsigned support, Where where = Where::here());
Expression sparsemax_loss(const Expression& x, detail::Pointer<unsigned> support,
                          Where where = Where::here());
Expression sparsemax_loss(const Expression& x, const std::vector<unsigned>& support,
                          Where where = Where::here());
Expression sparsemax_loss(const Expression& x, detail::Pointer<std::vector<unsigned>> support,
                          Where where = Where::here());

/// Softmax with an upper bound u_i of each probability, along dimension d: by default of each
///   column. If the bounds of a column sum to less than 1, they are the result.
/// `y_i = min(u_i, c * exp(x_i)) with c such that sum_i y_i = 1, along dimension d`
/// Shapes: two equal shapes -> the same.
/// Errors: ShapeError if the shapes differ, x has no dimension d, or more than 2^24 elements along
///   it.
/// Source: Martins and Kreutzer, 2017.
Expression constrained_softmax(const Expression& x, const Expression& u, unsigned d = 0,
                               Where where = Where::here());

}  // namespace dynet
