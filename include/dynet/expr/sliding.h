#pragma once

// Written by tools/generate-api from the operations in dynet/ops/sliding.h. Not to be edited.

#include "dynet/expr/arguments.h"

namespace dynet {

/// Correlation over the columns of a matrix with filters of its height, at the places where they
///   lie inside.
/// `y[o, j] = sum_it x[i, j + t] f[i, t, o]`
/// Shapes: {r,c}, {r,k} or {r,k,n} -> {1,c-k+1} or {n,c-k+1}.
/// Errors: ShapeError for other shapes, or a filter of no columns or more than x.
Expression filter1d_narrow(const Expression& x, const Expression& f, Where where = Where::here());

/// Sums of n neighbouring columns.
/// `y[i, j] = sum_k x[i, j + k], k below n`
/// Shapes: {r,c} -> {r,c-n+1}.
/// Errors: ShapeError unless x is a matrix of at least n columns, and n is not 0.
/// Source: Kalchbrenner et al., 2014.
Expression kmh_ngram(const Expression& x, unsigned n, Where where = Where::here());

/// Sums of nrows neighbouring rows.
/// `y[i, ..] = sum_k x[i nrows + k, ..], k below nrows`
/// Shapes: {r,..} -> {r/nrows,..}.
/// Errors: ShapeError unless nrows divides the rows of x.
/// Source: Kalchbrenner et al., 2014.
Expression fold_rows(const Expression& x, unsigned nrows = 2, Where where = Where::here());

/// Circular convolution, as a product with the matrix of all shifts of v.
/// `y_k = sum_i u_i v_((k - i) mod n)`
/// Shapes: {n}, {n} -> {n}.
/// Errors: ShapeError unless u and v are vectors of equal length.
/// Source: Plate, 1995.
Expression circ_conv(const Expression& u, const Expression& v, Where where = Where::here());

/// Circular correlation, as a product with the matrix of all shifts of v.
/// `y_k = sum_i u_i v_((k + i) mod n)`
/// Shapes: {n}, {n} -> {n}.
/// Errors: ShapeError unless u and v are vectors of equal length.
/// Source: Plate, 1995.
Expression circ_corr(const Expression& u, const Expression& v, Where where = Where::here());

}  // namespace dynet
