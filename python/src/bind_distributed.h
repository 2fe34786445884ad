#pragma once

#include "binding.h"

namespace dynet::python {

void bind_distributed(nb::module_& m);

}  // namespace dynet::python
