#include "arrays.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <bit>
#include <cstdint>
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

/// The axes of an array over a tensor, as in arrays.h, and the places of its numbers in the tensor.
struct Axes {
  Axes(const Dim& d, Order order) {
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
    if (order == Order::kRowsFirst && count > 0) {
      std::rotate(shape, shape + count - 1, shape + count);
      std::rotate(stride, stride + count - 1, stride + count);
    }
  }
  std::size_t shape[DYNET_MAX_TENSOR_DIM + 1];
  std::int64_t stride[DYNET_MAX_TENSOR_DIM + 1];
  std::size_t count = 0;
};

/// Some 100 us of work.
constexpr std::size_t kPiece = 8192;

/// An array of `n` doubles that NumPy makes, which takes a quarter of the time of wrapping memory
/// of ours; `data` is set to them.
nb::object make_vector(std::size_t n, double** data) {
  nb::object array = numpy("empty")(n);
  Py_buffer view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_WRITABLE) != 0) {
    throw nb::python_error();
  }
  *data = static_cast<double*>(view.buf);
  PyBuffer_Release(&view);  // nobody else has the array
  return array;
}

/// Calls `convert(first, count)` for all of `n` numbers, a piece at a time.
template <class Convert>
void in_pieces(std::size_t n, Handlers handlers, const Convert& convert) {
  HandlersInLoop running;
  for (std::size_t first = 0; first < n; first += kPiece) {
    if (handlers == Handlers::kRun) {
      running.pass();
    }
    convert(first, std::min(kPiece, n - first));
  }
}

/// Memory of `to`'s kind and of the shape of `axes`, in C order, filled with `convert(number)` of
/// the numbers at `from`.
template <class To, class From, class Convert>
class CopyInOrder {
 public:
  CopyInOrder(const Axes& axes, const From* from, const Convert& convert, Handlers handlers)
      : axes_(axes), from_(from), convert_(convert), handlers_(handlers) {
    for (std::size_t i = axes.count; i-- > 0;) {
      steps_[i] = static_cast<std::int64_t>(size_);
      size_ *= axes.shape[i];
    }
    owned_.reset(new To[size_]);  // make_unique would write zeros first
    if (std::equal(steps_, steps_ + axes.count, axes.stride)) {
      copy_all();
    } else if (axes.count == 1) {
      copy_row(from, owned_.get(), 0, size_);
    } else if (size_ != 0) {
      copy_planes();
    }
  }
  std::unique_ptr<To[]> take() { return std::move(owned_); }

 private:
  void copy_all() {
    in_pieces(size_, handlers_, [&](std::size_t first, std::size_t n) {
      std::transform(from_ + first, from_ + first + n, owned_.get() + first, convert_);
    });
  }
  /// Plane by plane of two axes: the last, whose numbers become neighbours, and the other axis
  /// whose numbers are nearest at `from`.
  void copy_planes() {
    const std::size_t last = axes_.count - 1;
    const auto down = static_cast<std::size_t>(std::min_element(axes_.stride, axes_.stride + last) -
                                               axes_.stride);
    std::size_t at[DYNET_MAX_TENSOR_DIM + 1] = {};
    for (bool is_more = true; is_more;) {
      std::int64_t from = 0;
      std::int64_t to = 0;
      for (std::size_t i = 0; i < last; ++i) {
        from += static_cast<std::int64_t>(at[i]) * axes_.stride[i];
        to += static_cast<std::int64_t>(at[i]) * steps_[i];
      }
      copy_plane(from_ + from, owned_.get() + to, down);
      is_more = false;
      for (std::size_t i = last; i-- > 0 && !is_more;) {
        if (i != down) {
          at[i] = at[i] + 1 == axes_.shape[i] ? 0 : at[i] + 1;
          is_more = at[i] != 0;
        }
      }
    }
  }
  void copy_plane(const From* from, To* to, std::size_t down) {
    constexpr std::size_t kTile = 32;
    const std::size_t rows = axes_.shape[down];
    const std::size_t columns = axes_.shape[axes_.count - 1];
    for (std::size_t row = 0; row < rows; row += kTile) {
      for (std::size_t column = 0; column < columns; column += kTile) {
        for (std::size_t i = row; i < std::min(row + kTile, rows); ++i) {
          const auto place = static_cast<std::int64_t>(i);
          copy_row(from + place * axes_.stride[down], to + place * steps_[down], column,
                   std::min(column + kTile, columns));
        }
      }
      pass(kTile * columns);
    }
  }
  void copy_row(const From* from, To* to, std::size_t first, std::size_t last) const {
    const std::int64_t stride = axes_.stride[axes_.count - 1];
    for (std::size_t column = first; column < last; ++column) {
      to[column] = convert_(from[static_cast<std::int64_t>(column) * stride]);
    }
  }
  void pass(std::size_t done) {
    since_ += done;
    if (handlers_ == Handlers::kRun && since_ >= kPiece) {
      running_.pass();
      since_ = 0;
    }
  }

