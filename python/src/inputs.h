#pragma once

// Inputs of several arrays, for builders.

#include <nanobind/nanobind.h>

#include <vector>

#include "dynet/expression.h"

namespace dynet::python {

/// An `inputTensor` of each entry of a list; unlike there, an entry may be any iterable that has an
/// order.
[[nodiscard]] std::vector<Expression> inputs_of(nanobind::handle arrays);

}  // namespace dynet::python
