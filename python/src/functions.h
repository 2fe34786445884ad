#pragma once

// The looks of the module's functions and classes, beside their documentation.

#include <nanobind/nanobind.h>

namespace dynet::python {

/// Classes without a constructor say who makes their objects. `_is_for_names()` tells the package
/// whether a program that has imported `_dynet` alone, and starts the library itself, asks it for a
/// name.
void bind_functions(nanobind::module_& m);

/// From now on users see Functions (function_type.h), classes have signatures, and the module has
/// the names of the package too, as in DyNet 2.1.
void dress_functions(nanobind::module_& m);

}  // namespace dynet::python
