#pragma once

// Numbers and lists of numbers from Python, in the forms in which Python programs write them.
//
// A size or an index may be a whole number of any kind: 3, 6 / 2, numpy.int64(3). A number may be
// anything that `float()` takes, except text. A list may be any iterable.
//
// A value that does not fit is noted as a misfit (notes.h): the value, the place in it, and the
// wanted kind. nanobind then refuses the call, and calls.h writes the error. Example: 2.5 for an
// index notes the misfit 2.5 with "a whole number".
//
// Surprising: these casters replace nanobind's own, so every source that converts must see them.

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "dynet/dim.h"

#include "notes.h"

namespace dynet::python {

/// The limits of an integer.
struct Whole {
  std::int64_t low, high;
  bool is_index = false;
};
template <class T>
constexpr Whole whole() {
  using Limits = std::numeric_limits<T>;
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  if constexpr (sizeof(T) == sizeof(std::int64_t)) {
    return {static_cast<std::int64_t>(Limits::min()), kMost};
  } else {
    return {static_cast<std::int64_t>(Limits::min()), static_cast<std::int64_t>(Limits::max())};
  }
}
inline constexpr Whole kIndex{0, std::numeric_limits<unsigned>::max(), true};
inline constexpr Whole kPlace{-static_cast<std::int64_t>(std::numeric_limits<unsigned>::max()),
                              std::numeric_limits<unsigned>::max(), true};

/// The reader of an argument of type T, for the kind of value that nearly all calls give. `read`
/// returns false for other values. It runs no code of the user's, sets no error and notes no
/// misfit: casters try it first, and a quick way (quick.h) tries nothing else.
template <class T>
struct QuickArg;

/// An entry of a list or tuple, for as long as it is looked at.
#ifdef Py_GIL_DISABLED
/// Holds the entry, as another thread may remove it meanwhile. None if the list has become shorter.
inline nanobind::object entry_of(PyObject* list, Py_ssize_t i) noexcept {
  if (PyTuple_Check(list)) {
    return nanobind::borrow(PyTuple_GET_ITEM(list, i));
  }
  PyObject* const entry = PyList_GetItemRef(list, i);
  if (entry == nullptr) {
    PyErr_Clear();
    return nanobind::none();
  }
  return nanobind::steal(entry);
}
#else
inline nanobind::handle entry_of(PyObject* list, Py_ssize_t i) noexcept {
  return PySequence_Fast_GET_ITEM(list, i);
}
#endif

/// An int, not a bool or another subclass, as `want` says.
inline bool read_exact_whole(PyObject* o, const Whole& want, std::int64_t& number) noexcept {
  if (!PyLong_CheckExact(o)) {
    return false;
  }
  int overflow = 0;
  number = PyLong_AsLongAndOverflow(o, &overflow);
  return overflow == 0 && number >= want.low && number <= want.high;
}
/// The whole numbers of an array of one dimension: of NumPy, of the module `array`, or of another
/// class that is not written in Python. False, without an error, for other objects, or if a number
/// is out of range.
bool read_whole_array(PyObject* o, const Whole& want, std::vector<std::int64_t>& numbers) noexcept;
/// A list of nothing but such ints, or such an array. False also without memory for the numbers:
/// read_list then gives the error.
template <class T>
bool read_exact_wholes(PyObject* o, const Whole& want, std::vector<T>& list) noexcept try {
  if (!PyList_CheckExact(o)) {
    std::vector<std::int64_t> numbers;
    if (!read_whole_array(o, want, numbers)) {
      return false;
    }
    list.assign(numbers.begin(), numbers.end());
    return true;
  }
  const Py_ssize_t count = PyList_GET_SIZE(o);
  list.resize(static_cast<std::size_t>(count));
  std::int64_t number = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!read_exact_whole(entry_of(o, i).ptr(), want, number)) {
      return false;
    }
    list[static_cast<std::size_t>(i)] = static_cast<T>(number);
  }
  return true;
} catch (const std::bad_alloc&) {
  return false;
}
/// A float, not one of a subclass.
inline bool read_exact_real(PyObject* o, double& number) noexcept {
  if (!PyFloat_CheckExact(o)) {
    return false;
  }
  number = PyFloat_AS_DOUBLE(o);
  return true;
}

