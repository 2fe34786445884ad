#pragma once

// Written by tools/generate-api from the operations in dynet/ops/select.h. Not to be edited.

#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// Some rows: the entries of the first dimension that are listed, in the order of the list. A row
///   may be listed several times.
/// `y[i, ..] = x[rows[i], ..]`
/// Shapes: {r,..} -> {n,..}, n the length of the list.
/// `rows`: by pointer it is read again at every run.
/// Errors: ShapeError if the list is empty, IndexError if x has no such row.
Expression select_rows(const Expression& x, unsigned rows, Where where = Where::here());
Expression select_rows(const Expression& x, detail::Pointer<unsigned> rows,
                       Where where = Where::here());
Expression select_rows(const Expression& x, const std::vector<unsigned>& rows,
                       Where where = Where::here());
Expression select_rows(const Expression& x, detail::Pointer<std::vector<unsigned>> rows,
                       Where where = Where::here());

/// Some columns: the entries of the second dimension that are listed, in the order of the list. A
///   column may be listed several times.
/// `y[i, j, ..] = x[i, cols[j], ..]`
/// Shapes: {r,c,..} -> {r,n,..}, n the length of the list.
/// `cols`: by pointer it is read again at every run.
/// Errors: ShapeError if x has one dimension or the list is empty, IndexError if x has no such
///   column.
Expression select_cols(const Expression& x, unsigned cols, Where where = Where::here());
Expression select_cols(const Expression& x, detail::Pointer<unsigned> cols,
                       Where where = Where::here());
Expression select_cols(const Expression& x, const std::vector<unsigned>& cols,
                       Where where = Where::here());
Expression select_cols(const Expression& x, detail::Pointer<std::vector<unsigned>> cols,
                       Where where = Where::here());

/// n entries of dimension d for each example. One list of n indices is for all examples, or each
///   example has its own list, one after the other. With such lists x may be one example, from
///   which all take their entries. Indices may repeat.
/// `y[.., i, ..] = x[.., index[i], ..], in dimension d`
/// Shapes: {r,..} -> {n,..} for d = 0, {a,r} -> {a,n} for d = 1, ...
/// `index`: by pointer it is read again at every run.
/// Errors: ShapeError if x has no dimension d, n is 0, or indices are neither n nor n per example;
///   IndexError if one is too large.
template <int = 0>
Expression gather(const Expression& x, unsigned index, unsigned n, unsigned d = 0,
                  Where where = Where::here());
template <int = 0>
Expression gather(const Expression& x, detail::Pointer<unsigned> index, unsigned n, unsigned d = 0,
                  Where where = Where::here());
template <int = 0>
Expression gather(const Expression& x, const std::vector<unsigned>& index, unsigned n,
                  unsigned d = 0, Where where = Where::here());
template <int = 0>
Expression gather(const Expression& x, detail::Pointer<std::vector<unsigned>> index, unsigned n,
                  unsigned d = 0, Where where = Where::here());

/// Some examples of a batch, in the order of the list. One may be listed several times.
/// `y[e] = x[v[e]], e and v[e] counting the examples`
/// Shapes: {..}xb -> {..}xn, n the length of the list.
/// `v`: by pointer it is read again at every run.
/// Errors: ShapeError if the list is empty, IndexError if an index is not below the batch size.
Expression pick_batch_elems(const Expression& x, unsigned v, Where where = Where::here());
Expression pick_batch_elems(const Expression& x, detail::Pointer<unsigned> v,
                            Where where = Where::here());
Expression pick_batch_elems(const Expression& x, const std::vector<unsigned>& v,
                            Where where = Where::here());
Expression pick_batch_elems(const Expression& x, detail::Pointer<std::vector<unsigned>> v,
                            Where where = Where::here());

}  // namespace dynet
