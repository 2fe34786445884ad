#pragma once

// The library's exceptions as Python classes.

#include <nanobind/nanobind.h>

#include <exception>
#include <functional>
#include <string>

#include "dynet/except.h"

namespace dynet::python {

/// A value of the wrong kind, an argument too many or too few: also Python's TypeError.
struct TypeError : dynet::detail::ErrorOf<std::invalid_argument> {
  using ErrorOf::ErrorOf;
};
/// An empty list in a place of one expression or more: as in DyNet 2.1 also Python's
/// AssertionError.
struct EmptyListError : dynet::detail::ErrorOf<std::invalid_argument> {
  using ErrorOf::ErrorOf;
};

/// The class of the error that stands for "the arguments do not fit, see the misfit" until calls.cc
/// replaces it. Borrowed.
nanobind::handle refused_class();
/// Whether it is one of the library's exceptions.
bool is_error_of_library(nanobind::handle error);
/// Adds to an error of ours the function's name, from `name()`, and the user's line, if missing.
void complete_error(nanobind::handle error, const std::function<std::string()>& name);

/// Sets the Python error for an exception of the library or the standard library.
void set_python_error(const std::exception_ptr& error) noexcept;

/// Runs `f`, which returns a new reference, for a slot that Python calls directly.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (nanobind::python_error& e) {
    e.restore();
  } catch (...) {
    set_python_error(std::current_exception());
  }
  return nullptr;
}

}  // namespace dynet::python
