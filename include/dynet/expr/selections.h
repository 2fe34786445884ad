#pragma once

// Parts of tensors, and sums and products over their dimensions, as other functions put together;
// and conv2d, whose bias stands before its stride.

#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// In each dimension k the elements from[k], from[k] + strides[k], ..., below to[k]; one more entry
/// is for the examples of the batch. Entries that are missing take everything: stride 1, from 0, to
/// the extent. If all elements are taken, the result is x itself.
/// `y[i, j, ..] = x[from[0] + i strides[0], from[1] + j strides[1], ..]`
/// Shapes: {a,b}xn -> {ceil((to[0] - from[0]) / strides[0]), ...}.
/// Errors: ShapeError if a list is longer than the dimensions and the batch, a stride is below 1,
///   or not 0 <= from < to <= extent.
Expression strided_select(const Expression& x, const std::vector<int>& strides,
                          const std::vector<int>& from = {}, const std::vector<int>& to = {},
                          Where where = Where::here());

/// Adds the entries of dimension d of x to `rows` entries that begin at 0, each to the one that its
/// index says: the gradient of gather. One list, with an index per entry, is for all examples, or
/// each example has its own list, one after the other.
/// `y[.., r, ..] = sum of x[.., i, ..] over the i with index[i] = r, in dimension d`
/// Shapes: {n,..} -> {rows,..} for d = 0, {a,n} -> {a,rows} for d = 1, ...
/// Errors: ShapeError if x has no dimension d, nothing along it, or another number of indices;
///   IndexError if an index is not below rows.
/// C++: by pointer the indices are read again at every run.
/// Python: `set` gives the node other indices.
template <int = 0>
Expression scatter_add(const Expression& x, const std::vector<unsigned>& index, unsigned rows,
                       unsigned d = 0, Where where = Where::here());
template <int = 0>
Expression scatter_add(const Expression& x, detail::Pointer<std::vector<unsigned>> index,
                       unsigned rows, unsigned d = 0, Where where = Where::here());

/// Sums and means of segments, such as the edges of a graph by the node to which they lead:
/// index[i] is the segment, below `segments`, of entry i of dimension d, by default of column i.
/// One list, with an index per entry, is for all examples, or each example has its own list, one
/// after the other. The sum is scatter_add; the mean divides it by the number of entries, and is 0
/// for a segment without entries.
/// `y[.., s, ..] = sum or mean of x[.., i, ..] over the i with index[i] = s, in dimension d`
/// Shapes: {a,n} -> {a,segments} for d = 1, {n,..} -> {segments,..} for d = 0, ...
/// Errors: ShapeError if x has no dimension d, nothing along it, or another number of indices;
///   IndexError if an index is not below `segments`.
/// C++: by pointer the indices are read again at every run.
/// Python: `set` gives the node other indices, but for segment_mean.
template <int = 0>
Expression segment_sum(const Expression& x, const std::vector<unsigned>& index, unsigned segments,
                       unsigned d = 1, Where where = Where::here());
template <int = 0>
Expression segment_sum(const Expression& x, detail::Pointer<std::vector<unsigned>> index,
                       unsigned segments, unsigned d = 1, Where where = Where::here());
template <int = 0>
Expression segment_mean(const Expression& x, const std::vector<unsigned>& index, unsigned segments,
                        unsigned d = 1, Where where = Where::here());
template <int = 0>
Expression segment_mean(const Expression& x, detail::Pointer<std::vector<unsigned>> index,
                        unsigned segments, unsigned d = 1, Where where = Where::here());
/// The largest entries of segments, with indices as for segment_sum: NaN if one of them is NaN, 0
/// for a segment without entries. The gradient goes to the first of equal ones.
/// `y[.., s, ..] = max of x[.., i, ..] over the i with index[i] = s, in dimension d`
/// Shapes: {a,n} -> {a,segments} for d = 1, {n,..} -> {segments,..} for d = 0, ...
/// Errors: as for segment_sum, and ShapeError for more than 2^24 entries.
/// C++: by pointer the indices are read again at every run.
/// Python: `set` gives the node other indices.
template <int = 0>
Expression segment_max(const Expression& x, const std::vector<unsigned>& index, unsigned segments,
                       unsigned d = 1, Where where = Where::here());
