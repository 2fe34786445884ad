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
