#pragma once

// What the bindings of parameters, trainers and builders share.

#include <memory>
#include <string>

#include "dynet/param-init.h"

#include "binding.h"

namespace dynet::python {

/// An initialiser.
struct PyInitializer {
  std::shared_ptr<ParameterInit> init;
  bool is_array = false;  ///< made of an array, whose axes are those of a parameter, not a table
  std::string arguments;  ///< as `repr` shows them
};

[[nodiscard]] inline nb::object make_parameters(const Parameter& p,
                                                const ParameterCollection& owner) {
  return nb::cast(PyParameters(p, owner), nb::rv_policy::move);
}

}  // namespace dynet::python
