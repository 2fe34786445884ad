#pragma once

// A shorter way into the functions that programs call for every node.
//
// nanobind's way in takes about as long as adding the node. So these functions have a quick way in
// front: arguments given by position, of exactly the kinds that nearly all calls have (expressions,
// ints, floats, lists of them), go straight to the C++ function. Every other call goes the usual
// way (calls.h), as if there were no quick way: keywords, None, NumPy's numbers, generators, and
// every wrong call, which needs an error. Example: tanh(x) goes the quick way, tanh(x=x) the usual
// way.
//
// To make this true, the reader of an argument (QuickArg in arguments.h and binding.h) runs no code
// of the user's, sets no error and notes no misfit. A function with an argument without a reader
// has no quick way.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "arguments.h"
#include "binding.h"
#include "calls.h"
#include "errors.h"
#include "lock.h"

namespace dynet::python {

/// An object of a bound class with an `object_type`, or of a derived class.
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

/// The quick way to `kFunction`; nb::cast must take its result.
template <auto kFunction>
struct QuickWay;
template <class R, class... A, R (*kFunction)(A...)>
struct QuickWay<kFunction> {
  using Values = std::tuple<std::remove_cvref_t<A>...>;
  static inline vectorcallfunc next =
      nullptr;  ///< the way of the calls that this one does not make

  static PyObject* call(PyObject* function, PyObject* const* args, std::size_t flags_and_count,
                        PyObject* names) {
    const Entered entered;
    if (names == nullptr && PyVectorcall_NARGS(flags_and_count) == sizeof...(A)) {
      Values values;
      if (read(args, values, std::index_sequence_for<A...>())) {
        PyObject* result = guarded([&] { return object_of(run(values)).release().ptr(); });
        return result != nullptr ? result : explain_failure(function, args, flags_and_count);
      }
    }
    return next(function, args, flags_and_count, names);
  }

 private:
  static nb::object object_of(PyExpression result) { return new_object(result); }
  template <class T>
  static nb::object object_of(T&& result) {
    return nb::cast(std::forward<T>(result));
  }
  template <std::size_t... kI>
  static bool read(PyObject* const* args, Values& values,
                   std::index_sequence<kI...> /*all*/) noexcept {
    return (QuickArg<std::remove_cvref_t<A>>::read(args[kI], std::get<kI>(values)) && ...);
  }
  static R run(Values& values) {
    return std::apply([](auto&... value) { return kFunction(std::move(value)...); }, values);
  }
};

/// Puts the quick way to `kFunction` in front of the function `name` of `scope`. Of several ways to
/// one function, each takes another number of arguments. Before wrap_functions.
template <auto kFunction>
void add_quick_way(nb::handle scope, const char* name) {
  using Way = QuickWay<kFunction>;
  add_quick_way(scope, name, &Way::call, &Way::next);
}

}  // namespace dynet::python
