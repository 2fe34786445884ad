#include "arrays.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "dynet/debug.h"
#include "dynet/except.h"
#include "dynet/ext/memory.h"

#include "binding.h"
#include "errors.h"
#include "nested.h"
#include "signals.h"

namespace nb = nanobind;

namespace dynet::python {
namespace {

nb::object numpy(const char* name) { return numpy_module().attr(name); }

/// The axes of an array over a tensor, as arrays.h says.
struct Axes {
  Axes(const Dim& d, bool rows_first) {
    std::int64_t step = 1;
    const auto add = [&](unsigned extent) {
      shape[count] = extent;
      stride[count++] = step;
      step *= extent;
    };
    for (unsigned i = 0; i < d.nd; ++i) {
      add(d.d[i]);
    }
    if (d.bd > 1) {
      add(d.bd);
    }
    if (rows_first && count > 0) {
      std::rotate(shape, shape + count - 1, shape + count);
      std::rotate(stride, stride + count - 1, stride + count);
    }
  }
  std::size_t shape[DYNET_MAX_TENSOR_DIM + 1];
  std::int64_t stride[DYNET_MAX_TENSOR_DIM + 1];
  std::size_t count = 0;
};

/// An array over `data`, which it deletes.
template <class T>
nb::object wrap_array(T* data, const Dim& d, bool rows_first) {
  const Axes axes(d, rows_first);
  (void)numpy_module();  // to say what is missing in our words
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::ndarray<nb::numpy, T>(data, axes.count, axes.shape, owner, axes.stride).cast();
}

/// Calls `convert(first, count)` for all of `n` numbers, some 100 us of work at a time.
template <class Convert>
void in_pieces(std::size_t n, Handlers handlers, const Convert& convert) {
  constexpr std::size_t kPiece = 8192;
  HandlersInLoop running;
  for (std::size_t first = 0; first < n; first += kPiece) {
    if (handlers == Handlers::kRun) {
      running.pass();
    }
    convert(first, std::min(kPiece, n - first));
  }
}

/// A copy in double, as DyNet has always given arrays.
nb::object make_array(const Tensor& t, double scale, bool rows_first, Handlers handlers) {
  const auto count = static_cast<std::size_t>(t.d.elements());
  std::unique_ptr<double[]> owned(new double[count]);  // make_unique would write zeros first
  // Rounded as it is when a trainer multiplies the factor in.
  const auto scaled = [scale]<class T>(T v) {
    return static_cast<double>(static_cast<T>(static_cast<double>(v) * scale));
  };
  if (t.is_double()) {
    t.device->memory->copy_out(t.v, owned.get(), count * sizeof(double));
    std::transform(owned.get(), owned.get() + count, owned.get(), scaled);
  } else if (t.device == nullptr || t.device->is_host_visible()) {
    in_pieces(count, handlers, [&](std::size_t first, std::size_t n) {
      std::transform(t.v + first, t.v + first + n, owned.get() + first, scaled);
    });
  } else {
    const auto numbers = std::make_unique<float[]>(count);
    t.device->memory->copy_out(t.v, numbers.get(), count * sizeof(float));
    std::transform(numbers.get(), numbers.get() + count, owned.get(), scaled);
  }
  return wrap_array(owned.release(), t.d, rows_first);
}

/// The real numbers of an array or of what NumPy makes one of, column by column.
nb::object as_array(nb::handle values, const char* type) {
  using namespace nb::literals;  // NOLINT(google-build-using-namespace): "dtype"_a
  try {
    const nb::object array =
        nb::hasattr(values, "dtype") ? nb::borrow(values) : numpy("asarray")(values);
    if (is_complex(array.ptr())) {
      throw TypeError("the numbers are complex, of type " +
                      std::string(nb::str(nb::object(array.attr("dtype"))).c_str()) +
                      "; want real ones");
    }
    return numpy("asarray")(array, "dtype"_a = numpy(type), "order"_a = "F");
  } catch (const nb::python_error& error) {
    if (is_users_own(error.value().ptr())) {
      throw;
    }
    throw TypeError("no numbers can be made of " + told(values) +
                    "; NumPy says: " + nb::str(error.value()).c_str());
  }
}

}  // namespace

nb::object listed(nb::handle values, const char* want) {
  nb::object list = read_sequence(values.ptr(), want);
  if (!list.is_valid()) {
    throw Refused();
  }
  return list;
}

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

nb::module_ numpy_module() {
  try {
    return nb::module_::import_("numpy");
  } catch (nb::python_error& error) {
    // A NumPy that is there and broken explains itself.
    if (!error.matches(PyExc_ModuleNotFoundError) ||
        !nb::object(error.value().attr("name")).equal(nb::str("numpy"))) {
      throw;
    }
    nb::raise_from(error, PyExc_ImportError,
                   "an array was asked for or given, and NumPy is not installed: pip install numpy "
                   "(vec_value() and scalar_value() give numbers without it)");
  }
}

bool is_complex(PyObject* o) noexcept {
  if (PyComplex_Check(o) != 0 || PyFloat_Check(o) != 0 || PyLong_Check(o) != 0) {
    return PyComplex_Check(o) != 0;
  }
  const std::string_view name = Py_TYPE(o)->tp_name;
  if (name.starts_with("numpy.") && name != "numpy.ndarray") {  // its numbers come by the thousand
    return name.starts_with("numpy.complex") || name.starts_with("numpy.clong");
  }
  try {
    const nb::object type = nb::getattr(nb::handle(o), "dtype", nb::none());
    return nb::getattr(type, "kind", nb::none()).equal(nb::str("c")) ||
           nb::getattr(type, "is_complex", nb::none()).is(Py_True);  // NumPy; PyTorch
  } catch (const nb::python_error&) {  // whoever reads the number meets it again
    return false;
  }
}

FloatArray read_array(nb::handle values) {
  if (PyIter_Check(values.ptr()) != 0) {
    return read_array(listed(values, "a list of numbers"));
  }
  FloatArray result;
  if (read_nested(values, false, result)) {
    return result;
  }
  const bool is_foreign = !nb::hasattr(values, "__array__") && nb::hasattr(values, "__dlpack__");
  result.array =
      as_array(is_foreign ? numpy("from_dlpack")(values) : nb::borrow(values), "float32");
  const auto view = nb::cast<nb::ndarray<const float, nb::f_contig, nb::device::cpu>>(result.array);
  result.data = view.data();
  result.size = view.size();
  for (std::size_t i = 0; i < view.ndim(); ++i) {
    result.shape.push_back(view.shape(i));
  }
  return result;
}

FloatArray read_rows_first(nb::handle values) {
  if (PyIter_Check(values.ptr()) != 0) {
    return read_rows_first(listed(values, "a list of numbers"));
  }
  FloatArray result;
  if (read_nested(values, true, result)) {
    return result;
  }
  const nb::object array = numpy("asarray")(values);
  if (nb::cast<int>(array.attr("ndim")) == 0) {
    throw TypeError("want an array with rows");
  }
  return read_array(numpy("moveaxis")(array, 0, -1));
}

const std::vector<float>& read_numbers(nb::handle values) {
  // While a list is read its memory is nobody else's: `__float__` of an entry may come here too.
  thread_local std::vector<float> of_thread;
  std::vector<float> numbers = std::exchange(of_thread, {});
  if (!nb::hasattr(values, "__array__")) {
    const auto read = [](PyObject* o, float& number) {
      double wide = 0;
      const bool is_number = read_real(o, wide);
      number = static_cast<float>(wide);
      return is_number;
    };
    if (!read_list(values.ptr(), "a list of numbers", numbers, read)) {
      throw Refused();
    }
  } else {
    const FloatArray array = read_array(values);
    numbers.assign(array.data, array.data + array.size);
  }
  of_thread = std::move(numbers);
  return of_thread;
}

HostArray::HostArray(nb::handle values, bool is_double) {
  object = as_array(values, is_double ? "float64" : "float32");
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

namespace {
using Share = std::shared_ptr<const void>;

template <class Number, class Framework>
nb::object view_of(const SharedValue& value) {
  const Axes axes(value.tensor.d, false);
  const nb::capsule owner(new Share(value.memory),
                          [](void* p) noexcept { delete static_cast<Share*>(p); });
  return nb::ndarray<Framework, Number>(reinterpret_cast<Number*>(value.tensor.v), axes.count,
                                        axes.shape, owner, axes.stride)
      .cast();
}
template <class Framework>
nb::object view_of(const SharedValue& value) {
  return value.tensor.is_double() ? view_of<const double, Framework>(value)
                                  : view_of<const float, Framework>(value);
}

SharedValue copy_of(const SharedValue& value) {
  SharedValue copy = value;
  const auto bytes = static_cast<std::size_t>(value.tensor.d.elements()) *
                     (value.tensor.is_double() ? sizeof(double) : sizeof(float));
  const std::shared_ptr<std::byte[]> numbers(new std::byte[bytes]);
  value.tensor.device->memory->copy_out(value.tensor.v, numbers.get(), bytes);
  copy.tensor.v = reinterpret_cast<float*>(numbers.get());
  copy.memory = std::shared_ptr<const void>(numbers, numbers.get());
  return copy;
}

/// The value in memory of the host: its own, or a copy where the host cannot see that.
SharedValue on_host(const SharedValue& value) {
  return value.tensor.device->is_host_visible() ? value : copy_of(value);
}
}  // namespace

nb::object to_numpy(const IndexTensor& t) {
  const auto count = static_cast<std::size_t>(t.d.elements());
  auto owned = std::make_unique<std::int64_t[]>(count);
  std::copy_n(t.v, count, owned.get());
  return wrap_array(owned.release(), t.d, false);
}

nb::object numpy_view(const SharedValue& value) {
  (void)numpy_module();
  return view_of<nb::numpy>(on_host(value));
}
nb::object dlpack_view(const SharedValue& value) { return view_of<nb::array_api>(on_host(value)); }
nb::object dlpack_copy(const SharedValue& value) {
  const SharedValue copy = copy_of(value);
  return value.tensor.is_double() ? view_of<double, nb::array_api>(copy)
                                  : view_of<float, nb::array_api>(copy);
}

nb::object to_numpy(const Tensor& t, double scale, Handlers handlers) {
  return make_array(t, scale, false, handlers);
}
nb::object to_numpy_rows_first(const Tensor& t, double scale) {
  return make_array(t, scale, true, Handlers::kWait);
}

nb::list to_list(const Tensor& t, Handlers handlers) {
  const auto all = static_cast<std::size_t>(t.d.elements());
  const nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(all)));
  if (!list.is_valid()) {
    throw nb::python_error();
  }
  const auto put = [&](std::size_t first, std::size_t n, const auto* numbers) {
    for (std::size_t i = 0; i < n; ++i) {
      PyObject* number = PyFloat_FromDouble(static_cast<double>(numbers[i]));
      if (number == nullptr) {
        throw nb::python_error();
      }
      PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(first + i), number);
    }
  };
  if (!t.is_double() && (t.device == nullptr || t.device->is_host_visible())) {
    in_pieces(all, handlers, [&](std::size_t first, std::size_t n) { put(first, n, t.v + first); });
  } else {
    put(0, all, as_double_vector(t).data());
  }
  return nb::borrow<nb::list>(list);
}

double to_scalar(const Tensor& t, const Expression& of) {
  if (t.d.elements() != 1) {
    throw ValueError("scalar_value: the value is " + to_string(t.d) + "; want one element\n  " +
                     describe(of));
  }
  if (t.is_double()) {
    return as_double_vector(t)[0];
  }
  float number = 0.0F;
  t.device->memory->copy_out(t.v, &number, sizeof number);
  return static_cast<double>(number);
}

}  // namespace dynet::python
