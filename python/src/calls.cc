#include "calls.h"

#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arguments.h"
#include "errors.h"
#include "function_type.h"
#include "lock.h"
#include "where.h"

namespace nb = nanobind;

namespace dynet::python {
namespace {

/// A call as Python makes it: `names` belong to the last arguments.
struct Call {
  PyObject* function;
  PyObject* const* args;
  std::size_t flags_and_count;
  PyObject* names;
  [[nodiscard]] Py_ssize_t count() const { return PyVectorcall_NARGS(flags_and_count); }
};

// ---- the misfit and the user's line, for Python
// ---------------------------------------------------------------------------------

nb::object misfit_object(const Misfit& misfit) {
  if (misfit.value == nullptr) {
    return nb::none();
  }
  nb::list place;
  for (std::size_t i = 0; i < misfit.depth; ++i) {
    place.append(misfit.place[i]);
  }
  nb::object range = nb::none();
  if (misfit.is_number) {
    range = nb::make_tuple(misfit.low, misfit.high);
  }
  PyObject* const list = list_of_iterator(misfit.value);
  const nb::handle entries = list != nullptr ? list : misfit.value;
  return nb::make_tuple(nb::handle(misfit.value), entries, place, misfit.want, range,
                        misfit.is_index);
}

/// Releases the objects of a misfit.
struct Taken {
  Misfit it = take_misfit();
  Taken() = default;
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  ~Taken() { Py_XDECREF(it.value); }
};

// ---- the errors
// -----------------------------------------------------------------------------------------

/// Whether this is an error of nanobind's or Python's about wrong arguments, not raised by code of
/// the user's.
bool is_bare(const nb::python_error& error) {
  return (error.type().is(PyExc_TypeError) || error.type().is(PyExc_ValueError)) &&
         !is_users_own(error.value().ptr());
}

nb::module_ explanations() { return nb::module_::import_("dynet._calls"); }

/// `may_mend`: whether the function may be called again.
PyObject* explain(const Call& call, bool may_mend, nb::python_error& error);

/// Makes the mended call: all arguments, and the names of the last ones.
PyObject* call_again(PyObject* function, const nb::object& args, const nb::object& names) {
  const nb::object fast = nb::steal(PySequence_Fast(args.ptr(), ""));
  const std::size_t named = nb::len(names);
  const Call call{function, PySequence_Fast_ITEMS(fast.ptr()),
                  static_cast<std::size_t>(PySequence_Fast_GET_SIZE(fast.ptr())) - named,
                  named == 0 ? nullptr : names.ptr()};
  const Function& to = *function_in(function);
  PyObject* result = to.usual_call(to.usual, call.args, call.flags_and_count, call.names);
  if (result != nullptr) {
    return result;
  }
  nb::python_error error;
  return explain(call, false, error);
}

/// Raises the error that dynet/_calls.py makes of the call, or makes the mended call. `said`:
/// nanobind's error or Python's own; None if a binding refused the call.
PyObject* explain_refusal(const Call& call, bool may_mend, const nb::object& said) {
  const Taken misfit;
  nb::list args;
  for (Py_ssize_t i = 0; i < call.count(); ++i) {
    args.append(nb::handle(call.args[i]));
  }
  nb::dict named;
  const Py_ssize_t names = call.names == nullptr ? 0 : PyTuple_GET_SIZE(call.names);
  for (Py_ssize_t i = 0; i < names; ++i) {
    named[nb::handle(PyTuple_GET_ITEM(call.names, i))] = nb::handle(call.args[call.count() + i]);
  }
  const nb::object answer =
      explanations().attr("explain")(nb::handle(call.function), args, named,
                                     misfit_object(misfit.it), line_here(), may_mend, said);
  if (nb::isinstance<nb::tuple>(answer)) {
    return call_again(call.function, answer[0], answer[1]);
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(answer.ptr())), answer.ptr());
  return nullptr;
}

/// In an error that a node's operation raised: the names that the function has in Python.
void rename_operation(PyObject* function, nb::handle error) {
  if (!is_error_of_library(error)) {
    return;
  }
  const nb::object args = explanations().attr("renamed")(nb::handle(function), error.attr("args"));
  error.attr("args") = args;
}

/// Raises the error for the user in place of `error`.
PyObject* explain(const Call& call, bool may_mend, nb::python_error& error) {
  if (raise_noted()) {
    return nullptr;
  }
  if (error.type().is(refused_class())) {
    return explain_refusal(call, may_mend, nb::none());
  }
  if (is_bare(error)) {
    // nanobind's refusals are TypeErrors. A function that raised a ValueError has run.
    return explain_refusal(call, may_mend && error.type().is(PyExc_TypeError),
                           nb::borrow(error.value()));
  }
  rename_operation(call.function, error.value());
  complete_error(error.value(), [&] {
    const nb::handle first = call.count() > 0 ? call.args[0] : Py_None;
    return nb::cast<std::string>(explanations().attr("name_of")(nb::handle(call.function), first));
  });
  error.restore();
  return nullptr;
}

/// The result for Python of a call that gave `result`, or failed. `may_mend`: as above.
PyObject* ended(const Call& call, bool may_mend, PyObject* result) noexcept {
  if (result == nullptr) {
    result = guarded([&] {
      nb::python_error error;  // takes the error that is set
      return explain(call, may_mend, error);
    });
  }
  if (result != nullptr && raise_noted()) {  // one form of the function could do without
    Py_CLEAR(result);
  }
  return result;
}

// ---- a Function around each function
// ------------------------------------------------------------------------------

/// The quick ways that are yet to be put in front.
struct QuickWayOf {
  nb::object scope;
  std::string name;
  vectorcallfunc quick;
  vectorcallfunc* next;
};
std::vector<QuickWayOf>& quick_ways() {
  static std::vector<QuickWayOf> of_module;
  return of_module;
}

void put_in_front(const QuickWayOf& it) {
  nb::object object = it.scope.attr(it.name.c_str());
  if (nb::hasattr(object, "fget")) {
    object = object.attr("fget");
  }
  Function* const function = function_in(object);
  // A C++ function under two names has one quick way, which knows one next way.
  if (function == nullptr || (*it.next != nullptr && *it.next != function->call)) {
    throw std::logic_error("the function " + it.name + " has no place for its quick way");
  }
  *it.next = std::exchange(function->call, it.quick);
}

bool has_quick_way(nb::handle function) {
  const Function* const it = function_in(function);
  return it != nullptr && it->call != &call_as_usual;
}

/// Makes the Functions. A function under two names is one Function.
class Wrapper {
 public:
  /// The member of a class, or of the module, with Functions in the place of nanobind's functions.
  nb::object wrapped(nb::handle member, nb::handle owner = {}) {
    if (is_bare_function(member)) {
      nb::object& function = made_[member.ptr()];
      if (!function.is_valid()) {
        function = function_around(member, owner, &call_as_usual);
      }
      return function;
    }
    const nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(member.ptr())));
    if (PyObject_TypeCheck(member.ptr(), &PyProperty_Type) != 0) {
      return type(wrapped(member.attr("fget"), owner), wrapped(member.attr("fset"), owner),
                  member.attr("fdel"), member.attr("__doc__"));
    }
    if (type.is(&PyClassMethod_Type) || type.is(&PyStaticMethod_Type)) {
      return type(wrapped(member.attr("__func__"), owner));
    }
    return nb::borrow(member);
  }

  void wrap_class(PyTypeObject* type) {
    // Without a call of its own, a class makes its objects as Python's classes do: by `__new__` and
    // `__init__`, which are Functions.
    type->tp_vectorcall = nullptr;
    lock_destruction(type);
    // Into the dictionary itself: setting an attribute of a class would replace its slots, of which
    // some are ours (operators.h, expression_objects.cc).
    const nb::handle dict = type->tp_dict;
    for (const nb::handle name : nb::list(dict)) {
      const nb::object member = dict[name];
      const nb::object now = wrapped(member, reinterpret_cast<PyObject*>(type));
      if (!now.is(member)) {
        dict[name] = now;
      }
    }
    PyType_Modified(type);
  }

 private:
  std::unordered_map<PyObject*, nb::object> made_;
};

}  // namespace

