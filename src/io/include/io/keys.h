#pragma once

// Names in model files, whatever their format.

#include <string>

#include "dynet/model.h"

namespace dynet::io {

/// A collection's key with a '/' at its end, or empty. ValueError for one that is not allowed.
[[nodiscard]] std::string collection_key(const char* call, const std::string& key);
/// ValueError for a parameter's key that is not allowed.
void check_parameter_key(const char* call, const std::string& key);
/// What a parameter of `model` is called in a file, under `prefix` (a collection_key).
[[nodiscard]] std::string name_in_file(const ParameterCollection& model, const std::string& name,
                                       const std::string& prefix);

}  // namespace dynet::io
