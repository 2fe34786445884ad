// How numbers, lists and shapes arrive from Python.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "arrays.h"
#include "binding.h"
#include "errors.h"
#include "lock.h"
#include "signals.h"

namespace dynet::python {
namespace {

/// Numbers of all kinds; expressions are none, nor is text, though NumPy's can be made a number.
bool is_number(PyObject* o) {
  return PyNumber_Check(o) != 0 && !is_expression(o) && PyUnicode_Check(o) == 0 &&
         PyBytes_Check(o) == 0 && !is_complex(o);
}

}  // namespace

nb::tuple shape_tuple(const dynet::Dim& d) {
  nb::list extents;
  for (unsigned i = 0; i < d.nd; ++i) {
    extents.append(d.d[i]);
  }
  return nb::tuple(extents);
}

std::string class_name(nb::handle object) {
  return nb::cast<std::string>(
      nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))).attr("__name__"));
}

namespace {
template <class T>
std::string shortest(T number) {
  char text[64];
  const bool is_middling =
      number == 0 || (std::abs(number) >= T(1e-4) && std::abs(number) < T(1e16));
  const auto format = is_middling ? std::chars_format::fixed : std::chars_format::scientific;
  return {text, std::to_chars(text, text + sizeof text, number, format).ptr};
}
}  // namespace
std::string short_text(double number) { return shortest(number); }
std::string short_text(float number) { return shortest(number); }

std::string told(nb::handle value) {
  return nb::cast<std::string>(nb::module_::import_("dynet._calls").attr("told")(value));
}

bool read_whole(PyObject* o, const Whole& want, std::int64_t& number) noexcept {
  if (read_exact_whole(o, want, number)) {
    return true;
  }
  if (has_raised()) {
    return refuse(o, "a whole number");
  }
  int overflow = 0;
  if (PyIndex_Check(o) != 0) {
    const nb::object index = nb::steal(PyNumber_Index(o));
    if (!index.is_valid()) {
      return refuse(o, "a whole number");
    }
    number = PyLong_AsLongAndOverflow(index.ptr(), &overflow);
  } else if (is_number(o)) {
    const double real = PyFloat_AsDouble(o);
    if (real == -1.0 && PyErr_Occurred() != nullptr) {
      return refuse(o, "a whole number");
    }
    if (std::nearbyint(real) != real) {
      return refuse(o, "a whole number");
    }
    overflow = static_cast<int>(std::abs(real) >= 0x1p63);
    number = overflow != 0 ? 0 : static_cast<std::int64_t>(real);
  } else {
    return refuse(o, "a whole number");
  }
  return (overflow == 0 && number >= want.low && number <= want.high) ||
         refuse_number(o, want.low, want.high, want.is_index);
}

namespace {

/// The numbers of an array in C order, while it lives.
class Buffer {
 public:
  explicit Buffer(PyObject* o) noexcept {
    // A class written in Python may have a buffer, too, and this would run its code.
    if (PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_IMMUTABLETYPE) == 0 ||
        PyObject_CheckBuffer(o) == 0 || PyBytes_Check(o) != 0 || PyByteArray_Check(o) != 0) {
      return;
    }
    has_ = PyObject_GetBuffer(o, &view_, PyBUF_ND | PyBUF_FORMAT) == 0;
    if (!has_) {
      PyErr_Clear();
    }
  }
  ~Buffer() {
    if (has_) {
      PyBuffer_Release(&view_);
    }
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// One dimension of numbers with this letter in the module `struct`.
  [[nodiscard]] bool is_of(const char* letter) const {
    return has_ && view_.ndim == 1 && view_.format != nullptr &&
           std::strcmp(view_.format, letter) == 0;
  }
  /// False if a number is out of range.
  template <class T>
  bool read(const Whole& want, std::vector<std::int64_t>& numbers) const {
    const auto* bytes = static_cast<const char*>(view_.buf);
    numbers.resize(static_cast<std::size_t>(view_.shape[0]));
    return std::all_of(numbers.begin(), numbers.end(), [&](std::int64_t& number) {
      T entry;
      std::memcpy(&entry, bytes, sizeof entry);  // it may lie anywhere
      bytes += sizeof entry;
      number = static_cast<std::int64_t>(+entry);
      return std::cmp_greater_equal(entry, want.low) && std::cmp_less_equal(entry, want.high);
    });
  }

 private:
  Py_buffer view_{};
  bool has_ = false;
};

}  // namespace

bool read_whole_array(PyObject* o, const Whole& want, std::vector<std::int64_t>& numbers) noexcept
    try {
  const Buffer buffer(o);
  return (buffer.is_of("l") && buffer.read<long>(want, numbers)) ||
         (buffer.is_of("i") && buffer.read<int>(want, numbers)) ||
         (buffer.is_of("I") && buffer.read<unsigned>(want, numbers)) ||
         (buffer.is_of("q") && buffer.read<long long>(want, numbers)) ||
         (buffer.is_of("L") && buffer.read<unsigned long>(want, numbers)) ||
         (buffer.is_of("Q") && buffer.read<unsigned long long>(want, numbers)) ||
         (buffer.is_of("h") && buffer.read<short>(want, numbers)) ||
         (buffer.is_of("H") && buffer.read<unsigned short>(want, numbers)) ||
         (buffer.is_of("b") && buffer.read<signed char>(want, numbers)) ||
         (buffer.is_of("B") && buffer.read<unsigned char>(want, numbers));
} catch (const std::bad_alloc&) {
  return false;
}

