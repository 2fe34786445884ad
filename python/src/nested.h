#pragma once

// Nested lists of numbers, read without NumPy.

#include <nanobind/nanobind.h>

#include "arrays.h"

namespace dynet::python {

/// Reads lists within lists, and any other sequences, with numbers as the innermost elements; with
/// `rows_first` the first axis becomes the last. False, with `result` unchanged, if `values` is no
/// sequence or holds an array: NumPy knows more about arrays. ShapeError if lists of one level
/// differ in length, TypeError for an element that is no number; both name the place.
[[nodiscard]] bool read_nested(nanobind::handle values, bool rows_first, FloatArray& result);

}  // namespace dynet::python
