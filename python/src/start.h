#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "dynet/init.h"

namespace dynet::python {

/// Options of a list of arguments, which stays as it is. "--dynet-gpu" means "--dynet-gpus 1", and
/// is a ValueError with a value, such as "--dynet-gpu=2": it would be no option, and be ignored.
DynetParams params_from(const std::vector<std::string>& args, bool shared_parameters);

/// A text of dynet_config; `otherwise` for None, or without the key. TypeError for another kind.
std::string config_text(const nanobind::dict& conf, const char* key, const char* otherwise);

}  // namespace dynet::python
