#include "calls.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.h"
#include "errors.h"
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
  [[nodiscard]] Py_ssize_t count() const {
    return static_cast<Py_ssize_t>(positional_count(flags_and_count));
  }
};

/// How nanobind calls functions: a handful of ways, by their signatures. Written at import only.
constexpr std::size_t kMaxWays = 16;
std::array<vectorcallfunc, kMaxWays> ways{};

PyObject* ended(const Call& call, vectorcallfunc way, PyObject* result) noexcept;

template <std::size_t kWay>
PyObject* watched(PyObject* function, PyObject* const* args, std::size_t flags_and_count,
                  PyObject* names) {
  const Entered entered;
  const CallNotes notes;
  PyObject* result = ways[kWay](function, args, flags_and_count, names);
  if (result != nullptr && !may_have_notes()) [[likely]] {
    return result;
  }
  return ended({function, args, flags_and_count, names}, ways[kWay], result);
}

template <std::size_t... kWay>
constexpr std::array<vectorcallfunc, kMaxWays> make_watched(std::index_sequence<kWay...> /*all*/) {
  return {&watched<kWay>...};
}
constexpr auto kWatched = make_watched(std::make_index_sequence<kMaxWays>{});

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

/// Whether nanobind, or a binding that converts by hand, refused the arguments.
bool is_refusal(const nb::python_error& error) {
  if (error.type().is(refused_class())) {
    return true;
  }
  if (!error.type().is(PyExc_TypeError)) {
    return false;
  }
  const nb::object text = nb::steal(PyObject_Str(error.value().ptr()));
  const char* chars = text.is_valid() ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  PyErr_Clear();
  return chars != nullptr && std::string_view(chars).find("(): incompatible function arguments") !=
                                 std::string_view::npos;
}

/// Whether this is an error of Python's about wrong arguments, not raised by code of the user's.
bool is_bare(const nb::python_error& error) {
  return (error.type().is(PyExc_TypeError) || error.type().is(PyExc_ValueError)) &&
         !is_users_own(error.value().ptr());
}

nb::module_ explanations() { return nb::module_::import_("dynet._calls"); }

/// `way`: calls the function again, if that is allowed.
PyObject* explain(const Call& call, vectorcallfunc way, nb::python_error& error);

/// Makes the mended call: all arguments, and the names of the last ones.
PyObject* call_again(PyObject* function, vectorcallfunc way, const nb::object& args,
                     const nb::object& names) {
  const nb::object fast = nb::steal(PySequence_Fast(args.ptr(), ""));
  const std::size_t named = nb::len(names);
  const Call call{function, PySequence_Fast_ITEMS(fast.ptr()),
                  static_cast<std::size_t>(PySequence_Fast_GET_SIZE(fast.ptr())) - named,
                  named == 0 ? nullptr : names.ptr()};
  PyObject* result = way(function, call.args, call.flags_and_count, call.names);
  if (result != nullptr) {
    return result;
  }
  nb::python_error error;
  return explain(call, nullptr, error);
}

