#pragma once

// What the bindings of parameters, trainers and builders share.

#include <memory>

#include "dynet/param-init.h"

#include "binding.h"

namespace dynet::python {

/// An initialiser. One made of an array knows its shape too.
struct PyInitializer {
  std::shared_ptr<ParameterInit> init;
  std::optional<Dim> shape = std::nullopt;
};

[[nodiscard]] inline nb::object make_parameters(const Parameter& p,
                                                const ParameterCollection& owner) {
  return nb::cast(PyParameters(p, owner), nb::rv_policy::move);
}

}  // namespace dynet::python
