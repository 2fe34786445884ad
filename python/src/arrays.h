#pragma once

// Numbers between the library and NumPy.
//
// A tensor {d0,d1,..}xb is an array of shape (d0, d1, .., b), with the last axis only if b > 1, and
// element [i, j] of the tensor at [i, j]. Example: {2,3}x4 is an array (2, 3, 4). Lookup tables
// have their rows first. Arrays are copies in float64, as in DyNet 2.1, in C order, which libraries
// that write or send the memory of an array expect. Views show the numbers in place, column by
// column, float32 or, on the device "CPU:double", float64, and cannot be written.
//
// NumPy is imported only when an array is asked for or given: numbers and lists do not need NumPy,
// and a program without arrays neither waits for NumPy nor needs it installed.

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

/// An array as memory of floats, column by column; keeps the given object alive.
struct FloatArray {
  nanobind::object array;
  std::unique_ptr<float[]> owned;  // of lists, which have no memory of numbers
  const float* data = nullptr;
  std::size_t size = 0;
  std::vector<std::size_t> shape;

  /// The shape with its last axis as batch or not. SizeError above seven dimensions.
  [[nodiscard]] Dim dim(bool batched) const;
};
/// The module. If NumPy is not installed, ImportError with the remedy.
[[nodiscard]] nanobind::module_ numpy_module();

/// Whether an object is a complex number, or an array of them, of any library: float() and NumPy
/// drop the imaginary part with no more than a warning. Runs no code of the user's for Python's
/// numbers.
[[nodiscard]] bool is_complex(PyObject* o) noexcept;
/// Whether a value is one number, in a place of a number or a list.
[[nodiscard]] bool is_one_number(nanobind::handle value);
/// The entries of an iterable, iterated over once in a call. Refuses iterables without an order.
[[nodiscard]] nanobind::object listed(nanobind::handle values, const char* want);
/// The numbers of nested lists, of an iterator, and of anything else that NumPy makes an array of.
[[nodiscard]] FloatArray read_array(nanobind::handle values);
/// NumPy's array of an array of any library, or of a list of numbers. TypeError for objects without
/// numbers, such as text, None or dates.
[[nodiscard]] nanobind::object array_of_numbers(nanobind::handle values);
/// read_array with the first axis moved to the end: lookup tables.
[[nodiscard]] FloatArray read_rows_first(nanobind::handle values);
/// A sequence of numbers, in memory of this thread that the next call overwrites.
[[nodiscard]] const std::vector<float>& read_numbers(nanobind::handle values);

/// An array returned by Python code, converted to the numbers of a device.
struct HostArray {
  HostArray(nanobind::handle values, bool is_double);
  /// Whether the array has the shape of this tensor; a batch of 1 has no axis.
  [[nodiscard]] bool has_shape(const Dim& d) const;
  nanobind::object object;
  const void* data = nullptr;
  std::vector<std::size_t> shape;
};
/// A copy of the numbers of a tensor that lie at `from`, which are doubles or floats.
[[nodiscard]] nanobind::object copied_array(const Dim& d, bool is_double, const void* from);

/// The positions, as int64.
[[nodiscard]] nanobind::object to_numpy(const IndexTensor& t);
/// A view of a value, or a copy if the host does not see the memory.
[[nodiscard]] nanobind::object numpy_view(const SharedValue& value, Order order);
/// A copy, which may be written, as an object with `__dlpack__`.
[[nodiscard]] nanobind::object dlpack_copy(const SharedValue& value, Order order);
/// A copy in memory of the GPU that has the value, as an object with `__dlpack__`. With `waits` the
/// numbers are there when the function returns, otherwise in the order of the GPU's own stream.
[[nodiscard]] nanobind::object dlpack_copy_on_gpu(const SharedValue& value, Order order,
                                                  bool waits);

/// Copies of a value. Many numbers take long, and handlers of signals run meanwhile: no handler may
/// give back the memory of `t`, such as of a SharedValue, unless handlers wait.
enum class Handlers : unsigned char { kWait, kRun };
[[nodiscard]] nanobind::object to_numpy(const Tensor& t, double scale = 1.0,
                                        Handlers handlers = Handlers::kWait);
/// The last dimension of the tensor becomes the first axis.
[[nodiscard]] nanobind::object to_numpy_rows_first(const Tensor& t, double scale = 1.0);
/// All elements in memory order.
[[nodiscard]] nanobind::list to_list(const Tensor& t, Handlers handlers = Handlers::kWait);
/// The only element. ValueError, which names the node `of`, unless there is exactly one.
[[nodiscard]] double to_scalar(const Tensor& t, const Expression& of);

}  // namespace dynet::python