/// Each returns false, and notes the misfit, if the value is not of the wanted kind.
bool read_whole(PyObject* o, const Whole& want, std::int64_t& number) noexcept;
bool read_real(PyObject* o, double& number) noexcept;
/// A list or tuple of the entries of `o`; null for a value that is not iterable, with the misfit
/// noted. An iterator is iterated over once in a call.
nanobind::object read_sequence(PyObject* o, const char* want) noexcept;
/// The entries of `o`, each read by `read(PyObject*, T&)`.
template <class T, class Read>
bool read_list(PyObject* o, const char* want, std::vector<T>& list, const Read& read) noexcept try {
  const nanobind::object sequence = read_sequence(o, want);
  if (!sequence.is_valid()) {
    return false;
  }
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence.ptr());
  list.clear();
  list.reserve(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    // `__index__` of an entry may change the list, which then no longer holds the entry.
    if (PySequence_Fast_GET_SIZE(sequence.ptr()) != count) {
      return refuse_changed();
    }
    const nanobind::object held = nanobind::borrow(entry_of(sequence.ptr(), i));
    T entry{};
    if (!read(held.ptr(), entry)) {
      return refuse_entry(o, i);
    }
    list.push_back(std::move(entry));
  }
  return true;
} catch (const std::bad_alloc&) {
  return refuse_too_large();
}
/// Whole numbers, each as `want` says.
template <class T>
bool read_wholes(PyObject* o, const Whole& want, std::vector<T>& list) noexcept {
  const auto read = [&want](PyObject* item, T& entry) {
    std::int64_t number = 0;
    const bool fits = read_whole(item, want, number);
    entry = static_cast<T>(number);
    return fits;
  };
  return read_exact_wholes(o, want, list) || read_list(o, "a list of whole numbers", list, read);
}

/// An index, or a label. IndexError if negative.
struct IndexArg {
  unsigned index = 0;
};
/// Indices: a list, or anything that can be iterated over.
struct IndexListArg {
  static constexpr Whole kWant = kIndex;
  std::vector<unsigned> list;
  /// EmptyListError.
  [[nodiscard]] const std::vector<unsigned>& not_empty() const;
};
/// A flag of a constructor that DyNet 2.1 lacks. A builder's `spec` has it only if it is set, so
/// that specs of programs for 2.1 stay as they were.
struct NewFlag {
  bool is_set = false;
  operator bool() const { return is_set; }  // NOLINT(google-explicit-constructor): a flag
};
/// A place in a dimension, or in a batch: -1 is the last one.
struct PlaceArg {
  std::int64_t place = 0;
  /// The index among `count`. IndexError for a place before the first one; a place that is too
  /// large stays as it is.
  [[nodiscard]] unsigned in(std::string_view operation, unsigned count) const;
};
/// Places.
struct PlaceListArg {
  static constexpr Whole kWant = kPlace;
  std::vector<std::int64_t> list;
  [[nodiscard]] std::vector<unsigned> in(std::string_view operation, unsigned count) const;
};
/// Numbers of nodes of a tree; -1: none.
struct TreeNodesArg {
  static constexpr Whole kWant = whole<int>();
  std::vector<int> list;
};
/// Which dimension; -1 is the last.
struct AxisArg {
  int axis = 0;
  /// The dimension of an expression of this shape. ShapeError if there is none so far from the end.
  [[nodiscard]] unsigned in(const Dim& shape) const;
};
struct AxesArg {
  std::vector<int> list;
  [[nodiscard]] std::vector<unsigned> in(const Dim& shape) const;
};
/// The argument of read_numbers (arrays.h).
struct NumbersArg {
  nanobind::handle values;
};
/// By hand: Refused.
unsigned read_index(nanobind::handle index);
std::vector<unsigned> read_indices(nanobind::handle list);

