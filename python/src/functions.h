#pragma once

// The looks of the module's functions and classes, beside their documentation.

#include <nanobind/nanobind.h>

namespace dynet::python {

/// Classes without a constructor say who makes their objects. `_dress_functions` is defined, which
/// the package calls: from then on functions have a `repr` and a signature in Python's words,
/// errors about a missing attribute name the call that may be meant, and bound methods can be
/// pickled. (Before, the functions look as tools of the binding library expect, such as the
/// generator of stubs.)
void bind_functions(nanobind::module_& m);

}  // namespace dynet::python