PyObject* call_as_usual(PyObject* function, PyObject* const* args, std::size_t flags_and_count,
                        PyObject* names) {
  const Entered entered;
  const CallNotes notes;
  const Function& to = *reinterpret_cast<Function*>(function);
  PyObject* result = to.usual_call(to.usual, args, flags_and_count, names);
  if (result != nullptr && !may_have_notes()) [[likely]] {
    return result;
  }
  return ended({function, args, flags_and_count, names}, true, result);
}

void bind_calls(nb::module_& m) {
  m.def("_has_quick_way", &has_quick_way, nb::arg("function"),
        "Whether calls of this function with plain arguments by position go straight to it.");
  m.def("_line_here", &line_here, "The program's line that runs now, for dynet/_calls.py.");
}

void wrap_functions(const nb::module_& m) {
  Wrapper wrapper;
  const nb::object dict = m.attr("__dict__");
  for (const nb::handle name : nb::list(dict)) {
    const nb::object object = dict[name];
    if (nb::isinstance<nb::type_object>(object) && nb::type_check(object)) {
      wrapper.wrap_class(reinterpret_cast<PyTypeObject*>(object.ptr()));
    } else {
      dict[name] = wrapper.wrapped(object);
    }
  }
  for (const QuickWayOf& it : std::exchange(quick_ways(), {})) {
    put_in_front(it);
  }
}

void add_quick_way(nb::handle scope, const char* name, vectorcallfunc quick, vectorcallfunc* next) {
  quick_ways().push_back({nb::borrow(scope), name, quick, next});
}

PyObject* explain_failure(PyObject* function, PyObject* const* args,
                          std::size_t flags_and_count) noexcept {
  const CallNotes notes;
  return ended({function, args, flags_and_count, nullptr}, false, nullptr);
}

PyObject* explain_slot(const char* method, PyObject* self, PyObject* argument) noexcept {
  return guarded([&] {
    nb::python_error error;  // takes the error that is set
    const nb::object function =
        nb::getattr(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(self))), method);
    PyObject* args[] = {self, argument};
    return explain({function.ptr(), args, 2, nullptr}, false, error);
  });
}

}  // namespace dynet::python
