#pragma once

// What functions and classes of the module look like, beside their documentation.

#include <nanobind/nanobind.h>

namespace dynet::python {

/// Classes without a constructor say who makes their objects. `_dress_functions` is defined, which
/// the package calls: from then on functions have a `repr` and a signature in Python's words, an
/// attribute that they do not have is told with the call that may be meant, and bound methods can
/// be pickled. (Before, they are what the binding library's own tools know, such as the generator
/// of stubs.)
void bind_functions(nanobind::module_& m);

}  // namespace dynet::python
