#pragma once

#include <string>
#include <vector>

#include "dynet/init.h"

namespace dynet::python {

/// Options of a list of arguments, which stays as it is. "--dynet-gpu" means "--dynet-gpus 1".
DynetParams params_from(const std::vector<std::string>& args, bool shared_parameters);

}  // namespace dynet::python