template <int = 0>
Expression segment_max(const Expression& x, detail::Pointer<std::vector<unsigned>> index,
                       unsigned segments, unsigned d = 1, Where where = Where::here());
/// Softmax among the entries of each segment, with indices as for segment_sum, shifted by the
/// largest of the segment, so that nothing overflows.
/// `y[.., i, ..] = exp(x[.., i, ..]) / sum of exp(x[.., j, ..]) over the j with
///   index[j] = index[i]`
/// Shapes: any with n entries in dimension d -> the same.
/// Errors: as for segment_sum.
/// C++: by pointer the indices are read again at every run.
/// Python: `set` gives the node other indices.
/// Source: Velickovic et al., 2018 (the coefficients of graph attention).
template <int = 0>
Expression segment_softmax(const Expression& x, const std::vector<unsigned>& index,
                           unsigned segments, unsigned d = 1, Where where = Where::here());
template <int = 0>
Expression segment_softmax(const Expression& x, detail::Pointer<std::vector<unsigned>> index,
                           unsigned segments, unsigned d = 1, Where where = Where::here());

/// Sum over the rows: sum_dim of dimension 0, by its old name.
/// `y_j = sum_i x_ij`
/// Shapes: {r,c} -> {c}.
Expression sum_rows(const Expression& x, Where where = Where::here());
/// Sum over the columns: sum_dim of dimension 1, by its old name.
/// `y_i = sum_j x_ij`
/// Shapes: {r,c} -> {r}.
/// Errors: ShapeError if x has one dimension.
Expression sum_cols(const Expression& x, Where where = Where::here());
/// Mean over the columns: mean_dim of dimension 1, by its old name.
/// `y_i = (1/c) sum_j x_ij`
/// Shapes: {r,c} -> {r}.
/// Errors: ShapeError if x has one dimension.
Expression average_cols(const Expression& x, Where where = Where::here());

/// Adds a vector to every column of a matrix: x + b, for these shapes alone.
/// `y_ij = x_ij + b_i`
/// Shapes: {r,c}, {r} or {r,1} -> {r,c}.
/// Errors: ShapeError for other shapes.
Expression colwise_add(const Expression& x, const Expression& b, Where where = Where::here());

/// The trace of x times the transposed y, which is dot_product(x, y).
/// `z = sum_i x_i * y_i`
/// Shapes: two equal shapes -> {1}.
/// Errors: ShapeError if the shapes differ.
Expression trace_of_product(const Expression& x, const Expression& y, Where where = Where::here());

/// Contracts the last dimension of x with y and the middle one with z, and adds the bias if there
/// is one: affine_transform({b, contract3d_1d(x, y), z}).
/// `out_i = sum_jk x_ijk z_j y_k (+ b_i)`
/// Shapes: {i,j,k}, {k}, {j}, {i} -> {i}.
/// Errors: ShapeError for other shapes.
Expression contract3d_1d_1d(const Expression& x, const Expression& y, const Expression& z,
                            Where where = Where::here());
Expression contract3d_1d_1d(const Expression& x, const Expression& y, const Expression& z,
                            const Expression& b, Where where = Where::here());

/// Correlation of an image of several channels with filters, plus the bias if there is one.
/// `y[i, j, o] = b[o] + sum_rcq x[i stride[0] + r - p0, j stride[1] + c - p1, q] f[r, c, q, o]`
/// `is_valid`: windows lie inside the image. Else the result has a place for each stride, the image
///   is 0 outside, and half of the room that windows need more, rounded down, is before it: p0, p1.
/// Shapes: {h,w,ci} or {h,w}, {fh,fw,ci,co}, {co} -> {(h - fh) / stride[0] + 1, .., co}, or not
///   valid {h / stride[0], .., co} rounded up.
/// Errors: ShapeError for other shapes, a filter larger than the image if windows must lie inside,
///   or a stride that is not two numbers above 0; ValueError if it is more than two.
Expression conv2d(const Expression& x, const Expression& f, const std::vector<unsigned>& stride,
                  bool is_valid = true, Where where = Where::here());
Expression conv2d(const Expression& x, const Expression& f, const Expression& b,
                  const std::vector<unsigned>& stride, bool is_valid = true,
                  Where where = Where::here());

}  // namespace dynet
