#include "functions.h"

#include <nanobind/stl/string.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "binding.h"
#include "errors.h"
#include "lock.h"
#include "where.h"

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

// ---- functions
// ---------------------------------------------------------------------------------------

/// The binding library's types of functions, of methods and of methods with their object.
constexpr std::size_t kKinds = 3;
enum Kind : std::size_t { kFunction, kMethod, kBound };
std::array<getattrofunc, kKinds> usual_attribute{};

/// "GRUBuilder.initial_state", "tanh".
std::string name_of(nb::handle function) {
  const nb::object qualified = function.attr("__qualname__");  // None: of no class or module
  auto name = nb::cast<std::string>(qualified.is_none() ? nb::object(function.attr("__name__"))
                                                        : qualified);
  const nb::object self = nb::getattr(function, "__self__", nb::none());
  const std::size_t dot = name.rfind('.');
  if (!self.is_none() && dot != std::string::npos && PyType_Check(self.ptr()) == 0) {
    name = class_name(self) + name.substr(dot);
  }
  return name;
}

/// Raises the AttributeError for a name that the function does not have.
void fail_attribute(Kind kind, nb::handle function, const char* name) {
  const std::string whole = name_of(function);
  const std::string last = whole.substr(whole.rfind('.') + 1);
  std::string text = whole + " is a " + (kind == kFunction ? "function" : "method") +
                     ", which has no attribute '" + name + "'; call it: " + last + "()." + name;
  const std::string line = line_here();
  text += line.empty() ? "" : "\n  called at " + line;
  PyErr_SetString(PyExc_AttributeError, text.c_str());
}

template <Kind kKind>
PyObject* attribute(PyObject* function, PyObject* name) {
  PyObject* result = usual_attribute[kKind](function, name);
  if (result != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
    return result;
  }
  const Entered entered;
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) {
    return nullptr;
  }
  if (std::string_view(text) == "__signature__") {
    PyErr_Clear();
    return guarded([&] {
      return nb::module_::import_("dynet._calls")
          .attr("signature_of")(nb::handle(function), kKind == kBound)
          .release()
          .ptr();
    });
  }
  if (text[0] != '_') {
    PyErr_Clear();
    return guarded([&]() -> PyObject* {
      fail_attribute(kKind, function, text);
      return nullptr;
    });
  }
  return nullptr;
}

template <Kind kKind>
PyObject* function_text(PyObject* function) {
  return guarded([&] {
    const std::string text = std::string(kKind == kFunction ? "<function " : "<method ") +
                             (kKind == kFunction ? "dynet." : "") + name_of(function) + ">";
    return nb::str(text.c_str()).release().ptr();
  });
}

template <Kind kKind>
void dress(PyTypeObject* type, const char* name) {
  usual_attribute[kKind] = std::exchange(type->tp_getattro, &attribute<kKind>);
  type->tp_repr = &function_text<kKind>;
  // Errors of Python's name the type: 'method' object is not subscriptable.
  type->tp_name = name;
  auto* heap = reinterpret_cast<PyHeapTypeObject*>(type);
  PyObject* text = PyUnicode_InternFromString(name);
  if (text == nullptr) {
    throw nb::python_error();
  }
  Py_XSETREF(heap->ht_name, Py_NewRef(text));
  Py_XSETREF(heap->ht_qualname, text);
  PyType_Modified(type);
}

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

void dress_functions(const nb::module_& m) {
  if (usual_attribute[kFunction] != nullptr) {
    return;
  }
  const nb::object function = m.attr("renew_cg");
  const nb::object method = m.attr("ParameterCollection").attr("__dict__")["name"];
  const nb::object bound = m.attr("ParameterCollection")().attr("name");
  // A method of an object is that object's, by its name.
  const nb::object reduce = nb::cpp_function(
      [](nb::handle self) {
        const nb::object get = nb::module_::import_("builtins").attr("getattr");
        return nb::make_tuple(get, nb::make_tuple(self.attr("__self__"), self.attr("__name__")));
      },
      nb::is_method(), nb::name("__reduce__"));
  if (PyDict_SetItemString(Py_TYPE(bound.ptr())->tp_dict, "__reduce__", reduce.ptr()) != 0) {
    throw nb::python_error();
  }
  add_signatures_of_classes(m);
  dress<kFunction>(Py_TYPE(function.ptr()), "function");
  dress<kMethod>(Py_TYPE(method.ptr()), "method");
  dress<kBound>(Py_TYPE(bound.ptr()), "method");
}

}  // namespace

void bind_functions(nb::module_& m) {
  for (const MadeBy& it : kMadeBy) {
    refuse_to_make(m, it);
  }
  m.def("_dress_functions", [m] { dress_functions(m); });
}

}  // namespace dynet::python
