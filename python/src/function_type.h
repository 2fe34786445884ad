#pragma once

// The type of the module's functions, and of the methods of its classes.
//
// nanobind reads the arguments of a call, runs the function and converts the result. Users see a
// Function of ours around each function of nanobind: the Function is called in its place, so that
// calls.h can explain a failed call and quick.h can make a plain call itself, and it has a `repr`,
// a signature and errors in Python's words. Example: `dy.tanh` is a Function, and its `usual` is
// the object that m.def("tanh", ...) made.
//
// Python's own bound methods hold the Function of a method. Objects are made at import only, by
// wrap_functions (calls.h), and never change later. GIL held.

#include <nanobind/nanobind.h>

#include <string>

namespace dynet::python {

struct Function {
  PyObject object;
  vectorcallfunc call;        ///< of this object: call_as_usual, or a quick way in front of it
  PyObject* usual;            ///< nanobind's function, owned
  PyObject* owner;            ///< the class of a method or property, owned; null: there is none
  vectorcallfunc usual_call;  ///< of `usual`
};

/// The Function of an object; null for other objects.
Function* function_in(nanobind::handle object) noexcept;
/// Whether nanobind made the object, as a function or method without a Function around it.
bool is_bare_function(nanobind::handle object);
/// A Function around a bare function of the class `owner`, or of none, with `call`.
nanobind::object function_around(nanobind::handle bare, nanobind::handle owner,
                                 vectorcallfunc call);

}  // namespace dynet::python
