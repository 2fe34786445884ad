#include "lstm_options.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "calls.h"

namespace nb = nanobind;

namespace dynet::python {
namespace {

// Written at import only. The class lives as long as the process.
vectorcallfunc make_coupled = nullptr;
PyObject* standard_class = nullptr;

bool is_option(PyObject* name) {
  return PyUnicode_CompareWithASCIIString(name, "ln_lstm") == 0 ||
         PyUnicode_CompareWithASCIIString(name, "forget_bias") == 0;
}

/// None is as good as absent, as in the signature.
bool has_options(PyObject* const* args, std::size_t count, PyObject* names) {
  constexpr std::size_t kOwn = 4;  // layers, input_dim, hidden_dim, model
  if (std::any_of(args + std::min(count, kOwn), args + count,
                  [](PyObject* option) { return option != Py_None; })) {
    return true;
  }
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < named; ++i) {
    if (is_option(PyTuple_GET_ITEM(names, i)) &&
        args[count + static_cast<std::size_t>(i)] != Py_None) {
      return true;
    }
  }
  return false;
}

PyObject* make(PyObject* type, PyObject* const* args, std::size_t flags_and_count,
               PyObject* names) {
  const std::size_t count = positional_count(flags_and_count);
  return has_options(args, count, names) ? PyObject_Vectorcall(standard_class, args, count, names)
                                         : make_coupled(type, args, flags_and_count, names);
}

}  // namespace

void give_options_to(nb::handle coupled, nb::handle standard) {
  standard_class = standard.ptr();
  make_coupled =
      std::exchange(reinterpret_cast<PyTypeObject*>(coupled.ptr())->tp_vectorcall, &make);
}

}  // namespace dynet::python
