#pragma once

// Numbers between the library and NumPy.
//
// A tensor {d0,d1,..}xb is an array of shape (d0, d1, .., b), the last axis only where b > 1, with
// element [i, j] of the tensor at [i, j]. Lookup tables are presented with their rows first. Arrays
// are copies in float64, as DyNet 2.1 gives them, in C order: libraries that write or send the
// memory of an array believe that it is. Views show the numbers where they lie, column by column,
// float32 or, on the device "CPU:double", float64, and cannot be written.
//
// NumPy is imported where an array is asked for or given, and nowhere else: numbers and lists need
// none of it, and a program without arrays neither waits for NumPy nor needs it installed.

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "dynet/expression.h"
#include "dynet/index-tensor.h"
#include "dynet/share.h"
#include "dynet/tensor.h"

namespace dynet::python {

/// The order of an array's axes.
enum class Order : unsigned char {
  kAsTensor,
  kRowsFirst,  ///< the last dimension of the tensor as first axis: tables
};

/// An array as memory of floats, column by column; what was given stays alive as long as this.
struct FloatArray {
  nanobind::object array;
  std::unique_ptr<float[]> owned;  // of lists, which have no memory of numbers
  const float* data = nullptr;
  std::size_t size = 0;
  std::vector<std::size_t> shape;

  /// The shape with its last axis as batch or not. SizeError above seven dimensions.
  [[nodiscard]] Dim dim(bool batched) const;
};
/// The module. ImportError that says what to do where it is not installed.
[[nodiscard]] nanobind::module_ numpy_module();

/// Whether an object is a complex number, or an array of them, of any library: float() and NumPy
/// drop the imaginary part with no more than a warning. Runs no code of the user's for Python's
/// numbers.
[[nodiscard]] bool is_complex(PyObject* o) noexcept;
/// A number, and no array of them: where a number or a list is wanted.
[[nodiscard]] bool is_one_number(nanobind::handle value);
/// What an iterable goes through, once in a call. Refused where it has no order.
[[nodiscard]] nanobind::object listed(nanobind::handle values, const char* want);
/// The numbers of nested lists, of an iterator, and of anything else that NumPy makes an array of.
[[nodiscard]] FloatArray read_array(nanobind::handle values);
/// An array of NumPy's of what is an array of any library, or a list of numbers. TypeError where
/// there are none, such as text, None or dates.
[[nodiscard]] nanobind::object array_of_numbers(nanobind::handle values);
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
/// A copy of the numbers of a tensor that lie at `from`, which are doubles or floats.
[[nodiscard]] nanobind::object copied_array(const Dim& d, bool is_double, const void* from);

/// The positions, as int64.
[[nodiscard]] nanobind::object to_numpy(const IndexTensor& t);
/// A view of a value. A copy where the host does not see the memory.
[[nodiscard]] nanobind::object numpy_view(const SharedValue& value, Order order);
/// A copy, which may be written, as an object with `__dlpack__`.
[[nodiscard]] nanobind::object dlpack_copy(const SharedValue& value, Order order);

/// Copies of a value. Many numbers take long, and handlers of signals run meanwhile: `t` must lie
/// in memory that none of them gives back, as that of a SharedValue, unless they are to wait.
enum class Handlers : unsigned char { kWait, kRun };
[[nodiscard]] nanobind::object to_numpy(const Tensor& t, double scale = 1.0,
                                        Handlers handlers = Handlers::kWait);
/// The last dimension of the tensor becomes the first axis.
[[nodiscard]] nanobind::object to_numpy_rows_first(const Tensor& t, double scale = 1.0);
/// All elements in memory order.
[[nodiscard]] nanobind::list to_list(const Tensor& t, Handlers handlers = Handlers::kWait);
/// The only element. ValueError, which names the node that it is of, unless there is exactly one.
[[nodiscard]] double to_scalar(const Tensor& t, const Expression& of);

}  // namespace dynet::python
