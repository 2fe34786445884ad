#pragma once

// Written by tools/generate-api from the operations in dynet/ops/shape.h. Not to be edited.

#include <initializer_list>
#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// The same numbers in another shape; no data move. If d has the elements of the whole batch, the
///   result is exactly d; if d has the elements of one example, the result is d with the batch of
///   x.
/// `y = x in memory order`
/// Shapes: any -> d.
/// Errors: ShapeError if the numbers of elements differ.
Expression reshape(const Expression& x, const Dim& d, Where where = Where::here());

/// Puts the tensors of a list one after the other along dimension d. Shapes with fewer dimensions
///   are filled up with 1.
/// `y = [x1; x2; ...] along dimension d`
/// Shapes: {n1,..}, {n2,..}, ... -> {n1+n2+..,..}.
/// Errors: ShapeError if another dimension than d differs, ValueError if the list is empty,
///   SizeError if the sum does not fit 32 bits.
Expression concatenate(const std::initializer_list<Expression>& xs, unsigned d = 0,
                       Where where = Where::here());
Expression concatenate(const std::vector<Expression>& xs, unsigned d = 0,
                       Where where = Where::here());

/// One example of a batch.
/// `y = x[v], v counting the examples`
/// Shapes: {..}xb -> {..}.
/// `v`: by pointer it is read again at every run.
/// Errors: IndexError if v is not below the batch size.
Expression pick_batch_elem(const Expression& x, unsigned v, Where where = Where::here());
Expression pick_batch_elem(const Expression& x, detail::Pointer<unsigned> v,
                           Where where = Where::here());
Expression pick_batch_elem(const Expression& x, const std::vector<unsigned>& v,
                           Where where = Where::here());
Expression pick_batch_elem(const Expression& x, detail::Pointer<std::vector<unsigned>> v,
                           Where where = Where::here());

/// Makes one batch of a list.
/// `y = the examples of x1, then the examples of x2, ...`
/// Shapes: {..}xb1, {..}xb2, ... -> {..}x(b1+b2+..).
/// Errors: ShapeError if the shapes of one example differ, ValueError if the list is empty,
///   SizeError if the sum does not fit 32 bits.
Expression concatenate_to_batch(const std::initializer_list<Expression>& xs,
                                Where where = Where::here());
Expression concatenate_to_batch(const std::vector<Expression>& xs, Where where = Where::here());

/// The value of x, through which no gradient flows.
/// `y = x; dx = 0`
/// Shapes: any -> the same.
Expression nobackprop(const Expression& x, Where where = Where::here());

}  // namespace dynet