bool read_real(PyObject* o, double& number) noexcept {
  if (read_exact_real(o, number)) {
    return true;
  }
  if (has_raised() || !is_number(o)) {
    return refuse(o, has_raised() || !is_complex(o) ? "a number" : "a real number");
  }
  number = PyFloat_AsDouble(o);
  return number != -1.0 || PyErr_Occurred() == nullptr || refuse(o, "a number");
}

nb::object read_sequence(PyObject* o, const char* want) noexcept {
  if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) {
    return nb::borrow(o);
  }
  // Text is a list of texts, and sets and dicts have no order that a program would mean.
  if (has_raised() || is_expression(o) || PyUnicode_Check(o) || PyBytes_Check(o) ||
      PyAnySet_Check(o) || PyDict_Check(o)) {
    refuse(o, want);
    return {};
  }
  const bool is_iterator = PyIter_Check(o) != 0;
  PyObject* const known = is_iterator ? list_of_iterator(o) : nullptr;
  if (known != nullptr) {
    return nb::borrow(known);
  }
  nb::object list = nb::steal([o] {
    const OthersMayEnter others;
    return PySequence_List(o);
  }());
  if (!list.is_valid()) {
    if (is_iterator) {  // there is nothing else that could have failed
      note_raised();
    }
    refuse(o, want);
  } else if (is_iterator && !note_list(o, list.ptr())) {
    return {};
  }
  return list;
}

std::vector<Expression>& ExprListArg::nodes() const {
  // Handlers of signals run between the pieces of a long list. A handler may come here itself: then
  // the list is read once more.
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  thread_local std::vector<Expression> nodes;
  thread_local unsigned long calls = 0;
  unsigned long call = ++calls;
  const std::size_t all = count();
  nodes.clear();
  nodes.reserve(all);
  for (std::size_t i = 0; i < all; ++i) {
    if (i != 0 && i % kPiece == 0) [[unlikely]] {
      run_signal_handlers();
      if (count() != all) {
        throw TypeError("a list of expressions was changed while the arguments were read");
      }
      if (calls != call) {
        call = calls;
        nodes.clear();
        i = 0;
      }
    }
    const auto item = entry_of(owner.ptr(), static_cast<Py_ssize_t>(i));
    if (!is_expression(item.ptr())) {
      throw TypeError("a list of expressions was changed while the arguments were read");
    }
    nodes.push_back(resolve(instance<PyExpression>(item)));
  }
  return nodes;
}

std::vector<Expression>& ExprListArg::some_nodes() const {
  if (count() == 0) {
    throw EmptyListError("the list of expressions is empty; want at least one");
  }
  return nodes();
}

void fail_uninitialised(nb::handle object) {
  PyErr_Format(PyExc_TypeError,
               "%s: the object was not initialised; a subclass must call super().__init__() first",
               Py_TYPE(object.ptr())->tp_name);
  throw nb::python_error();
}

bool refuse_expression(PyObject* o) noexcept {
  return refuse(o, is_expression(o)
                       ? "one that was initialised: a subclass must call super().__init__() first"
                       : "an expression");
}

Dim RestDimArg::of(const Dim& from, unsigned batch_size) const {
  if (rest == kNone) {
    return dim;
  }
  const std::int64_t others = dim.example_elements() * batch_size;  // the rest stands as 1
  const std::int64_t all = batch_size == 1 ? from.example_elements() : from.elements();
  if (others == 0 || all % others != 0) {
    std::string asked;
    for (unsigned i = 0; i < dim.nd; ++i) {
      asked += (i == 0 ? "" : ",") + (i == rest ? std::string("-1") : std::to_string(dim.d[i]));
    }
    throw errors::ShapeError("x is " + to_string(from) + " and d is {" + asked + "}; want the " +
                             std::to_string(all) + " elements of x to be a multiple of " +
                             std::to_string(others) + ", so that a whole number stands for -1");
  }
  Dim full = dim;
  full.d[rest] = to_extent(all / others, "reshape");
  return full;
}

const std::vector<unsigned>& IndexListArg::not_empty() const {
  if (list.empty()) {
    throw EmptyListError("the list of indices is empty; want at least one");
  }
  return list;
}

unsigned AxisArg::in(const Dim& shape) const {
  if (axis >= 0) {
    return static_cast<unsigned>(axis);
  }
  if (-static_cast<std::int64_t>(axis) > shape.nd) {
    throw errors::ShapeError("dimension " + std::to_string(axis) + " of " + to_string(shape) +
                             ", which has " + std::to_string(shape.nd));
  }
  return shape.nd - static_cast<unsigned>(-axis);
}

