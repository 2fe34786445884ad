#pragma once

// Functions that are other functions put together. Their comments have the form of the generated
// headers, with a line for each of formula, shapes, errors and source: the reference page
// (docs/operations) is printed from them.

#include <initializer_list>
#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// Elementwise quotient, as cdiv. The right side broadcasts: a dimension of 1, or a missing one, is
/// repeated.
/// `z = x / y`
/// Shapes: x, y with each dimension 1 or as in x -> the shape of x.
/// Errors: ShapeError if a dimension of y is neither 1 nor as in x.
Expression operator/(const detail::Located& x, const Expression& y);

/// The largest of a list, element by element; NaN if one of them is NaN.
/// `y = max(x1, x2, ...)`
/// Shapes: equal shapes -> the same.
/// Errors: ShapeError if the shapes differ, ValueError if the list is empty.
Expression max(const std::initializer_list<Expression>& xs, Where where = Where::here());
Expression max(const std::vector<Expression>& xs, Where where = Where::here());

/// The smallest of a list, element by element; NaN if one of them is NaN.
/// `y = min(x1, x2, ...)`
/// Shapes: equal shapes -> the same.
/// Errors: ShapeError if the shapes differ, ValueError if the list is empty.
Expression min(const std::initializer_list<Expression>& xs, Where where = Where::here());
Expression min(const std::vector<Expression>& xs, Where where = Where::here());

/// Logarithm of the sum of the exponentials of a list, element by element, shifted by the largest
/// so that it does not overflow: logsumexp_dim over the list, side by side.
/// `y = ln(exp(x1) + exp(x2) + ...)`
/// Shapes: equal shapes (up to dimensions of 1 at the end) -> the shape of the first.
/// Errors: ShapeError if the shapes differ, ValueError if the list is empty.
Expression logsumexp(const std::initializer_list<Expression>& xs, Where where = Where::here());
Expression logsumexp(const std::vector<Expression>& xs, Where where = Where::here());

/// Hinge losses of the columns (d = 0) or rows (d = 1) of a matrix, or of the rows along dimension
/// d of any tensor: how much the other scores miss a margin m below the right one.
/// `y_k = sum_{j != v} max(0, x_jk - x_vk + m), v = indices[k]`
/// Shapes: {a,b,c}xn -> {b,c}xn for d = 0, {a,c}xn for d = 1, ...
/// `indices`: one index for each row, in a list for all examples or a list for each example.
/// Errors: ShapeError if x has no dimension d or more than 2^24 elements along it, or there are
/// more or fewer indices, ValueError if m is negative or the lists differ in length, IndexError if
/// an index is too large.
/// C++: by pointer the indices are read again at every run, and must have the lengths of the time
/// when the node was built.
/// Python: a list for all examples; `set` gives the node another list.
Expression hinge_dim(const Expression& x, const std::vector<unsigned>& indices, unsigned d = 0,
                     float m = 1.0F, Where where = Where::here());
Expression hinge_dim(const Expression& x, detail::Pointer<std::vector<unsigned>> indices,
                     unsigned d = 0, float m = 1.0F, Where where = Where::here());
Expression hinge_dim(const Expression& x, const std::vector<std::vector<unsigned>>& indices,
                     unsigned d = 0, float m = 1.0F, Where where = Where::here());
Expression hinge_dim(const Expression& x,
                     detail::Pointer<std::vector<std::vector<unsigned>>> indices, unsigned d = 0,
                     float m = 1.0F, Where where = Where::here());

/// Scaled dot-product attention over the first `lengths[e]` keys of example e: attention with a
/// length. q has a column for each query, k and v one for each key. With several heads the rows of
/// q, k and v are cut into equal pieces, one per head, and each piece attends by itself. One length
/// stands for all examples; without a batch several lengths make one. A query without keys gets 0.
/// `y_j = sum_i p_ij v_i, p_j = softmax of q_j . k_i / sqrt(d / heads) over the keys i below the
/// length (causal: and i <= j)`
/// Shapes: {d,m}, {d,n}, {e,n} -> {e,m}; {d}, {d,n}, {e,n} -> {e}.
/// Errors: ShapeError for other shapes, if heads is 0 or divides d or e not, for more than 2^24
/// keys or queries, and if there are neither one length nor one per example; IndexError if a length
/// is larger than the number of keys.
/// C++: by pointer lengths are read again at every run. {2} in braces is a length, and not two
/// heads.
/// Python: without `lengths` all keys count. `set` gives the node other lengths.
/// Source: Vaswani et al., 2017.
template <int = 0>
Expression attention(const Expression& q, const Expression& k, const Expression& v,
                     const std::vector<unsigned>& lengths, unsigned heads = 1, bool causal = false,
                     Where where = Where::here());
