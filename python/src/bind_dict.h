#pragma once

// Vocabularies, which bind_text.cc binds with the readers.

#include <nanobind/nanobind.h>

namespace dynet::python {

void bind_dict(nanobind::module_& m);

}  // namespace dynet::python