unsigned PlaceArg::in(std::string_view operation, unsigned count) const {
  if (place >= 0) {
    return static_cast<unsigned>(place);
  }
  if (place + count < 0) {
    throw errors::IndexError(std::string(operation) + ": index is " + std::to_string(place) +
                             "; want a whole number from -" + std::to_string(count) + " to " +
                             std::to_string(static_cast<std::int64_t>(count) - 1));
  }
  return static_cast<unsigned>(place + count);
}

std::vector<unsigned> PlaceListArg::in(std::string_view operation, unsigned count) const {
  std::vector<unsigned> indices;
  indices.reserve(list.size());
  for (const std::int64_t place : list) {
    indices.push_back(PlaceArg{place}.in(operation, count));
  }
  return indices;
}

std::vector<unsigned> AxesArg::in(const Dim& shape) const {
  std::vector<unsigned> axes;
  axes.reserve(list.size());
  for (const int axis : list) {
    axes.push_back(AxisArg{axis}.in(shape));
  }
  return axes;
}

Dim DimArg::with_batch(unsigned batch_size) const {
  if (batch_size == 0) {
    throw errors::ValueError("batch_size is 0; want at least 1");
  }
  Dim d = dim;
  d.bd = batch_size;
  return d;
}

unsigned read_index(nb::handle index) {
  unsigned number = 0;
  if (!read_index(index.ptr(), number)) {
    throw Refused();
  }
  return number;
}

std::vector<unsigned> read_indices(nb::handle list) {
  std::vector<unsigned> indices;
  if (!read_wholes(list.ptr(), kIndex, indices)) {
    throw Refused();
  }
  return indices;
}

}  // namespace dynet::python

namespace nanobind::detail {

using dynet::python::DimArg;
using dynet::python::ExprListArg;
using dynet::python::RestDimArg;

bool type_caster<ExprListArg>::from_python(handle src, uint32_t flags,
                                           cleanup_list* /*cleanup*/) noexcept {
  using namespace dynet::python;  // NOLINT(google-build-using-namespace): this is its caster
  if (QuickArg<ExprListArg>::read(src.ptr(), value)) {
    return true;
  }
  value.owner = read_sequence(src.ptr(), "a list of expressions");
  if (!value.owner.is_valid()) {
    return refused(flags);
  }
  const Py_ssize_t other = first_other(value.owner.ptr());
  if (other == PySequence_Fast_GET_SIZE(value.owner.ptr())) {
    return true;
  }
  refuse_expression(entry_of(value.owner.ptr(), other).ptr());
  refuse_entry(src.ptr(), other);
  return refused(flags);
}

namespace {
constexpr const char* kShape = "a whole number or a list of at most 7";

/// `low`: the least that an extent may be.
bool read_extent(PyObject* o, std::int64_t low, std::int64_t& extent) {
  return dynet::python::read_whole(o, {low, std::numeric_limits<unsigned>::max()}, extent);
}

/// Calls `set(i, extent)` for each extent, after the number of them is in `dim`.
template <class Set>
bool read_shape(PyObject* o, std::int64_t low, dynet::Dim& dim, const Set& set) {
  using namespace dynet::python;  // NOLINT(google-build-using-namespace): this is its caster
  dim = dynet::Dim();
  dim.nd = 1;
  std::int64_t extent = 0;
  if (PySequence_Check(o) == 0) {
    return read_extent(o, low, extent) && (set(0U, extent), true);
  }
  const object entries = read_sequence(o, kShape);
  if (!entries.is_valid()) {
    return false;
  }
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(entries.ptr());
  if (n > DYNET_MAX_TENSOR_DIM) {
    return refuse(o, kShape);
  }
  dim.nd = static_cast<unsigned>(n);
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (PySequence_Fast_GET_SIZE(entries.ptr()) != n) {
      return refuse_changed();
    }
    const object held = borrow(dynet::python::entry_of(entries.ptr(), i));
    if (!read_extent(held.ptr(), low, extent)) {
      return refuse_entry(o, i);
    }
    set(static_cast<unsigned>(i), extent);
  }
  return true;
}
}  // namespace

bool type_caster<DimArg>::from_python(handle src, uint32_t flags,
                                      cleanup_list* /*cleanup*/) noexcept {
  const auto set = [this](unsigned i, std::int64_t extent) {
    value.dim.d[i] = static_cast<unsigned>(extent);
  };
  return read_shape(src.ptr(), 0, value.dim, set) || dynet::python::refused(flags);
}

bool type_caster<RestDimArg>::from_python(handle src, uint32_t flags,
                                          cleanup_list* /*cleanup*/) noexcept {
  unsigned rests = 0;
  const auto set = [&](unsigned i, std::int64_t extent) {
    value.dim.d[i] = extent < 0 ? 1 : static_cast<unsigned>(extent);
    if (extent < 0) {
      value.rest = i;
      ++rests;
    }
  };
  if (!read_shape(src.ptr(), -1, value.dim, set)) {
    return dynet::python::refused(flags);
  }
  if (rests > 1) {
    dynet::python::refuse(src.ptr(), "a shape with one -1 at most");
    return dynet::python::refused(flags);
  }
  return true;
}

}  // namespace nanobind::detail