/// Raises the error that dynet/_calls.py makes of the call, or makes the mended call. `said`:
/// Python's own error; None if the module itself refused the call.
PyObject* explain_refusal(const Call& call, vectorcallfunc way, const nb::object& said) {
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
  const nb::object answer = explanations().attr("explain")(nb::handle(call.function), args, named,
                                                           misfit_object(misfit.it), line_here(),
                                                           way != nullptr && said.is_none(), said);
  if (nb::isinstance<nb::tuple>(answer)) {
    return call_again(call.function, way, answer[0], answer[1]);
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
PyObject* explain(const Call& call, vectorcallfunc way, nb::python_error& error) {
  if (raise_noted()) {
    return nullptr;
  }
  if (is_refusal(error)) {
    return explain_refusal(call, way, nb::none());
  }
  // Python's own words, after a binding asked a value for a missing property, such as a length.
  if (is_bare(error)) {
    return explain_refusal(call, way, nb::borrow(error.value()));
  }
  rename_operation(call.function, error.value());
  complete_error(error.value(), [&] {
    const nb::handle first = call.count() > 0 ? call.args[0] : Py_None;
    return nb::cast<std::string>(explanations().attr("name_of")(nb::handle(call.function), first));
  });
  error.restore();
  return nullptr;
}

/// The result for Python of a call that gave `result`, or failed. `way`: as above.
PyObject* ended(const Call& call, vectorcallfunc way, PyObject* result) noexcept {
  if (result == nullptr) {
    result = guarded([&] {
      nb::python_error error;  // takes the error that is set
      return explain(call, way, error);
    });
  }
  if (result != nullptr && raise_noted()) {  // one form of the function could do without
    Py_CLEAR(result);
  }
  return result;
}

// ---- finding the functions
// ------------------------------------------------------------------------------

/// The place of the vectorcall pointer in a function; null for functions that are not nanobind's.
vectorcallfunc* way_of(nb::handle object) {
  PyTypeObject* type = Py_TYPE(object.ptr());
  if (type->tp_vectorcall_offset <= 0 || !nb::hasattr(object, "__nb_signature__")) {
    return nullptr;
  }
  return reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(object.ptr()) +
                                           type->tp_vectorcall_offset);
}

/// The quick ways that are yet to be put in front.
struct QuickWayOf {
  nb::object scope;
  std::string name;
  vectorcallfunc quick;
  vectorcallfunc* usual;
};
std::vector<QuickWayOf>& quick_ways() {
  static std::vector<QuickWayOf> of_module;
  return of_module;
}

/// Quick ways in front. Written at import only.
std::vector<vectorcallfunc>& quick_ways_in_front() {
  static std::vector<vectorcallfunc> of_module;
  return of_module;
}

void put_in_front(const QuickWayOf& it) {
  nb::object function = it.scope.attr(it.name.c_str());
  if (nb::hasattr(function, "fget")) {
    function = function.attr("fget");
  }
  vectorcallfunc* way = way_of(function);
  // A C++ function under two names has one quick way, which knows one usual way.
  if (way == nullptr || (*it.usual != nullptr && *it.usual != *way)) {
    throw std::logic_error("the function " + it.name + " has no place for its quick way");
  }
  *it.usual = std::exchange(*way, it.quick);
  quick_ways_in_front().push_back(it.quick);
}

bool has_quick_way(nb::handle function) {
  const vectorcallfunc* way = way_of(function);
  const std::vector<vectorcallfunc>& all = quick_ways_in_front();
  return way != nullptr && std::find(all.begin(), all.end(), *way) != all.end();
}

void watch(nb::handle object) {
  vectorcallfunc* way = way_of(object);
  if (way == nullptr) {
    return;
  }
  for (std::size_t i = 0; i < kMaxWays; ++i) {
    if (*way == kWatched[i]) {
      return;
    }
    if (ways[i] == nullptr || ways[i] == *way) {
      ways[i] = *way;
      *way = kWatched[i];
      return;
    }
  }
}

/// Watches functions, also in properties, class methods and static methods.
void watch_member(nb::handle member) {
  watch(member);
  for (const char* name : {"fget", "fset", "__func__"}) {
    const nb::object inner = nb::getattr(member, name, nb::none());
    if (!inner.is_none()) {
      watch(inner);
    }
  }
}

}  // namespace

void watch_calls(nb::module_& m) {
  m.def("_has_quick_way", &has_quick_way, nb::arg("function"),
        "Whether calls of this function with plain arguments by position go straight to it.");
  m.def("_line_here", &line_here, "The program's line that runs now, for dynet/_calls.py.");
  for (const nb::handle object : nb::object(m.attr("__dict__").attr("values")())) {
    if (PyType_Check(object.ptr())) {
      if (nb::type_check(object)) {
        lock_destruction(reinterpret_cast<PyTypeObject*>(object.ptr()));
      }
      for (const nb::handle member : nb::object(object.attr("__dict__").attr("values")())) {
        watch_member(member);
      }
    } else {
      watch_member(object);
    }
  }
  for (const QuickWayOf& it : std::exchange(quick_ways(), {})) {
    put_in_front(it);
  }
}

void add_quick_way(nb::handle scope, const char* name, vectorcallfunc quick,
                   vectorcallfunc* usual) {
  quick_ways().push_back({nb::borrow(scope), name, quick, usual});
}

PyObject* explain_failure(PyObject* function, PyObject* const* args,
                          std::size_t flags_and_count) noexcept {
  const CallNotes notes;
  return ended({function, args, flags_and_count, nullptr}, nullptr, nullptr);
}

PyObject* explain_slot(const char* method, PyObject* self, PyObject* argument) noexcept {
  return guarded([&] {
    nb::python_error error;  // takes the error that is set
    const nb::object function =
        nb::getattr(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(self))), method);
    PyObject* args[] = {self, argument};
    return explain({function.ptr(), args, 2, nullptr}, nullptr, error);
  });
}

}  // namespace dynet::python
