#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace dynet {

[[nodiscard]] inline bool startswith(const std::string& str, const std::string& key) {
  return str.compare(0, key.size(), key) == 0;
}
[[nodiscard]] inline bool endswith(const std::string& str, const std::string& key) {
  return str.size() >= key.size() && str.compare(str.size() - key.size(), key.size(), key) == 0;
}
/// The pieces between `sep`; empty ones are dropped.
[[nodiscard]] inline std::vector<std::string> str_split(const std::string& str, const char sep) {
  std::vector<std::string> pieces;
  std::size_t begin = 0;
  while (begin < str.size()) {
    const std::size_t end = std::min(str.find(sep, begin), str.size());
    if (end > begin) {
      pieces.push_back(str.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return pieces;
}

}  // namespace dynet