  const Axes& axes_;
  const From* from_;
  const Convert& convert_;
  Handlers handlers_;
  HandlersInLoop running_;
  std::int64_t steps_[DYNET_MAX_TENSOR_DIM + 1] = {};  ///< of the array, in C order
  std::size_t size_ = 1, since_ = 0;
  std::unique_ptr<To[]> owned_;
};

/// An array over a copy, in C order.
template <class To, class Framework = nb::numpy, class From, class Convert>
nb::object copied(const Axes& axes, const From* from, const Convert& convert,
                  Handlers handlers = Handlers::kWait) {
  CopyInOrder<To, From, Convert> copy(axes, from, convert, handlers);
  To* const data = copy.take().release();
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<To*>(p); });
  return nb::ndarray<Framework, To>(data, axes.count, axes.shape, owner).cast();
}
constexpr auto kSame = [](auto number) { return number; };

/// Calls `use` with the numbers of a tensor in memory of the host.
template <class Use>
nb::object with_numbers(const Tensor& t, const Use& use) {
  const auto count = static_cast<std::size_t>(t.d.elements());
  const auto copied_out = [&]<class Number>(Number /*kind*/) {
    const auto numbers = std::make_unique<Number[]>(count);
    t.device->memory->copy_out(t.v, numbers.get(), count * sizeof(Number));
    return use(static_cast<const Number*>(numbers.get()));
  };
  if (t.device == nullptr || t.device->is_host_visible()) {
    return t.is_double() ? use(reinterpret_cast<const double*>(t.v))
                         : use(static_cast<const float*>(t.v));
  }
  return t.is_double() ? copied_out(0.0) : copied_out(0.0F);
}

constexpr std::int64_t kShort = 1024;  // numbers; for more, the copy takes most of the time

/// A copy in double, as DyNet has always given arrays.
nb::object make_array(const Tensor& t, double scale, Order order, Handlers handlers) {
  (void)numpy_module();  // for our own error if NumPy is missing
  const bool is_on_host = !t.is_double() && (t.device == nullptr || t.device->is_host_visible());
  const std::int64_t count = t.d.elements();
  if (is_on_host && scale == 1.0 && t.d.nd == 1 && t.d.bd == 1 && count < kShort) {
    double* numbers = nullptr;
    nb::object array = make_vector(static_cast<std::size_t>(count), &numbers);
    std::copy_n(t.v, count, numbers);
    return array;
  }
  // Rounded as it is when a trainer multiplies the factor in.
  const auto scaled = [scale]<class T>(T v) {
    return static_cast<double>(static_cast<T>(static_cast<double>(v) * scale));
  };
  return with_numbers(t, [&](const auto* numbers) {
    return copied<double>(Axes(t.d, order), numbers, scaled, handlers);
  });
}

using namespace nb::literals;  // NOLINT(google-build-using-namespace): "dtype"_a

