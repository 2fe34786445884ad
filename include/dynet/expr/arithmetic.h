#pragma once

// Written by tools/generate-api from the operations in dynet/ops/arithmetic.h. Not to be edited.

#include <initializer_list>
#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// Negation.
/// `y = -x`
/// Shapes: any -> the same.
Expression operator-(const detail::Located& x);

/// Elementwise sum. Both sides broadcast: a dimension of 1, or a missing one, is repeated.
/// `z = x + y`
/// Shapes: x, y with each dimension equal or 1 -> the larger of each.
/// Errors: ShapeError if a dimension differs and neither is 1.
Expression operator+(const detail::Located& x, const Expression& y);

/// Elementwise difference. Both sides broadcast: a dimension of 1, or a missing one, is repeated.
/// `z = x - y`
/// Shapes: x, y with each dimension equal or 1 -> the larger of each.
/// Errors: ShapeError if a dimension differs and neither is 1.
Expression operator-(const detail::Located& x, const Expression& y);

/// Adds a number to each element.
/// `y = x + a`
/// Shapes: any -> the same.
Expression operator+(const detail::Located& x, real a);
Expression operator+(real a, const detail::Located& x);

/// Subtracts a number from each element.
/// `y = x - a`
/// Shapes: any -> the same.
Expression operator-(const detail::Located& x, real a);

/// Subtracts each element from a number.
/// `y = a - x`
/// Shapes: any -> the same.
Expression operator-(real a, const detail::Located& x);

/// Multiplies each element by a number.
/// `y = x * a`
/// Shapes: any -> the same.
Expression operator*(const detail::Located& x, real a);
Expression operator*(real a, const detail::Located& x);

/// Divides each element by a number: a product with its reciprocal.
/// `y = x * (1 / a)`
/// Shapes: any -> the same.
Expression operator/(const detail::Located& x, real a);

/// Elementwise product. Both sides broadcast: a dimension of 1, or a missing one, is repeated.
/// `z = x * y`
/// Shapes: x, y with each dimension equal or 1 -> the larger of each.
/// Errors: ShapeError if a dimension differs and neither is 1.
Expression cmult(const Expression& x, const Expression& y, Where where = Where::here());

/// Elementwise quotient. The right side broadcasts: a dimension of 1, or a missing one, is
///   repeated.
/// `z = x / y`
/// Shapes: x, y with each dimension 1 or as in x -> the shape of x.
/// Errors: ShapeError if a dimension of y is neither 1 nor as in x.
Expression cdiv(const Expression& x, const Expression& y, Where where = Where::here());

/// The larger of each two elements; NaN if one of them is NaN. On ties the gradient goes to y.
/// `z = max(x, y)`
/// Shapes: two equal shapes -> the same.
/// Errors: ShapeError if the shapes differ.
Expression max(const Expression& x, const Expression& y, Where where = Where::here());

/// The smaller of each two elements; NaN if one of them is NaN. On ties the gradient goes to y.
/// `z = min(x, y)`
/// Shapes: two equal shapes -> the same.
/// Errors: ShapeError if the shapes differ.
Expression min(const Expression& x, const Expression& y, Where where = Where::here());

/// Sum of a list, element by element.
/// `y = x1 + x2 + ...`
/// Shapes: equal shapes (up to dimensions of 1 at the end) -> the shape of the first.
/// Errors: ShapeError if the shapes differ, ValueError if the list is empty.
Expression sum(const std::initializer_list<Expression>& xs, Where where = Where::here());
Expression sum(const std::vector<Expression>& xs, Where where = Where::here());

/// Mean of a list, element by element.
/// `y = (x1 + x2 + ... + xn) / n`
/// Shapes: equal shapes -> the same.
/// Errors: ShapeError if the shapes differ, ValueError if the list is empty.
Expression average(const std::initializer_list<Expression>& xs, Where where = Where::here());
Expression average(const std::vector<Expression>& xs, Where where = Where::here());

}  // namespace dynet
