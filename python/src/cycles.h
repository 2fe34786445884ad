#pragma once

// Python's garbage collector, and objects of bound classes that keep Python objects: without these
// slots the collector does not see the kept objects, and a cycle through one is never collected.

#include <nanobind/nanobind.h>

#include "lock.h"

namespace nb = nanobind;

namespace dynet::python {

/// The references of this object in Python's count: `traverse` calls `visit` for each Python object
/// that `self` alone keeps, and returns a result other than 0 at once. It runs no Python code.
template <class T>
int traverse_cycles(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<T>(self)->traverse(visit, arg) : 0;
}
/// Lets go of them. The object is garbage, but others that are may use it once more.
template <class T>
int clear_cycles(PyObject* self) {
  const Entered entered;
  if (nb::inst_ready(self)) {
    nb::inst_ptr<T>(self)->let_go();
  }
  return 0;
}

/// For nb::type_slots, of a class with `traverse` and `let_go`.
template <class T>
inline PyType_Slot cycle_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(&traverse_cycles<T>)},
    {Py_tp_clear, reinterpret_cast<void*>(&clear_cycles<T>)},
    {0, nullptr},
};

}  // namespace dynet::python
