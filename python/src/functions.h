#pragma once

// The looks of the module's functions and classes, beside their documentation.

#include <nanobind/nanobind.h>

namespace dynet::python {

/// Classes without a constructor say who makes their objects. `_dress_functions` is defined, which
/// the package calls before it looks at any function: from then on users see Functions
/// (function_type.h), and classes have signatures. (Before, the functions look as tools of the
/// binding library expect, such as the generator of stubs.)
void bind_functions(nanobind::module_& m);

}  // namespace dynet::python
