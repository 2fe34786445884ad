#pragma once

// Sequences as the attention builders take them: {rows,positions}xb, or a vector {rows}xb, which is
// one position. Work on single positions is done on a batch of positions, because nodes whose
// batches differ in size merge, and nodes whose matrices differ do not. Both forms lie alike in
// memory; going from one to the other moves nothing.

#include <string>

#include "dynet/expr.h"

namespace dynet::builders {

/// {rows,n}xb as {rows}x(n*b), example by example.
[[nodiscard]] Expression as_batch(const Expression& x, Where where);
/// The columns of a batch {rows}x(n*b) in the form of `like`, which has n positions.
[[nodiscard]] Expression as_columns(const Expression& x, const Dim& like, Where where);
/// ShapeError unless x is {rows}xb or {rows,n}xb with n at least 1; `at` begins the text. `rows` =
/// 0 accepts any number of rows.
void check_columns(const std::string& at, const char* what, const Expression& x, unsigned rows);

}  // namespace dynet::builders
