#include "util/number_text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace dynet::util {

std::string text_of(double v) {
  std::array<char, 32> text{};
  char* end = text.data() + text.size();
  const bool is_whole = std::nearbyint(v) == v && std::fabs(v) < 1e15;
  const auto as_float = static_cast<float>(v);
  if (is_whole) {
    end = std::to_chars(text.data(), end, static_cast<long long>(v)).ptr;
  } else if (static_cast<double>(as_float) == v) {
    end = std::to_chars(text.data(), end, as_float).ptr;
  } else {
    end = std::to_chars(text.data(), end, v).ptr;
  }
  return {text.data(), end};
}

}  // namespace dynet::util
