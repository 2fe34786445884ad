#pragma once

// What a wrong call is told.
//
// nanobind refuses a call whose arguments do not fit with a list of C++ signatures. Users read our
// text instead: the function, the argument, its value, what was wanted, and their own line. So all
// functions of the module are watched: where one fails, the error is looked at before the user sees
// it. A call that succeeds costs a few comparisons.
//
// - What nanobind refused is explained by dynet/_calls.py from the function's signature and from
// the
//   misfit that the casters noted (arguments.h). It may also mend the call, which then is made
//   again: None where a text has a default, any object where a flag is wanted, bytes where text
//   is.
// - An exception that the user's own code raised while arguments were read (notes.h) comes through
//   unchanged.
// - Our own errors get the function's name and the user's line where they lack them.
//
// Known of nanobind: that functions have `__nb_signature__` and are called through
// tp_vectorcall_offset, and how its refusal begins.

#include <nanobind/nanobind.h>

#include <cstddef>

namespace dynet::python {

/// Watches all functions of the module and of its classes, and defines `_has_quick_way` there, for
/// tests. To be called when all are defined. std::logic_error where a function has no place for its
/// quick way.
void watch_calls(nanobind::module_& m);

/// From watch_calls on, Python calls the function `name` of `scope`, or what reads the property of
/// that name, by `quick`. watch_calls sets `*usual` to what would have been called: a quick way
/// (quick.h) gives it the calls that it does not make. (The function is looked up only then: an
/// overload that is added later makes it a new object.)
void add_quick_way(nanobind::handle scope, const char* name, vectorcallfunc quick,
                   vectorcallfunc* usual);

/// How many arguments a call gives by position. Python's flag is the top bit, nanobind has one
/// below it.
constexpr std::size_t positional_count(std::size_t flags_and_count) {
  return flags_and_count & 0xffffffU;
}

/// For a quick way that read the arguments, all by position, and whose function failed: sets what
/// the user is to see of the error that is set. Returns null.
PyObject* explain_failure(PyObject* function, PyObject* const* args,
                          std::size_t flags_and_count) noexcept;

/// For a slot that Python calls directly and that has CallNotes: as if `method` of the type had
/// been called with these arguments and had failed with the error that is set.
PyObject* explain_slot(const char* method, PyObject* self, PyObject* argument) noexcept;

}  // namespace dynet::python
