#include "lock.h"

#ifdef Py_GIL_DISABLED

#include <nanobind/nanobind.h>

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "binding.h"

namespace nb = nanobind;

namespace dynet::python {
namespace {

/// How nanobind destroys objects of all its classes.
destructor usual_destruction = nullptr;

void destroy(PyObject* object) {
  const Entered entered;
  usual_destruction(object);
}

}  // namespace

void make_module_lock() {
  if (module_lock == nullptr) {
    module_lock = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
    if (module_lock == nullptr) {
      throw nb::python_error();
    }
  }
}

void lock_destruction(PyTypeObject* type) {
  // Of these there is one for each node, and there is nothing to guard.
  static_assert(std::is_trivially_destructible_v<PyExpression>);
  if (type->tp_dealloc == &destroy || type == object_type<PyExpression>) {
    return;
  }
  if (usual_destruction != nullptr && usual_destruction != type->tp_dealloc) {
    throw std::logic_error("a class whose objects are destroyed in a way of their own");
  }
  usual_destruction = std::exchange(type->tp_dealloc, &destroy);
}

}  // namespace dynet::python

#endif
