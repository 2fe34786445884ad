#include "io/keys.h"

#include "dynet/except.h"
#include "dynet/str-util.h"

namespace dynet::io {

std::string collection_key(const char* call, const std::string& key) {
  if (key.empty()) {
    return key;
  }
  if (key[0] != '/' || key == "/" || key.find_first_of(" \t\r\n#") != std::string::npos) {
    throw ValueError(std::string(call) + ": the key '" + key +
                     "'; want one that starts with '/', is longer, and has no space or '#'");
  }
  return key.back() == '/' ? key : key + '/';
}

void check_parameter_key(const char* call, const std::string& key) {
  if (key == "/" || key.find_first_of(" \t\r\n#") != std::string::npos) {
    throw ValueError(std::string(call) + ": the key '" + key +
                     "'; want one without space or '#' and not '/'");
  }
}

std::string name_in_file(const ParameterCollection& model, const std::string& name,
                         const std::string& prefix) {
  if (prefix.empty()) {
    return name;
  }
  const std::string full = model.get_fullname();
  if (startswith(name, full)) {
    return prefix + name.substr(full.size());
  }
  return prefix + (startswith(name, "/") ? name.substr(1) : name);  // one that load_param renamed
}

}  // namespace dynet::io
