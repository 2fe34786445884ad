#pragma once

// The library's exceptions as Python classes.

#include <nanobind/nanobind.h>

#include <exception>

namespace dynet::python {

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