template <int = 0>
Expression attention(const Expression& q, const Expression& k, const Expression& v,
                     detail::Pointer<std::vector<unsigned>> lengths, unsigned heads = 1,
                     bool causal = false, Where where = Where::here());
template <int = 0>
Expression attention(const Expression& q, const Expression& k, const Expression& v,
                     const std::initializer_list<unsigned>& lengths, unsigned heads = 1,
                     bool causal = false, Where where = Where::here());

/// A class drawn with the probabilities softmax(x), as a vector with a 1 in its place: argmax of x
/// plus Gumbel noise. The gradient of x is 0 (zero_gradient) or goes straight through
/// (straight_through_gradient).
/// `y = argmax(x + u), u_i Gumbel numbers`
/// Shapes: {n}xb -> {n}xb, a draw for each example.
/// Errors: ShapeError unless x has one dimension.
/// Source: Gumbel, 1954; Maddison et al., 2014.
template <int = 0>
Expression sample_categorical(const Expression& x, GradientMode gradient_mode = zero_gradient,
                              Where where = Where::here());

/// Logarithm of the softmax over the positions in `restriction` alone along dimension d: by default
/// of each column. The others are -inf and get no gradient.
/// `y_i = x_i - ln(sum_j exp(x_j)) for i in restriction, j in restriction; else -inf`
/// Shapes: any -> the same.
/// Errors: ShapeError if x has no dimension d, ValueError if `restriction` is empty, IndexError if
/// it has a position that x lacks.
/// C++: the second form is for lists in braces: without it, {1} would be the dimension 1.
/// Python: without `restrict` all positions count.
Expression log_softmax(const Expression& x, const std::vector<unsigned>& restriction,
                       unsigned d = 0, Where where = Where::here());
Expression log_softmax(const Expression& x, const std::initializer_list<unsigned>& restriction,
                       unsigned d = 0, Where where = Where::here());

/// Lays matrices side by side: concatenate along dimension 1.
/// `y = [x1, x2, ...]`
/// Shapes: {r,c1}, {r,c2}, ... -> {r,c1+c2+..}.
/// Errors: ShapeError if another dimension differs, ValueError if the list is empty.
Expression concatenate_cols(const std::initializer_list<Expression>& xs,
                            Where where = Where::here());
Expression concatenate_cols(const std::vector<Expression>& xs, Where where = Where::here());

/// The elements with indices from s up to, not including, e: pick_range of dimension 0, by its old
/// name.
/// `y = x[s:e, ..]`
/// Shapes: {a,..} -> {e-s,..}.
/// Errors: ShapeError unless s < e <= the extent of x.
/// Python: a negative index counts from the end: -1 is the last.
Expression pickrange(const Expression& x, unsigned s, unsigned e, Where where = Where::here());

/// Sum over the dimensions `dims`, which are removed, and, with `b`, over the batch.
/// `y = sum of x over dims`
/// Shapes: {a,b,c}xn -> {b}xn for dims = {0,2}, {1}xn for all of them, {b} with the batch.
/// Errors: ValueError if there is nothing to sum, ShapeError if x lacks one of `dims`.
/// Python: `n` has no effect.
Expression sum_dim(const Expression& x, const std::vector<unsigned>& dims, bool b = false,
                   Where where = Where::here());
/// Raw moment, the mean of the powers x^r, over the dimensions `dims`, which are removed, and, with
/// `b`, over the batch. n = 0 stands for the number of elements.
/// `y = (1/n) sum of x^r over dims`
/// Shapes: {a,b,c}xm -> {b}xm for dims = {0,2}, {1}xm for all of them, {b} with the batch.
/// Errors: ValueError if there is nothing to sum or r is 0, ShapeError if x lacks one of `dims`.
Expression moment_dim(const Expression& x, const std::vector<unsigned>& dims, unsigned r,
                      bool b = false, unsigned n = 0, Where where = Where::here());
/// Mean over the dimensions `dims`, which are removed, and, with `b`, over the batch. n = 0 stands
/// for the number of elements.
/// `y = (1/n) sum of x over dims`
/// Shapes: {a,b,c}xm -> {b}xm for dims = {0,2}, {1}xm for all of them, {b} with the batch.
/// Errors: ValueError if there is nothing to sum, ShapeError if x lacks one of `dims`.
Expression mean_dim(const Expression& x, const std::vector<unsigned>& dims, bool b = false,
                    unsigned n = 0, Where where = Where::here());
