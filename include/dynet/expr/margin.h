#pragma once

// Written by tools/generate-api from the operations in dynet/ops/margin.h. Not to be edited.

#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// Hinge loss of class v: how much the other scores miss a margin m below its own. A batch takes
///   one class per example.
/// `y = sum_{j != v} max(0, x_j - x_v + m)`
/// Shapes: {n} -> {1}.
/// `v`: one index for all examples, or one for each; by pointer it is read again at every run.
/// Errors: ShapeError unless x is a vector of at most 2^24 elements, ValueError if m is negative or
///   a batch is given one class, IndexError if v is not below n.
Expression hinge(const Expression& x, unsigned v, float m = 1.0F, Where where = Where::here());
Expression hinge(const Expression& x, detail::Pointer<unsigned> v, float m = 1.0F,
                 Where where = Where::here());
Expression hinge(const Expression& x, const std::vector<unsigned>& v, float m = 1.0F,
                 Where where = Where::here());
Expression hinge(const Expression& x, detail::Pointer<std::vector<unsigned>> v, float m = 1.0F,
                 Where where = Where::here());

/// How much each score x misses a margin m above its rival y.
/// `z = max(0, m - x + y)`
/// Shapes: two equal shapes of one row, {1,n} or {1} -> the same.
/// Errors: ShapeError if the shapes differ or have several rows.
Expression pairwise_rank_loss(const Expression& x, const Expression& y, float m = 1.0F,
                              Where where = Where::here());

/// Negative log likelihood of the count y under a Poisson distribution whose mean has the logarithm
///   x.
/// `z = exp(x) + ln(y!) - y * x`
/// Shapes: {1} -> {1}.
/// `y`: one index for all examples, or one for each; by pointer it is read again at every run.
/// Errors: ShapeError unless x has one element.
Expression poisson_loss(const Expression& x, unsigned y, Where where = Where::here());
Expression poisson_loss(const Expression& x, detail::Pointer<unsigned> y,
                        Where where = Where::here());
Expression poisson_loss(const Expression& x, const std::vector<unsigned>& y,
                        Where where = Where::here());
Expression poisson_loss(const Expression& x, detail::Pointer<std::vector<unsigned>> y,
                        Where where = Where::here());

/// Cross entropy of class v, of which the share s = label_smoothing is spread over all classes,
///   under the softmax of x. A batch takes one class per example. If v is the ignored class, which
///   may be n, loss and gradient are 0; by default no class is ignored.
/// `y = v == ignored ? 0 : -sum_j q_j ln softmax(x)_j, q_j = s/n, and q_v = 1-s+s/n`
/// Shapes: {n} -> {1}.
/// `v`: one index for all examples, or one for each; by pointer it is read again at every run.
/// Errors: ShapeError unless x is a vector of at most 2^24 elements, ValueError unless 0 <=
///   label_smoothing <= 1 and if a batch is given one class, IndexError if v is neither below n
///   nor, as the ignored class, n.
/// Source: Szegedy et al., 2015.
template <int = 0>
Expression cross_entropy(const Expression& x, unsigned v, float label_smoothing = 0.0F,
                         unsigned ignored = 4294967295, Where where = Where::here());
template <int = 0>
Expression cross_entropy(const Expression& x, detail::Pointer<unsigned> v,
                         float label_smoothing = 0.0F, unsigned ignored = 4294967295,
                         Where where = Where::here());
template <int = 0>
Expression cross_entropy(const Expression& x, const std::vector<unsigned>& v,
                         float label_smoothing = 0.0F, unsigned ignored = 4294967295,
                         Where where = Where::here());
template <int = 0>
Expression cross_entropy(const Expression& x, detail::Pointer<std::vector<unsigned>> v,
                         float label_smoothing = 0.0F, unsigned ignored = 4294967295,
                         Where where = Where::here());

/// cross_entropy with a weight of each class: w may be one for all examples, or one each. A class
///   of weight 0 costs nothing, even with a score of -inf.
/// `y = v == ignored ? 0 : -sum_j q_j w_j ln softmax(x)_j, q_j = s/n, and q_v = 1-s+s/n`
/// Shapes: {n}xb, {n} -> {1}xb.
/// `v`: one index for all examples, or one for each; by pointer it is read again at every run.
/// Errors: ShapeError unless x and w are vectors of equal length, at most 2^24, ValueError unless 0
///   <= label_smoothing <= 1 and if a batch is given one class, IndexError if v is neither below n
///   nor, as the ignored class, n.
template <int = 0>
Expression weighted_cross_entropy(const Expression& x, const Expression& w, unsigned v,
                                  float label_smoothing = 0.0F, unsigned ignored = 4294967295,
                                  Where where = Where::here());
template <int = 0>
Expression weighted_cross_entropy(const Expression& x, const Expression& w,
                                  detail::Pointer<unsigned> v, float label_smoothing = 0.0F,
                                  unsigned ignored = 4294967295, Where where = Where::here());
template <int = 0>
Expression weighted_cross_entropy(const Expression& x, const Expression& w,
                                  const std::vector<unsigned>& v, float label_smoothing = 0.0F,
                                  unsigned ignored = 4294967295, Where where = Where::here());
template <int = 0>
Expression weighted_cross_entropy(const Expression& x, const Expression& w,
                                  detail::Pointer<std::vector<unsigned>> v,
                                  float label_smoothing = 0.0F, unsigned ignored = 4294967295,
                                  Where where = Where::here());

}  // namespace dynet
