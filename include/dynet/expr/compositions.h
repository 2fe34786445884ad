#pragma once

// Functions that are other functions put together.

#include <initializer_list>
#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// Elementwise quotient: cdiv.
Expression operator/(const detail::Located& x, const Expression& y);

/// The largest of a list, element by element. ValueError where it is empty.
Expression max(const std::initializer_list<Expression>& xs, Where where = Where::here());
Expression max(const std::vector<Expression>& xs, Where where = Where::here());

/// The smallest of a list, element by element. ValueError where it is empty.
Expression min(const std::initializer_list<Expression>& xs, Where where = Where::here());
Expression min(const std::vector<Expression>& xs, Where where = Where::here());
/// `ln(exp(x1) + exp(x2) + ...)`, element by element, shifted by the largest so that it does not
/// overflow: logsumexp_dim over the list, side by side.
/// Shapes: equal shapes (up to dimensions of 1 at the end) -> that of the first.
/// Errors: ShapeError where the shapes differ, ValueError where the list is empty.
Expression logsumexp(const std::initializer_list<Expression>& xs, Where where = Where::here());
Expression logsumexp(const std::vector<Expression>& xs, Where where = Where::here());

/// Hinge losses of the columns (d = 0) or rows (d = 1) of a matrix, or of the rows along dimension
/// d of any tensor: `y_k = sum_{j != v} max(0, x_jk - x_vk + m)` with v = indices[k].
/// Shapes: {a,b,c}xn -> {b,c}xn for d = 0, {a,c}xn for d = 1, ...
/// `indices`: as many as the other dimensions have elements, the same for all examples, or a list
/// for each example. By pointer they are read again at every run.
/// Errors: ShapeError where x has no dimension d or there are more or fewer indices, ValueError
/// where m is negative or the lists differ in length, IndexError where an index is too large.
Expression hinge_dim(const Expression& x, const std::vector<unsigned>& indices, unsigned d = 0,
                     float m = 1.0F, Where where = Where::here());
Expression hinge_dim(const Expression& x, detail::Pointer<std::vector<unsigned>> indices,
                     unsigned d = 0, float m = 1.0F, Where where = Where::here());
Expression hinge_dim(const Expression& x, const std::vector<std::vector<unsigned>>& indices,
                     unsigned d = 0, float m = 1.0F, Where where = Where::here());

/// A class drawn with the probabilities softmax(x), as a vector with a 1 in its place: argmax of x
/// plus Gumbel noise. The gradient of x is 0, or goes straight through.
/// Shapes: {n}xb -> {n}xb, a draw for each example.
/// Errors: ShapeError unless x has one dimension.
/// Source: Gumbel, 1954; Maddison et al., 2014.
Expression sample_categorical(const Expression& x, GradientMode gradient_mode = zero_gradient,
                              Where where = Where::here());

/// Logarithm of the softmax over the positions in `restriction` alone along dimension d: by default
/// of each column. The others are -inf and get no gradient.
/// Errors: ShapeError where x has no dimension d, ValueError where `restriction` is empty,
/// IndexError where it has a position that x lacks.
Expression log_softmax(const Expression& x, const std::vector<unsigned>& restriction,
                       unsigned d = 0, Where where = Where::here());
/// For lists in braces: without it, {1} would be the dimension 1.
Expression log_softmax(const Expression& x, const std::initializer_list<unsigned>& restriction,
                       unsigned d = 0, Where where = Where::here());

/// Lays matrices side by side: concatenate along dimension 1.
Expression concatenate_cols(const std::initializer_list<Expression>& xs,
                            Where where = Where::here());
Expression concatenate_cols(const std::vector<Expression>& xs, Where where = Where::here());

/// pick_range of dimension 0, by its old name.
Expression pickrange(const Expression& x, unsigned s, unsigned e, Where where = Where::here());

/// Sum over the dimensions `dims`, which are removed (all of them: {1}), and, with `b`, over the
/// batch. Shapes: {a,b,c}xn -> {b}xn for dims = {0,2}.
/// Errors: ValueError where nothing is to be summed, ShapeError where x lacks one of `dims`.
Expression sum_dim(const Expression& x, const std::vector<unsigned>& dims, bool b = false,
                   Where where = Where::here());
/// Raw moment `(1/n) sum x^r` over `dims` and, with `b`, over the batch. With n = 0 the mean is
/// over as many numbers as there are. Shapes and errors as for sum_dim; ValueError where r is 0.
Expression moment_dim(const Expression& x, const std::vector<unsigned>& dims, unsigned r,
                      bool b = false, unsigned n = 0, Where where = Where::here());
/// Mean over `dims` and, with `b`, over the batch; n, shapes and errors as for moment_dim.
Expression mean_dim(const Expression& x, const std::vector<unsigned>& dims, bool b = false,
                    unsigned n = 0, Where where = Where::here());
/// Standard deviation of a population, `sqrt((1/n) sum (x - m)^2)` with the mean m, over `dims`
/// and, with `b`, over the batch; n, shapes and errors as for moment_dim. The gradient is NaN where
/// the deviation is 0.
Expression std_dim(const Expression& x, const std::vector<unsigned>& dims, bool b = false,
                   unsigned n = 0, Where where = Where::here());
/// moment_dim, mean_dim and std_dim over all dimensions: any -> {1}.
Expression moment_elems(const Expression& x, unsigned r, Where where = Where::here());
Expression mean_elems(const Expression& x, Where where = Where::here());
Expression std_elems(const Expression& x, Where where = Where::here());
/// moment_dim, mean_dim and std_dim over the batch alone: {..}xn -> {..}.
Expression moment_batches(const Expression& x, unsigned r, Where where = Where::here());
Expression mean_batches(const Expression& x, Where where = Where::here());
Expression std_batches(const Expression& x, Where where = Where::here());

/// The gates of an LSTM step: `a = b + wx x_t + wh h_tm1` in the order i, f, o, g;
/// `[logistic(a_i); logistic(a_f + 1); logistic(a_o); tanh(a_g)]`. With `weightnoise_std` above 0
/// each matrix gets normal noise of that deviation.
/// Shapes: {n}, {h}, {4h,n}, {4h,h}, {4h} -> {4h}.
/// Errors: ShapeError where the shapes do not fit, ValueError where weightnoise_std is negative.
Expression vanilla_lstm_gates(const Expression& x_t, const Expression& h_tm1, const Expression& wx,
                              const Expression& wh, const Expression& b,
                              real weightnoise_std = 0.0F, Where where = Where::here());

}  // namespace dynet
