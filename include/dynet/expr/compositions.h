#pragma once

// Functions that are other functions put together.

#include <initializer_list>
#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// Elementwise quotient: cdiv.
Expression operator/(const detail::Located& x, const Expression& y);

/// The largest of a list, element by element. ValueError where it is empty.
Expression max(const std::initializer_list<Expression>& xs, const char* file = __builtin_FILE(),
               unsigned line = __builtin_LINE());
Expression max(const std::vector<Expression>& xs, const char* file = __builtin_FILE(),
               unsigned line = __builtin_LINE());

/// Lays matrices side by side: concatenate along dimension 1.
Expression concatenate_cols(const std::initializer_list<Expression>& xs,
                            const char* file = __builtin_FILE(), unsigned line = __builtin_LINE());
Expression concatenate_cols(const std::vector<Expression>& xs, const char* file = __builtin_FILE(),
                            unsigned line = __builtin_LINE());

/// pick_range of dimension 0, by its old name.
Expression pickrange(const Expression& x, unsigned s, unsigned e,
                     const char* file = __builtin_FILE(), unsigned line = __builtin_LINE());

/// The gates of an LSTM step: `a = b + wx x_t + wh h_tm1` in the order i, f, o, g;
/// `[logistic(a_i); logistic(a_f + 1); logistic(a_o); tanh(a_g)]`. With `weightnoise_std` above 0
/// each matrix gets normal noise of that deviation.
/// Shapes: {n}, {h}, {4h,n}, {4h,h}, {4h} -> {4h}.
/// Errors: ShapeError where the shapes do not fit, ValueError where weightnoise_std is negative.
Expression vanilla_lstm_gates(const Expression& x_t, const Expression& h_tm1, const Expression& wx,
                              const Expression& wh, const Expression& b,
                              real weightnoise_std = 0.0F, const char* file = __builtin_FILE(),
                              unsigned line = __builtin_LINE());

}  // namespace dynet