/// The numbers of an array of bfloat16, a type that NumPy lacks, as float32. None for another array
/// or object.
nb::object widened(nb::handle values) {
  nb::ndarray<nb::ro, nb::device::cpu> view;
  if (!nb::hasattr(values, "__dlpack__") || !nb::try_cast(values, view)) {
    return nb::none();
  }
  const nb::dlpack::dtype type = view.dtype();
  constexpr auto kBfloat = static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bfloat);
  if (type.code != kBfloat || type.bits != 16 || type.lanes != 1 ||
      view.ndim() > DYNET_MAX_TENSOR_DIM + 1) {
    return nb::none();
  }
  Axes axes(Dim(), Order::kAsTensor);
  axes.count = view.ndim();
  for (std::size_t i = 0; i < axes.count; ++i) {
    axes.shape[i] = view.shape(i);
    axes.stride[i] = view.stride(i);
  }
  return copied<float>(axes, static_cast<const std::uint16_t*>(view.data()), [](std::uint16_t n) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(n) << 16U);
  });
}

/// Whether an array has numbers, and no text, dates or other objects, of which NumPy makes some.
void check_numbers(const nb::object& array) {
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  if (kind == "c" || kind == "U" || kind == "S" || kind == "M" || kind == "m") {
    throw TypeError((kind == "c" ? "the numbers are complex, of type "
                                 : "there are no numbers, but an array of type ") +
                    std::string(nb::str(nb::object(array.attr("dtype"))).c_str()) + "; want real " +
                    (kind == "c" ? "ones" : "numbers"));
  }
  if (kind != "O") {
    return;
  }
  for (const nb::handle entry : nb::iter(numpy("ndenumerate")(array))) {
    const nb::object value = entry[1];
    double number = 0;
    if (read_real(value.ptr(), number)) {
      continue;
    }
    if (has_raised()) {
      throw Refused();
    }
    std::string place;
    for (const nb::handle i : nb::borrow<nb::tuple>(nb::object(entry[0]))) {
      place += std::string("[") + nb::str(i).c_str() + "]";
    }
    throw TypeError("element " + place + " of an array of objects is " + told(value) +
                    "; want a number");
  }
}

