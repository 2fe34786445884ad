// The module `_dynet`. `import dynet` starts the library; importing this alone does not.
//
// A process has one module. Its classes live in C++, which finds them again, and so do errors and
// the memory of lines. A program that takes the module out of sys.modules and imports it again gets
// another module object with the same contents. A subinterpreter, and a Python that the program
// starts after ending the first one, have objects of their own: they are refused.

#include <atomic>
#include <stdexcept>

#include "bind_distributed.h"
#include "binding.h"
#include "calls.h"
#include "functions.h"
#include "gil.h"
#include "lock.h"
#include "operators.h"
#include "pickling.h"
#include "where.h"

namespace {

constexpr char kKept[] = "_dynet.module";  // among the interpreter's objects

std::atomic<bool> was_loaded{false};  ///< in this process
std::atomic<bool> has_ended{false};   ///< the interpreter that loaded it

/// Borrowed; null if this interpreter has none.
PyObject* kept_module() {
  PyObject* kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
  return kept == nullptr ? nullptr : PyDict_GetItemString(kept, kKept);
}

void keep_module(const nb::module_& m) {
  PyObject* kept = PyInterpreterState_GetDict(PyInterpreterState_Get());
  if (kept == nullptr || PyDict_SetItemString(kept, kKept, m.ptr()) != 0) {
    throw nb::python_error();
  }
}

PyObject* refuse_import(const char* text) {
  PyErr_SetString(PyExc_ImportError, text);
  return nullptr;
}

constexpr char kSubinterpreter[] =
    "dynet works in the main interpreter alone, and this is a subinterpreter; want threads of the "
    "main interpreter, or processes";

/// Whether the code runs in the main interpreter. From Python 3.13 on a subinterpreter's import
/// calls PyInit__dynet in the main interpreter, and the slots in its own.
bool is_main_interpreter() { return PyInterpreterState_Get() == PyInterpreterState_Main(); }

/// A module object with the contents of the one there is.
PyObject* make_again(PyObject* spec, PyModuleDef* /*definition*/) {
  if (!is_main_interpreter()) {
    return refuse_import(kSubinterpreter);
  }
  PyObject* name = PyObject_GetAttrString(spec, "name");
  PyObject* made = name == nullptr ? nullptr : PyModule_NewObject(name);
  Py_XDECREF(name);
  if (made != nullptr &&
      PyDict_Update(PyModule_GetDict(made), PyModule_GetDict(kept_module())) != 0) {
    Py_CLEAR(made);
  }
  return made;
}

PyModuleDef_Slot slots_of_another[] = {
    {Py_mod_create, reinterpret_cast<void*>(&make_again)},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr},
};
PyModuleDef another{PyModuleDef_HEAD_INIT, "_dynet", nullptr, 0,      nullptr,
                    slots_of_another,      nullptr,  nullptr, nullptr};

}  // namespace

namespace dynet::python {
bool is_python_alive() noexcept { return Py_IsInitialized() != 0 && !has_ended; }
}  // namespace dynet::python

NB_MODULE(_dynet_once, m) {
  namespace py = dynet::python;
  if (!is_main_interpreter()) {
    was_loaded = false;  // the main interpreter may still import it
    // nanobind makes an ImportError of the text. A Python error would become the cause of another.
    throw std::runtime_error(kSubinterpreter);
  }
  py::make_module_lock();
  // A library must not write to the streams of its program, not even at exit.
  nb::set_leak_warnings(false);
  // Texts for users say `dynet`, the package of all names: types and functions take the name from
  // here.
  const nb::object own_name = m.attr("__name__");
  m.attr("__name__") = "dynet";
  m.attr("__doc__") = "DyNet: neural networks whose structure changes with every input.";
  m.attr("__version__") = DYNET_VERSION;
  py::bind_errors(m);
  py::install_location_resolver();
  py::bind_expression(m);
  py::bind_ops(m);
  py::bind_compositions(m);
  py::bind_selections(m);
  py::bind_chains(m);
  py::install_operators();  // before types derived from Expression, which inherit them
  py::bind_graph(m);
  py::bind_params(m);
  py::bind_collection(m);
  py::install_expression_objects();
  py::bind_inputs(m);
  py::bind_initializers(m);
  py::bind_trainers(m);
  py::bind_files(m);
  py::bind_builders(m);
  py::bind_tree_builders(m);
  py::bind_softmax_builders(m);
  py::bind_attention_builders(m);
  py::bind_beam(m);
  py::bind_tasks(m);
  py::bind_cell(m);
  py::bind_sequence(m);
  py::bind_structured(m);
  py::bind_text(m);
  py::bind_custom(m);
  py::bind_debug(m);
  py::bind_start(m);
  py::bind_workers(m);
  py::bind_distributed(m);
  py::bind_views(m);
  py::bind_old_names(m);
  py::bind_pickling(m);
  py::bind_repr(m);  // last: of all classes
  py::bind_functions(m);
  py::bind_calls(m);
  // The generator of stubs (make_stub.py) wants the functions of the binding library.
  if (!nb::hasattr(nb::module_::import_("builtins"), "__DYNET_STUBS")) {
    py::dress_functions(m);
  }
  m.attr("__name__") = own_name;
  keep_module(m);
}

/// Python's call for `_dynet` when it is not in sys.modules.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): CPython asks for it
extern "C" NB_EXPORT PyObject* PyInit__dynet() {
  if (!is_main_interpreter()) {
    return refuse_import(kSubinterpreter);
  }
  if (kept_module() != nullptr) {
    return PyModuleDef_Init(&another);
  }
  if (was_loaded.exchange(true)) {
    return refuse_import(
        "dynet can be imported once in a process: Python was finalised since (Py_Finalize), or the "
        "first import failed; want one Python for the life of the process");
  }
  Py_AtExit([] { has_ended = true; });  // without a place for it, a second Python is not told apart
  return PyInit__dynet_once();
}
