#include "lstm_options.h"

#include <utility>

namespace nb = nanobind;

namespace dynet::python {
namespace {

// Written at import only. The classes live as long as the process.
newfunc make_coupled = nullptr;
PyTypeObject* coupled_class = nullptr;
PyObject* standard_class = nullptr;

/// None is as good as absent, as in the signature.
bool has_options(PyObject* args, PyObject* named) {
  constexpr Py_ssize_t kOwn = 4;  // layers, input_dim, hidden_dim, model
  for (Py_ssize_t i = kOwn; i < PyTuple_GET_SIZE(args); ++i) {
    if (PyTuple_GET_ITEM(args, i) != Py_None) {
      return true;
    }
  }
  for (const char* option : {"ln_lstm", "forget_bias"}) {
    PyObject* const value = named == nullptr ? nullptr : PyDict_GetItemString(named, option);
    if (value != nullptr && value != Py_None) {
      return true;
    }
  }
  return false;
}

/// `__new__`. An object of another class is complete: Python does not call `__init__` for it.
PyObject* make(PyTypeObject* type, PyObject* args, PyObject* named) {
  return type == coupled_class && has_options(args, named)
             ? PyObject_Call(standard_class, args, named)
             : make_coupled(type, args, named);
}

}  // namespace

void give_options_to(nb::handle coupled, nb::handle standard) {
  standard_class = standard.ptr();
  coupled_class = reinterpret_cast<PyTypeObject*>(coupled.ptr());
  make_coupled = std::exchange(coupled_class->tp_new, &make);
}

}  // namespace dynet::python
