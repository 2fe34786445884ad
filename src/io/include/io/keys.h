#pragma once

#include <string>

namespace dynet::io {

/// A collection's key with a '/' at its end, or empty. ValueError for one that is not allowed.
[[nodiscard]] std::string collection_key(const char* call, const std::string& key);
/// ValueError for a parameter's key that is not allowed.
void check_parameter_key(const char* call, const std::string& key);

}  // namespace dynet::io
