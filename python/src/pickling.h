#pragma once

// The functions of the library for dynet/_pickling.py, and `__reduce__`, which calls it.

#include <nanobind/nanobind.h>

namespace dynet::python {

void bind_pickling(nanobind::module_& m);

}  // namespace dynet::python
