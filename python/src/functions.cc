#include "functions.h"

#include <nanobind/stl/string.h>

#include <string>

#include "binding.h"
#include "calls.h"
#include "errors.h"
#include "function_type.h"

namespace dynet::python {
namespace {

// ---- classes that programs cannot make objects of
// ----------------------------------------------------------------------------------------

struct MadeBy {
  const char* name;
  const char* how;
};
constexpr MadeBy kMadeBy[] = {
    {"AttentionMemory", "the read of an attention builder makes them"},
    {"Bucketed", "dynet.bucketed makes them"},
    {"ColumnSentence", "a ColumnReader makes them"},
    {"ConlluSentence", "a ConlluReader makes them"},
    {"ConlluToken", "a ConlluReader makes them"},
    {"DeviceInfo", "dynet.get_device_info gives them"},
    {"Expression", "functions such as dynet.inputVector make them, and operators"},
    {"Hypothesis", "dynet.beam_search makes them"},
    {"LookupParameters", "ParameterCollection.add_lookup_parameters makes them"},
    {"Parameters", "ParameterCollection.add_parameters makes them"},
    {"PositionalEncoding", "make a SinusoidalEncoding or a LearnedEncoding"},
    {"PyInitializer", "make one that says how, such as a NormalInitializer"},
    {"RNNState", "the initial_state() of a builder makes the first, add_input the others"},
    {"Schedule", "make one that says how, such as a CosineSchedule"},
    {"SoftmaxBuilder", "make one that says how, such as a StandardSoftmaxBuilder"},
    {"Trainer", "make one that says how, such as an AdamTrainer"},
    {"TransformerState", "the start of a TransformerDecoderBuilder makes them"},
    {"Tree", "a TreeReader makes them"},
    {"TreeState", "add_input of a tree builder makes them"},
    {"_BinaryTreeBuilder", "make one that says how, such as a BinaryTreeLSTMBuilder"},
    {"_RNNBuilder", "make one that says how, such as a VanillaLSTMBuilder"},
    {"_TreeNodesBuilder", "make one that says how, such as a ChildSumTreeLSTMBuilder"},
};

void refuse_to_make(const nb::module_& m, const MadeBy& it) {
  const nb::object type = m.attr(it.name);
  const nb::object init = nb::cpp_function(
      [it](nb::handle /*self*/, const nb::args&, const nb::kwargs&) {
        throw TypeError(std::string("objects of this class are not made by calling it: ") + it.how);
      },
      nb::is_method(), nb::scope(type), nb::name("__init__"),
      nb::sig("def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None"));
  nb::setattr(type, "__init__", init);
}

// ---- signatures of classes
// --------------------------------------------------------------------------

/// `inspect.signature` of a class. Python 3.11.2 would look at `__new__` first, which has none.
void add_signatures_of_classes(const nb::module_& m) {
  const nb::object read = nb::cpp_function([](nb::handle cls) {
    return nb::module_::import_("dynet._calls").attr("signature_of_class")(cls);
  });
  const nb::object property = nb::module_::import_("builtins").attr("property")(read);
  PyTypeObject* const metaclass = Py_TYPE(m.attr("ParameterCollection").ptr());
  if (PyDict_SetItemString(metaclass->tp_dict, "__signature__", property.ptr()) != 0) {
    throw nb::python_error();
  }
  PyType_Modified(metaclass);
}

// ---- names that are written in Python
// ----------------------------------------------------------------------------------------

/// Whether `name_of_package` imports the package in this thread.
thread_local bool is_for_names = false;

/// `_dynet.__getattr__(name)`: a name of the package, such as `BiRNNBuilder`. No function of the
/// module, as errors of those are explained by the package, which may not be imported yet.
PyObject* name_of_package(PyObject* /*module*/, PyObject* name) noexcept {
  const char* const text = PyUnicode_AsUTF8(name);
  if (text != nullptr && text[0] != '_') {
    is_for_names = true;
    PyObject* const package = PyImport_ImportModule("dynet");
    is_for_names = false;
    PyObject* const found = package == nullptr ? nullptr : PyObject_GetAttr(package, name);
    Py_XDECREF(package);
    if (found != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
      return found;
    }
  }
  return PyErr_Format(PyExc_AttributeError, "module '_dynet' has no attribute %R", name);
}

PyMethodDef getattr_of_module[] = {{"__getattr__", &name_of_package, METH_O, nullptr}, {}};

}  // namespace

void bind_functions(nb::module_& m) {
  for (const MadeBy& it : kMadeBy) {
    refuse_to_make(m, it);
  }
  m.def("_is_for_names", [] { return is_for_names; });
}

void dress_functions(nb::module_& m) {
  wrap_functions(m);
  add_signatures_of_classes(m);
  if (PyModule_AddFunctions(m.ptr(), getattr_of_module) != 0) {
    throw nb::python_error();
  }
}

}  // namespace dynet::python