/// Standard deviation of a population over the dimensions `dims`, which are removed, and, with `b`,
/// over the batch. n = 0 stands for the number of elements. The gradient is 0 if the deviation is
/// 0.
/// `y = sqrt((1/n) sum of (x - m)^2 over dims), m the mean`
/// Shapes: {a,b,c}xm -> {b}xm for dims = {0,2}, {1}xm for all of them, {b} with the batch.
/// Errors: ValueError if there is nothing to sum, ShapeError if x lacks one of `dims`.
Expression std_dim(const Expression& x, const std::vector<unsigned>& dims, bool b = false,
                   unsigned n = 0, Where where = Where::here());
/// Mean of the powers x^r of all elements of each example: moment_dim over all dimensions.
/// `y = (1/n) sum_i x_i^r, n the number of elements`
/// Shapes: any -> {1}.
/// Errors: ValueError if r is 0.
Expression moment_elems(const Expression& x, unsigned r, Where where = Where::here());
/// Mean of all elements of each example: mean_dim over all dimensions.
/// `y = (1/n) sum_i x_i, n the number of elements`
/// Shapes: any -> {1}.
Expression mean_elems(const Expression& x, Where where = Where::here());
/// Standard deviation of all elements of each example: std_dim over all dimensions.
/// `y = sqrt((1/n) sum_i (x_i - m)^2), n the number of elements, m their mean`
/// Shapes: any -> {1}.
Expression std_elems(const Expression& x, Where where = Where::here());
/// Mean of the powers x^r over the batch, element by element.
/// `y = (1/n) sum_e x[e]^r over the n examples e`
/// Shapes: {..}xn -> {..}.
/// Errors: ValueError if r is 0.
Expression moment_batches(const Expression& x, unsigned r, Where where = Where::here());
/// Mean over the batch, element by element.
/// `y = (1/n) sum_e x[e] over the n examples e`
/// Shapes: {..}xn -> {..}.
Expression mean_batches(const Expression& x, Where where = Where::here());
/// Standard deviation over the batch, element by element.
/// `y = sqrt((1/n) sum_e (x[e] - m)^2) over the n examples e, m their mean`
/// Shapes: {..}xn -> {..}.
Expression std_batches(const Expression& x, Where where = Where::here());

/// The gates of an LSTM step, in the order i, f, o, g, from the input x_t and the previous hidden
/// state h_tm1. With `weightnoise_std` above 0 each matrix gets normal noise of that deviation.
/// `[i; f; o; g] = b + wx x_t + wh h_tm1; y = [logistic(i); logistic(f + 1); logistic(o); tanh(g)]`
/// Shapes: {n}, {h}, {4h,n}, {4h,h}, {4h} -> {4h}.
/// Errors: ShapeError if the shapes do not fit, ValueError if weightnoise_std is negative.
Expression vanilla_lstm_gates(const Expression& x_t, const Expression& h_tm1, const Expression& wx,
                              const Expression& wh, const Expression& b,
                              real weightnoise_std = 0.0F, Where where = Where::here());

/// vanilla_lstm_gates of several inputs, one below the other: concatenate(x_t) in the place of x_t.
/// Shapes: a list of {n1}, {n2}, ..., then {h}, {4h,n1+n2+..}, {4h,h}, {4h} -> {4h}.
/// Errors: as for concatenate and vanilla_lstm_gates.
Expression vanilla_lstm_gates_concat(const std::vector<Expression>& x_t, const Expression& h_tm1,
                                     const Expression& wx, const Expression& wh,
                                     const Expression& b, real weightnoise_std = 0.0F,
                                     Where where = Where::here());
/// vanilla_lstm_gates whose input and previous state are multiplied with masks first, element by
/// element. The masks get no gradient.
/// Shapes: as for vanilla_lstm_gates, and masks {n}, {h}, for each example or for all of them.
/// Errors: as for vanilla_lstm_gates and cmult.
Expression vanilla_lstm_gates_dropout(const Expression& x_t, const Expression& h_tm1,
                                      const Expression& wx, const Expression& wh,
                                      const Expression& b, const Expression& dropout_mask_x,
                                      const Expression& dropout_mask_h, real weightnoise_std = 0.0F,
                                      Where where = Where::here());
/// vanilla_lstm_gates_concat whose inputs and previous state are multiplied with masks first, as in
/// vanilla_lstm_gates_dropout. One mask is for all inputs, one below the other.
/// Shapes: as for vanilla_lstm_gates_concat, and masks {n1+n2+..}, {h}.
/// Errors: as for concatenate, vanilla_lstm_gates and cmult.
Expression vanilla_lstm_gates_dropout_concat(
    const std::vector<Expression>& x_t, const Expression& h_tm1, const Expression& wx,
    const Expression& wh, const Expression& b, const Expression& dropout_mask_x,
    const Expression& dropout_mask_h, real weightnoise_std = 0.0F, Where where = Where::here());

}  // namespace dynet
