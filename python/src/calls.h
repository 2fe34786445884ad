#pragma once

// Errors for wrong calls.
//
// nanobind refuses a call whose arguments do not fit with a list of C++ signatures. Users read our
// text instead: the function, the argument, its value, the wanted kind, and their own line. So
// users call Functions of ours (function_type.h), which call nanobind's: if a call fails, this code
// sees the error before the user does. A call that succeeds costs a few comparisons. Example: for a
// table E, `E[2.5]` is the TypeError "LookupParameters[index]: index is 2.5, which is not whole".
//
// - A TypeError or ValueError that is none of ours (nanobind's, or Python's about a value that a
//   binding looked at) is explained by dynet/_calls.py from the function's signature and from the
//   misfit that the casters noted (arguments.h). dynet/_calls.py may also mend the call, which then
//   is made again: None for a text that has a default, any object for a flag, bytes for a text.
// - An exception that the user's own code raised while arguments were read (notes.h) comes through
//   unchanged.
// - Our own errors get the function's name and the user's line if they lack them.
//
// The one fact used about nanobind: its functions have `__nb_signature__`.

#include <nanobind/nanobind.h>

#include <cstddef>

namespace dynet::python {

/// Defines `_has_quick_way`, for tests, and `_line_here`.
void bind_calls(nanobind::module_& m);

/// Puts a Function around each function of the module, of its classes and of their properties. To
/// be called when all are defined, and before anyone looks at them. std::logic_error if a quick way
/// is for a function that is not there.
void wrap_functions(const nanobind::module_& m);

/// The `call` of a Function without a quick way: nanobind's function, and the errors of this file.
PyObject* call_as_usual(PyObject* function, PyObject* const* args, std::size_t flags_and_count,
                        PyObject* names);

/// From wrap_functions on, Python calls the function `name` of `scope`, or the getter of that
/// property, by `quick`, which passes on the calls that it does not make to `*next`.
/// (wrap_functions sets `*next`. The function is looked up only then: an overload that is added
/// later makes the function a new object.)
void add_quick_way(nanobind::handle scope, const char* name, vectorcallfunc quick,
                   vectorcallfunc* next);

/// For a quick way that read the arguments, all by position, and whose function failed: replaces
/// the error that is set by the error for the user. Returns null.
PyObject* explain_failure(PyObject* function, PyObject* const* args,
                          std::size_t flags_and_count) noexcept;

/// For a slot that Python calls directly and that has CallNotes: as if `method` of the type had
/// been called with these arguments and had failed with the error that is set.
PyObject* explain_slot(const char* method, PyObject* self, PyObject* argument) noexcept;

}  // namespace dynet::python
