#pragma once

// What dynet/_pickling.py needs of the library, and `__reduce__`, which calls it.

#include <nanobind/nanobind.h>

namespace dynet::python {

void bind_pickling(nanobind::module_& m);

}  // namespace dynet::python
