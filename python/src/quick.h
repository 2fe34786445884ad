#pragma once

// A shorter way into the functions that programs call for every node.
//
// nanobind's way in takes about as long as adding the node does. So these functions have a quick
// way in front of it: arguments given by position, of exactly the kinds that nearly all calls have
// (expressions, ints, floats, lists of them), go straight to the C++ function. Every other call
// goes the usual way (calls.h), as if it had come there first: keywords, None, NumPy's numbers,
// generators, and whatever is wrong and has to be told.
//
// So that this holds, a reader of an argument (QuickArg) runs no code of the user's, sets no error
// and notes no misfit. What has no reader has no quick way.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "arguments.h"
#include "binding.h"
#include "calls.h"
#include "errors.h"

namespace dynet::python {

/// How an argument of type T is read; false where it is not quite what it mostly is.
template <class T>
struct QuickArg;

/// An int, not a bool or another subclass, in the limits of `want`.
inline bool read_exact_whole(PyObject* o, const Whole& want, std::int64_t& number) noexcept {
  if (!PyLong_CheckExact(o)) {
    return false;
  }
  int overflow = 0;
  number = PyLong_AsLongAndOverflow(o, &overflow);
  return overflow == 0 && number >= want.low && number <= want.high;
}

template <>
struct QuickArg<ExprArg> {
  static bool read(PyObject* o, ExprArg& arg) noexcept {
    if (!is_expression(o) || !nb::inst_ready(o)) {
      return false;
    }
    arg.x = nb::inst_ptr<PyExpression>(o);
    return true;
  }
};
template <>
struct QuickArg<ExprListArg> {
  static bool read(PyObject* o, ExprListArg& arg) noexcept {
    if (!PyList_CheckExact(o) && !PyTuple_CheckExact(o)) {
      return false;
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(o);
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!is_expression(PySequence_Fast_GET_ITEM(o, i))) {
        return false;
      }
    }
    arg.owner = nb::borrow(o);
    return true;
  }
};
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
struct QuickArg<IndexListArg> {
  static bool read(PyObject* o, IndexListArg& arg) noexcept {
    if (!PyList_CheckExact(o)) {
      return false;
    }
    const Py_ssize_t count = PyList_GET_SIZE(o);
    arg.list.resize(static_cast<std::size_t>(count));
    std::int64_t number = 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!read_exact_whole(PyList_GET_ITEM(o, i), kIndex, number)) {
        return false;
      }
      arg.list[static_cast<std::size_t>(i)] = static_cast<unsigned>(number);
    }
    return true;
  }
};
template <>
struct QuickArg<PlaceArg> {
  static bool read(PyObject* o, PlaceArg& arg) noexcept {
    return read_exact_whole(o, kPlace, arg.place);
  }
};
template <>
struct QuickArg<PlaceListArg> {
  static bool read(PyObject* o, PlaceListArg& arg) noexcept {
    if (!PyList_CheckExact(o)) {
      return false;
    }
    arg.list.resize(static_cast<std::size_t>(PyList_GET_SIZE(o)));
    for (std::size_t i = 0; i < arg.list.size(); ++i) {
      if (!read_exact_whole(PyList_GET_ITEM(o, static_cast<Py_ssize_t>(i)), kPlace, arg.list[i])) {
        return false;
      }
    }
    return true;
  }
};
template <>
struct QuickArg<float> {
  static bool read(PyObject* o, float& number) noexcept {
    if (!PyFloat_CheckExact(o)) {
      return false;
    }
    number = static_cast<float>(PyFloat_AS_DOUBLE(o));
    return true;
  }
};
/// An object of a bound class that has its `object_type`, or of one derived from it.
template <class T>
struct QuickArg<T*> {
  static bool read(PyObject* o, T*& object) noexcept {
    PyTypeObject* const type = object_type<std::remove_const_t<T>>;
    if ((Py_TYPE(o) != type && PyType_IsSubtype(Py_TYPE(o), type) == 0) || !nb::inst_ready(o)) {
      return false;
    }
    object = nb::inst_ptr<T>(o);
    return true;
  }
};

/// Whether all of these have readers.
template <class... T>
constexpr bool kAreQuick = (requires(PyObject* o, T& arg) { QuickArg<T>::read(o, arg); } && ...);

/// The quick way to `kFunction`, which returns what nb::cast takes.
template <auto kFunction>
struct QuickWay;
template <class R, class... A, R (*kFunction)(A...)>
struct QuickWay<kFunction> {
  static inline vectorcallfunc usual = nullptr;

  static PyObject* call(PyObject* function, PyObject* const* args, std::size_t flags_and_count,
                        PyObject* names) {
    if (names == nullptr && positional_count(flags_and_count) == sizeof...(A)) {
      std::tuple<A...> values;
      if (read(args, values, std::index_sequence_for<A...>())) {
        PyObject* result = guarded([&] { return nb::cast(run(values)).release().ptr(); });
        return result != nullptr ? result : explain_failure(function, args, flags_and_count);
      }
    }
    return usual(function, args, flags_and_count, names);
  }

 private:
  template <std::size_t... kI>
  static bool read(PyObject* const* args, std::tuple<A...>& values,
                   std::index_sequence<kI...> /*all*/) noexcept {
    return (QuickArg<A>::read(args[kI], std::get<kI>(values)) && ...);
  }
  static R run(std::tuple<A...>& values) {
    return std::apply([](A&... value) { return kFunction(std::move(value)...); }, values);
  }
};

/// Puts the quick way to `kFunction` in front of the bound function `function`. Of several, each
/// takes another number of arguments. Before watch_calls.
template <auto kFunction>
void add_quick_way(nb::handle function) {
  using Way = QuickWay<kFunction>;
  add_quick_way(function, &Way::call, &Way::usual);
}

}  // namespace dynet::python