inline bool read_index(PyObject* o, unsigned& index) noexcept {
  std::int64_t number = 0;
  if (!read_whole(o, kIndex, number)) {
    return false;
  }
  index = static_cast<unsigned>(number);
  return true;
}

template <>
struct QuickArg<IndexArg> {
  static bool read(PyObject* o, IndexArg& arg) noexcept {
    std::int64_t number = 0;
    const bool fits = read_exact_whole(o, kIndex, number);
    arg.index = static_cast<unsigned>(number);
    return fits;
  }
};
template <>
struct QuickArg<PlaceArg> {
  static bool read(PyObject* o, PlaceArg& arg) noexcept {
    return read_exact_whole(o, kPlace, arg.place);
  }
};
template <class T>
  requires requires(T& arg) { read_exact_wholes(nullptr, T::kWant, arg.list); }
struct QuickArg<T> {
  static bool read(PyObject* o, T& arg) noexcept {
    return read_exact_wholes(o, T::kWant, arg.list);
  }
};
template <>
struct QuickArg<float> {
  static bool read(PyObject* o, float& number) noexcept {
    double real = 0;
    const bool fits = read_exact_real(o, real);
    number = static_cast<float>(real);
    return fits;
  }
};

}  // namespace dynet::python

namespace nanobind::detail {

/// T: an integer.
template <class T>
struct WholeCaster {
  NB_TYPE_CASTER(T, const_name("int"))
  bool from_python(handle src, uint32_t flags, cleanup_list* /*cleanup*/) noexcept {
    constexpr dynet::python::Whole kWant = dynet::python::whole<T>();
    std::int64_t number = 0;
    const bool fits = dynet::python::read_whole(src.ptr(), kWant, number);
    value = static_cast<T>(number);  // either way, or compilers warn
    return fits || dynet::python::refused(flags);
  }
  static handle from_cpp(T number, rv_policy /*policy*/, cleanup_list* /*cleanup*/) noexcept {
    if constexpr (std::numeric_limits<T>::is_signed) {
      return PyLong_FromLong(number);
    } else {
      return PyLong_FromUnsignedLong(number);
    }
  }
};
template <>
struct type_caster<int> : WholeCaster<int> {};
template <>
struct type_caster<unsigned> : WholeCaster<unsigned> {};
template <>
struct type_caster<long> : WholeCaster<long> {};
template <>
struct type_caster<unsigned long> : WholeCaster<unsigned long> {};

template <class T>
struct RealCaster {
  NB_TYPE_CASTER(T, const_name("float"))
  bool from_python(handle src, uint32_t flags, cleanup_list* /*cleanup*/) noexcept {
    double number = 0;
    const bool fits = dynet::python::read_real(src.ptr(), number);
    value = static_cast<T>(number);
    return fits || dynet::python::refused(flags);
  }
  static handle from_cpp(T number, rv_policy /*policy*/, cleanup_list* /*cleanup*/) noexcept {
    return PyFloat_FromDouble(static_cast<double>(number));
  }
};
template <>
struct type_caster<float> : RealCaster<float> {};
template <>
struct type_caster<double> : RealCaster<double> {};

/// T: a number, or a list of them.
template <class T>
struct SequenceCaster : list_caster<std::vector<T>, T> {
  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<T> caster;
    const auto read = [&](PyObject* o, T& entry) {
      if (!caster.from_python(o, flags, cleanup)) {
        return false;
      }
      entry = caster.operator cast_t<T>();
      return true;
    };
    return dynet::python::read_list(src.ptr(), "a list of numbers", this->value, read) ||
           dynet::python::refused(flags);
  }
};
template <>
struct type_caster<std::vector<int>> : SequenceCaster<int> {};
template <>
struct type_caster<std::vector<unsigned>> : SequenceCaster<unsigned> {};
template <>
struct type_caster<std::vector<float>> : SequenceCaster<float> {};
template <>
struct type_caster<std::vector<double>> : SequenceCaster<double> {};
template <>
struct type_caster<std::vector<std::vector<unsigned>>> : SequenceCaster<std::vector<unsigned>> {};

