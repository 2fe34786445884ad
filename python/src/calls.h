#pragma once

// Errors for wrong calls.
//
// nanobind refuses a call whose arguments do not fit with a list of C++ signatures. Users read our
// text instead: the function, the argument, its value, the wanted kind, and their own line. So all
// functions of the module are watched: if one fails, this code sees the error before the user does.
// A call that succeeds costs a few comparisons. Example: for a table E, `E[2.5]` is the TypeError
// "LookupParameters[index]: index is 2.5, which is not whole".
//
// - A refusal of nanobind is explained by dynet/_calls.py from the function's signature and from
//   the misfit that the casters noted (arguments.h). dynet/_calls.py may also mend the call, which
//   then is made again: None for a text that has a default, any object for a flag, bytes for a
//   text.
// - An exception that the user's own code raised while arguments were read (notes.h) comes through
//   unchanged.
// - Our own errors get the function's name and the user's line if they lack them.
//
// Facts used about nanobind: functions have `__nb_signature__` and are called through
// tp_vectorcall_offset, and the begin of its refusal.

#include <nanobind/nanobind.h>

#include <cstddef>

namespace dynet::python {

/// Watches all functions of the module and of its classes, and defines `_has_quick_way` there, for
/// tests. To be called when all are defined. std::logic_error if a function has no place for its
/// quick way.
void watch_calls(nanobind::module_& m);

/// From watch_calls on, Python calls the function `name` of `scope`, or the getter of that
/// property, by `quick`. watch_calls sets `*usual` to the function's own way: a quick way (quick.h)
/// passes on the calls that it does not make. (The function is looked up only then: an overload
/// that is added later makes the function a new object.)
void add_quick_way(nanobind::handle scope, const char* name, vectorcallfunc quick,
                   vectorcallfunc* usual);

/// How many arguments a call gives by position. Python's flag is the top bit, nanobind has one
/// below it.
constexpr std::size_t positional_count(std::size_t flags_and_count) {
  return flags_and_count & 0xffffffU;
}

/// For a quick way that read the arguments, all by position, and whose function failed: replaces
/// the error that is set by the error for the user. Returns null.
PyObject* explain_failure(PyObject* function, PyObject* const* args,
                          std::size_t flags_and_count) noexcept;

/// For a slot that Python calls directly and that has CallNotes: as if `method` of the type had
/// been called with these arguments and had failed with the error that is set.
PyObject* explain_slot(const char* method, PyObject* self, PyObject* argument) noexcept;

}  // namespace dynet::python