/// The real numbers of an array, or of an object that NumPy makes an array of, column by column.
nb::object as_array(nb::handle values, const char* type) {
  try {
    const nb::object array = array_of_numbers(values);
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

nb::object array_of_numbers(nb::handle values) {
  const bool is_foreign = !nb::hasattr(values, "__array__") && nb::hasattr(values, "__dlpack__");
  nb::object array;
  try {
    array = numpy(is_foreign ? "from_dlpack" : "asarray")(values);
  } catch (const nb::python_error& error) {
    const bool is_of_type = error.matches(PyExc_TypeError) || error.matches(PyExc_BufferError) ||
                            (is_foreign && error.matches(PyExc_RuntimeError));
    if (!is_of_type || !nb::hasattr(values, "__dlpack__") || !nb::hasattr(values, "dtype")) {
      throw;
    }
    array = widened(values);
    if (array.is_none()) {
      throw TypeError(
          "no numbers can be made of an array of type " +
          std::string(nb::str(nb::object(values.attr("dtype"))).c_str()) +
          "; want float32, as x.float() gives in PyTorch, or another type of NumPy's; " +
          nb::str(error.value()).c_str());
    }
  }
  check_numbers(array);
  return array;
}

bool is_one_number(nb::handle value) {
  return PyNumber_Check(value.ptr()) != 0 && !nb::hasattr(value, "__len__");
}

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
    throw errors::SizeError("an array of " + std::to_string(shape.size()) +
                            " axes; want at most 7");
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
  const nb::object there = nb::steal(PyImport_GetModule(nb::str("numpy").ptr()));
  if (there.is_valid() && !there.is_none()) {  // to import it once more takes longer
    return nb::borrow<nb::module_>(there);
  }
  PyErr_Clear();
  try {
    return nb::module_::import_("numpy");
  } catch (nb::python_error& error) {
    // An installed but broken NumPy explains itself.
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
  result.array = as_array(values, "float32");
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
  const nb::object array = array_of_numbers(values);
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

nb::object copied_array(const Dim& d, bool is_double, const void* from) {
  (void)numpy_module();
  const Axes axes(d, Order::kAsTensor);
  return is_double ? copied<double>(axes, static_cast<const double*>(from), kSame)
                   : copied<float>(axes, static_cast<const float*>(from), kSame);
}

namespace {
using Share = std::shared_ptr<const void>;

template <class Number>
nb::object view_of(const SharedValue& value, Order order) {
  const Axes axes(value.tensor.d, order);
  const nb::capsule owner(new Share(value.memory),
                          [](void* p) noexcept { delete static_cast<Share*>(p); });
  return nb::ndarray<nb::numpy, Number>(reinterpret_cast<Number*>(value.tensor.v), axes.count,
                                        axes.shape, owner, axes.stride)
      .cast();
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

/// The value in memory of the host: its own, or a copy if the host cannot see the value's memory.
SharedValue on_host(const SharedValue& value) {
  return value.tensor.device->is_host_visible() ? value : copy_of(value);
}
}  // namespace

nb::object to_numpy(const IndexTensor& t) {
  (void)numpy_module();
  return copied<std::int64_t>(Axes(t.d, Order::kAsTensor), t.v, kSame);
}

nb::object numpy_view(const SharedValue& value, Order order) {
  (void)numpy_module();
  const SharedValue seen = on_host(value);
  return seen.tensor.is_double() ? view_of<const double>(seen, order)
                                 : view_of<const float>(seen, order);
}
nb::object dlpack_copy(const SharedValue& value, Order order) {
  return with_numbers(value.tensor, [&]<class Number>(const Number* numbers) {
    return copied<Number, nb::array_api>(Axes(value.tensor.d, order), numbers, kSame);
  });
}

nb::object dlpack_copy_on_gpu(const SharedValue& value, Order order, bool waits) {
  struct Copy {
    ~Copy() { memory->free(data, bytes); }
    ext::Memory* memory;
    std::size_t bytes;
    void* data;
  };
  const Tensor& t = value.tensor;
  ext::Memory& memory = *t.device->memory;
  const std::size_t bytes = static_cast<std::size_t>(t.d.elements()) * sizeof(float);
  auto copy =
      std::unique_ptr<Copy>(new Copy{&memory, bytes, memory.allocate(bytes, ext::Contents::kAny)});
  if (copy->data == nullptr) {
    throw out_of_memory("__dlpack__: " + t.device->name + " refused " + std::to_string(bytes) +
                        " bytes");
  }
  memory.copy_to(t.v, memory, copy->data, bytes);
  if (waits) {
    memory.wait();
  }
  auto* const data = static_cast<float*>(copy->data);
  const nb::capsule owner(copy.get(), [](void* p) noexcept { delete static_cast<Copy*>(p); });
  static_cast<void>(copy.release());
  const Axes axes(t.d, order);
  return nb::ndarray<nb::array_api, float>(data, axes.count, axes.shape, owner, axes.stride,
                                           nb::dtype<float>(), nb::device::cuda::value,
                                           t.device->device_id)
      .cast();
}

nb::object to_numpy(const Tensor& t, double scale, Handlers handlers) {
  return make_array(t, scale, Order::kAsTensor, handlers);
}
nb::object to_numpy_rows_first(const Tensor& t, double scale) {
  return make_array(t, scale, Order::kRowsFirst, Handlers::kWait);
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
    throw errors::ValueError("scalar_value: the value is " + to_string(t.d) +
                             "; want one element\n  " + describe(of));
  }
  if (t.is_double()) {
    return as_double_vector(t)[0];
  }
  float number = 0.0F;
  t.device->memory->copy_out(t.v, &number, sizeof number);
  return static_cast<double>(number);
}

}  // namespace dynet::python
