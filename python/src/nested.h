#pragma once

// Nested lists of numbers, read without NumPy.

#include <nanobind/nanobind.h>

#include "arrays.h"

namespace dynet::python {

/// Reads lists within lists, and any other sequences, whose innermost elements are numbers; with
/// `rows_first` the first axis becomes the last. False, and `result` as it was, where `values` is
/// no sequence or holds an array: NumPy knows more about those. ShapeError where lists of one level
/// differ in length, TypeError where an element is no number; both say which.
[[nodiscard]] bool read_nested(nanobind::handle values, bool rows_first, FloatArray& result);

}  // namespace dynet::python
