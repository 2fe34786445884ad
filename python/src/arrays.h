#pragma once

// Numbers between the library and NumPy.
//
// A tensor {d0,d1,..}xb is an array of shape (d0, d1, .., b), the last axis only where b > 1, with
// element [i, j] of the tensor at [i, j]: NumPy's Fortran order. Lookup tables are presented with
// their rows first. Arrays are copies, float32, or float64 on the device "CPU:double".

#include <nanobind/nanobind.h>

#include <vector>

#include "dynet/tensor.h"

namespace dynet::python {

/// An array as memory of floats, column by column; what was given stays alive as long as this.
struct FloatArray {
  nanobind::object array;
  const float* data = nullptr;
  std::size_t size = 0;
  std::vector<std::size_t> shape;

  /// The shape with its last axis as batch or not. SizeError above seven dimensions.
  [[nodiscard]] Dim dim(bool batched) const;
};
/// The numbers of anything that NumPy makes an array of.
[[nodiscard]] FloatArray read_array(nanobind::handle values);
/// read_array with the first axis moved to the end: lookup tables.
[[nodiscard]] FloatArray read_rows_first(nanobind::handle values);
/// A sequence of numbers, in memory of this thread that the next call overwrites.
[[nodiscard]] const std::vector<float>& read_numbers(nanobind::handle values);

/// What Python returned, converted to the numbers of a device.
struct HostArray {
  HostArray(nanobind::handle values, bool is_double);
  /// Whether it is a tensor of this shape; a batch of 1 has no axis.
  [[nodiscard]] bool has_shape(const Dim& d) const;
  nanobind::object object;
  const void* data = nullptr;
  std::vector<std::size_t> shape;
};
/// A new array for a tensor, and its memory, column by column, to be filled.
[[nodiscard]] nanobind::object new_array(const Dim& d, bool is_double, void** data);

[[nodiscard]] nanobind::object to_numpy(const Tensor& t, double scale = 1.0);
/// The last dimension of the tensor becomes the first axis.
[[nodiscard]] nanobind::object to_numpy_rows_first(const Tensor& t, double scale = 1.0);
/// All elements in memory order.
[[nodiscard]] nanobind::list to_list(const Tensor& t);
/// The only element. UsageError unless there is exactly one.
[[nodiscard]] double to_scalar(const Tensor& t);

}  // namespace dynet::python