template <>
struct type_caster<dynet::python::IndexArg> {
  NB_TYPE_CASTER(dynet::python::IndexArg, const_name("int"))
  bool from_python(handle src, uint32_t flags, cleanup_list* /*cleanup*/) noexcept {
    return dynet::python::read_index(src.ptr(), value.index) || dynet::python::refused(flags);
  }
  static handle from_cpp(const dynet::python::IndexArg& arg, rv_policy /*policy*/,
                         cleanup_list* /*cleanup*/) noexcept {
    return PyLong_FromUnsignedLong(arg.index);
  }
};

template <>
struct type_caster<dynet::python::NewFlag> {
  NB_TYPE_CASTER(dynet::python::NewFlag, const_name("bool"))
  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<bool> flag;
    const bool fits = flag.from_python(src, flags, cleanup);
    value.is_set = fits && flag.value;
    return fits;
  }
  static handle from_cpp(const dynet::python::NewFlag& arg, rv_policy /*policy*/,
                         cleanup_list* /*cleanup*/) noexcept {
    return PyBool_FromLong(static_cast<long>(arg.is_set));
  }
};

template <>
struct type_caster<dynet::python::PlaceArg> {
  NB_TYPE_CASTER(dynet::python::PlaceArg, const_name("int"))
  bool from_python(handle src, uint32_t flags, cleanup_list* /*cleanup*/) noexcept {
    return dynet::python::read_whole(src.ptr(), dynet::python::kPlace, value.place) ||
           dynet::python::refused(flags);
  }
  static handle from_cpp(const dynet::python::PlaceArg& arg, rv_policy /*policy*/,
                         cleanup_list* /*cleanup*/) noexcept {
    return PyLong_FromLongLong(arg.place);
  }
};

/// T: a struct with a `list`, its type in signatures (`kType`), its name in errors (`kList`), and
/// the reader of an entry (`read`).
template <class T>
struct ListCaster {
  NB_TYPE_CASTER(T, T::kType)
  bool from_python(handle src, uint32_t flags, cleanup_list* /*cleanup*/) noexcept {
    return dynet::python::read_list(src.ptr(), T::kList, value.list, T::read) ||
           dynet::python::refused(flags);
  }
};

/// T: IndexListArg, PlaceListArg or TreeNodesArg.
template <class T>
struct WholesCaster {
  NB_TYPE_CASTER(T, const_name("collections.abc.Sequence[int]"))
  bool from_python(handle src, uint32_t flags, cleanup_list* /*cleanup*/) noexcept {
    return dynet::python::read_wholes(src.ptr(), T::kWant, value.list) ||
           dynet::python::refused(flags);
  }
};
template <>
struct type_caster<dynet::python::IndexListArg> : WholesCaster<dynet::python::IndexListArg> {};
template <>
struct type_caster<dynet::python::PlaceListArg> : WholesCaster<dynet::python::PlaceListArg> {};
template <>
struct type_caster<dynet::python::TreeNodesArg> : WholesCaster<dynet::python::TreeNodesArg> {};

template <>
struct type_caster<dynet::python::NumbersArg> {
  NB_TYPE_CASTER(dynet::python::NumbersArg, const_name("collections.abc.Iterable[float]"))
  bool from_python(handle src, uint32_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    value.values = src;
    return true;
  }
};

template <>
struct type_caster<dynet::python::AxisArg> {
  NB_TYPE_CASTER(dynet::python::AxisArg, const_name("int"))
  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<int> caster;
    const bool fits = caster.from_python(src, flags, cleanup);
    value.axis = caster.value;
    return fits;
  }
};
template <>
struct type_caster<dynet::python::AxesArg> {
  NB_TYPE_CASTER(dynet::python::AxesArg, const_name("collections.abc.Sequence[int]"))
  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<std::vector<int>> caster;
    const bool fits = caster.from_python(src, flags, cleanup);
    value.list = std::move(caster.value);
    return fits;
  }
};

}  // namespace nanobind::detail
