#include "arrays.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "dynet/except.h"
#include "dynet/ext/memory.h"

namespace nb = nanobind;

namespace dynet::python {
namespace {

nb::object numpy(const char* name) { return nb::module_::import_("numpy").attr(name); }

/// An array over `data`, which it deletes. Axes as arrays.h says.
template <class T>
nb::object wrap_array(T* data, const Dim& d, bool rows_first) {
  std::size_t shape[DYNET_MAX_TENSOR_DIM + 1];
  std::int64_t stride[DYNET_MAX_TENSOR_DIM + 1];
  std::size_t axes = 0;
  std::int64_t step = 1;
  const auto add_axis = [&](unsigned extent) {
    shape[axes] = extent;
    stride[axes++] = step;
    step *= extent;
  };
  for (unsigned i = 0; i < d.nd; ++i) {
    add_axis(d.d[i]);
  }
  if (d.bd > 1) {
    add_axis(d.bd);
  }
  if (rows_first && axes > 0) {
    std::rotate(shape, shape + axes - 1, shape + axes);
    std::rotate(stride, stride + axes - 1, stride + axes);
  }
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::ndarray<nb::numpy, T>(data, axes, shape, owner, stride).cast();
}

template <class T>
nb::object make_array(const Tensor& t, double scale, bool rows_first) {
  const auto count = static_cast<std::size_t>(t.d.elements());
  auto owned = std::make_unique<T[]>(count);
  t.device->memory->copy_out(t.v, owned.get(), count * sizeof(T));
  if (scale != 1.0) {
    std::transform(owned.get(), owned.get() + count, owned.get(),
                   [scale](T v) { return static_cast<T>(static_cast<double>(v) * scale); });
  }
  return wrap_array(owned.release(), t.d, rows_first);
}

nb::object make_array(const Tensor& t, double scale, bool rows_first) {
  return t.is_double() ? make_array<double>(t, scale, rows_first)
                       : make_array<float>(t, scale, rows_first);
}

}  // namespace

Dim FloatArray::dim(bool batched) const {
  const std::size_t axes = shape.size() - (batched ? 1 : 0);
  if (axes > DYNET_MAX_TENSOR_DIM) {
    throw SizeError("an array of " + std::to_string(shape.size()) + " axes; want at most 7");
  }
  const auto extent = [&](std::size_t axis) {
    return to_extent(static_cast<std::int64_t>(shape[axis]),
                     "axis " + std::to_string(axis) + " of an array");
  };
  Dim d;
  d.nd = static_cast<unsigned>(axes);
  for (std::size_t i = 0; i < axes; ++i) {
    d.d[i] = extent(i);
  }
  if (axes == 0) {
    d.nd = 1;
  }  // the scalars of a batch, or one number
  if (batched) {
    d.bd = extent(axes);
  }
  return d;
}

FloatArray read_array(nb::handle values) {
  FloatArray result;
  using namespace nb::literals;  // NOLINT(google-build-using-namespace): "dtype"_a
  result.array = numpy("asarray")(values, "dtype"_a = numpy("float32"), "order"_a = "F");
  const auto view = nb::cast<nb::ndarray<const float, nb::f_contig, nb::device::cpu>>(result.array);
  result.data = view.data();
  result.size = view.size();
  for (std::size_t i = 0; i < view.ndim(); ++i) {
    result.shape.push_back(view.shape(i));
  }
  return result;
}

FloatArray read_rows_first(nb::handle values) {
  const nb::object array = numpy("asarray")(values);
  if (nb::cast<int>(array.attr("ndim")) == 0) {
    throw nb::type_error("want an array with rows");
  }
  return read_array(numpy("moveaxis")(array, 0, -1));
}

const std::vector<float>& read_numbers(nb::handle values) {
  thread_local std::vector<float> numbers;
  numbers.clear();
  if (PyList_CheckExact(values.ptr()) || PyTuple_CheckExact(values.ptr())) {
    const nb::object fast = nb::steal(PySequence_Fast(values.ptr(), "want a list of numbers"));
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.ptr());
    numbers.reserve(static_cast<std::size_t>(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      const double v = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(fast.ptr(), i));
      if (v == -1.0 && PyErr_Occurred() != nullptr) {
        throw nb::python_error();
      }
      numbers.push_back(static_cast<float>(v));
    }
    return numbers;
  }
  const bool is_array = nb::hasattr(values, "__array__");
  const FloatArray array = read_array(is_array ? nb::borrow(values) : nb::object(nb::list(values)));
  numbers.assign(array.data, array.data + array.size);
  return numbers;
}

HostArray::HostArray(nb::handle values, bool is_double) {
  using namespace nb::literals;  // NOLINT(google-build-using-namespace): "dtype"_a
  object = numpy("asarray")(values, "dtype"_a = numpy(is_double ? "float64" : "float32"),
                            "order"_a = "F");
  const auto view = nb::cast<nb::ndarray<nb::ro, nb::f_contig, nb::device::cpu>>(object);
  data = view.data();
  for (std::size_t i = 0; i < view.ndim(); ++i) {
    shape.push_back(view.shape(i));
  }
}

bool HostArray::has_shape(const Dim& d) const {
  std::vector<std::size_t> want(d.d, d.d + d.nd);
  if (d.bd > 1) {
    want.push_back(d.bd);
  }
  // One number may come as a scalar.
  return shape == want || (shape.empty() && d.elements() == 1);
}

nb::object new_array(const Dim& d, bool is_double, void** data) {
  const auto count = static_cast<std::size_t>(d.elements());
  if (is_double) {
    auto* numbers = new double[count];
    *data = numbers;
    return wrap_array(numbers, d, false);
  }
  auto* numbers = new float[count];
  *data = numbers;
  return wrap_array(numbers, d, false);
}

nb::object to_numpy(const Tensor& t, double scale) { return make_array(t, scale, false); }
nb::object to_numpy_rows_first(const Tensor& t, double scale) { return make_array(t, scale, true); }

nb::list to_list(const Tensor& t) {
  const std::vector<double> numbers = as_double_vector(t);
  const std::size_t n = numbers.size();
  const nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(n)));
  if (!list.is_valid()) {
    throw nb::python_error();
  }
  for (std::size_t i = 0; i < n; ++i) {
    PyObject* number = PyFloat_FromDouble(numbers[i]);
    if (number == nullptr) {
      throw nb::python_error();
    }
    PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), number);
  }
  return nb::borrow<nb::list>(list);
}

double to_scalar(const Tensor& t) {
  if (t.d.elements() != 1) {
    throw ValueError("scalar_value: the value is " + to_string(t.d) + "; want one element");
  }
  if (t.is_double()) {
    return as_double_vector(t)[0];
  }
  float number = 0.0F;
  t.device->memory->copy_out(t.v, &number, sizeof number);
  return static_cast<double>(number);
}

}  // namespace dynet::python
