#include "function_type.h"

#include <nanobind/stl/string.h>

#include <cstddef>
#include <string>

#include "errors.h"
#include "lock.h"
#include "where.h"

namespace nb = nanobind;

namespace dynet::python {
namespace {

PyTypeObject function_type{};
PyTypeObject method_type{};

Function& in(PyObject* object) { return *reinterpret_cast<Function*>(object); }
bool is_method(PyObject* object) { return Py_IS_TYPE(object, &method_type); }

// ---- attributes
// ----------------------------------------------------------------------------------

/// "RNNBuilder.initial_state" (of `_RNNBuilder`, a base that no program names), "tanh".
std::string name_of(PyObject* function) {
  const nb::handle usual = in(function).usual;
  const nb::object qualified = usual.attr("__qualname__");  // None: of no class or module
  const auto name =
      nb::cast<std::string>(qualified.is_none() ? nb::object(usual.attr("__name__")) : qualified);
  return name.starts_with("_") ? name.substr(1) : name;
}

/// Raises the AttributeError for a name that the function does not have.
void fail_attribute(PyObject* function, const char* name) {
  const std::string whole = name_of(function);
  const std::string last = whole.substr(whole.rfind('.') + 1);
  std::string text = whole + " is a " + (is_method(function) ? "method" : "function") +
                     ", which has no attribute '" + name + "'; call it: " + last + "()." + name;
  const std::string line = line_here();
  text += line.empty() ? "" : "\n  called at " + line;
  PyErr_SetString(PyExc_AttributeError, text.c_str());
}

PyObject* attribute(PyObject* function, PyObject* name) {
  PyObject* result = PyObject_GenericGetAttr(function, name);
  if (result != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
    return result;
  }
  const Entered entered;
  const char* text = PyUnicode_AsUTF8(name);
  if (text != nullptr && text[0] != '_') {
    PyErr_Clear();
    return guarded([&]() -> PyObject* {
      fail_attribute(function, text);
      return nullptr;
    });
  }
  return nullptr;
}

/// The attribute of nanobind's function whose name is `name`.
PyObject* attribute_of_usual(PyObject* function, void* name) {
  return PyObject_GetAttrString(in(function).usual, static_cast<const char*>(name));
}

PyObject* owner_of(PyObject* function, void* /*closure*/) {
  PyObject* const owner = in(function).owner;
  if (owner == nullptr) {
    PyErr_SetString(PyExc_AttributeError, "__objclass__: the function is of no class");
    return nullptr;
  }
  return Py_NewRef(owner);
}

PyObject* signature(PyObject* function, void* /*closure*/) {
  const Entered entered;
  return guarded([&] {
    return nb::module_::import_("dynet._calls")
        .attr("signature_of")(nb::handle(function))
        .release()
        .ptr();
  });
}

template <std::size_t kLength>
constexpr PyGetSetDef of_usual(const char (&name)[kLength]) {
  return {name, &attribute_of_usual, nullptr, nullptr, const_cast<char*>(name)};
}
PyGetSetDef attributes[] = {
    of_usual("__name__"),
    of_usual("__qualname__"),
    of_usual("__module__"),
    of_usual("__doc__"),
    of_usual("__nb_signature__"),
    {"__objclass__", &owner_of, nullptr, nullptr, nullptr},
    {"__signature__", &signature, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

/// For pickle and copy: the name in the module.
PyObject* reduced(PyObject* function, PyObject* /*nothing*/) {
  return PyObject_GetAttrString(in(function).usual, "__qualname__");
}
PyMethodDef methods[] = {
    {"__reduce__", &reduced, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyObject* function_text(PyObject* function) {
  return guarded([&] {
    const nb::str name(nb::handle(in(function).usual).attr("__qualname__"));
    const std::string text =
        std::string(is_method(function) ? "<method " : "<function dynet.") + name.c_str() + ">";
    return nb::str(text.c_str()).release().ptr();
  });
}

PyObject* bound_to(PyObject* method, PyObject* object, PyObject* /*type*/) {
  return object == nullptr ? Py_NewRef(method) : PyMethod_New(method, object);
}

// ---- lifetime
// ------------------------------------------------------------------------------------

int visit_function(PyObject* function, visitproc visit, void* arg) {
  Py_VISIT(in(function).usual);
  Py_VISIT(in(function).owner);
  return 0;
}
int clear_function(PyObject* function) {
  Py_CLEAR(in(function).usual);
  Py_CLEAR(in(function).owner);
  return 0;
}
void destroy_function(PyObject* function) {
  PyObject_GC_UnTrack(function);
  clear_function(function);
  PyObject_GC_Del(function);
}

// ---- the types
// -----------------------------------------------------------------------------------

/// Errors of Python's have the names: 'method' object is not subscriptable.
void make_type(PyTypeObject& type, const char* name, unsigned long more_flags, descrgetfunc get) {
  type.ob_base = PyVarObject{PyObject_HEAD_INIT(nullptr) 0};
  type.tp_name = name;
  type.tp_basicsize = sizeof(Function);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | more_flags;
  type.tp_vectorcall_offset = offsetof(Function, call);
  type.tp_call = &PyVectorcall_Call;
  type.tp_getattro = &attribute;
  type.tp_getset = attributes;
  type.tp_methods = methods;
  type.tp_repr = &function_text;
  type.tp_descr_get = get;
  type.tp_traverse = &visit_function;
  type.tp_clear = &clear_function;
  type.tp_dealloc = &destroy_function;
  if (PyType_Ready(&type) != 0) {
    throw nb::python_error();
  }
}

}  // namespace

Function* function_in(nb::handle object) noexcept {
  const bool is_one = Py_IS_TYPE(object.ptr(), &function_type) || is_method(object.ptr());
  return is_one ? &in(object.ptr()) : nullptr;
}

bool is_bare_function(nb::handle object) {
  return PyVectorcall_Function(object.ptr()) != nullptr && function_in(object) == nullptr &&
         !PyMethod_Check(object.ptr()) && nb::hasattr(object, "__nb_signature__");
}

nb::object function_around(nb::handle bare, nb::handle owner, vectorcallfunc call) {
  if (function_type.tp_name == nullptr) {
    make_type(function_type, "function", 0, nullptr);
    make_type(method_type, "method", Py_TPFLAGS_METHOD_DESCRIPTOR, &bound_to);
  }
  PyTypeObject* const type =
      Py_TYPE(bare.ptr())->tp_descr_get != nullptr ? &method_type : &function_type;
  auto* const made = PyObject_GC_New(Function, type);
  if (made == nullptr) {
    throw nb::python_error();
  }
  made->call = call;
  made->usual = Py_NewRef(bare.ptr());
  made->owner = Py_XNewRef(owner.ptr());
  made->usual_call = PyVectorcall_Function(bare.ptr());
  PyObject_GC_Track(made);
  return nb::steal(&made->object);
}

}  // namespace dynet::python
