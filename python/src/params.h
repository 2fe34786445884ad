#pragma once

// Code shared by the bindings of parameters, trainers and builders.

#include <memory>
#include <string>

#include "dynet/io.h"
#include "dynet/param-init.h"

#include "binding.h"
#include "signals.h"

namespace dynet::python {

/// An initialiser.
struct PyInitializer {
  std::shared_ptr<ParameterInit> init;
  bool is_array = false;  ///< made of an array, with axes of a parameter, not a table
  std::string arguments;  ///< as `repr` shows them
};

[[nodiscard]] inline nb::object make_parameters(const Parameter& p,
                                                const ParameterCollection& owner) {
  return nb::cast(PyParameters(p, owner), nb::rv_policy::move);
}

/// Writes with a saver that is closed here, so that an error reaches the caller.
template <class Object>
void save_to(const Object& object, const std::string& fname, const std::string& key, bool append) {
  const Stoppable stoppable;
  const std::unique_ptr<Saver> saver = make_saver(fname, append);
  saver->save(object, key);
  saver->close();
}
template <class Object>
void populate_from(Object& object, const std::string& fname, const std::string& key) {
  const Stoppable stoppable;
  make_loader(fname)->populate(object, key);
}

}  // namespace dynet::python
