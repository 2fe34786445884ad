#pragma once

#include <cstddef>
#include <string_view>

namespace dynet::util {

/// What files of UTF-8 may begin with. It is no part of their text.
inline constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

/// How many bytes of a file's first line are the mark.
constexpr std::size_t mark_size(std::string_view line) {
  return line.starts_with(kUtf8Mark) ? kUtf8Mark.size() : 0;
}

}  // namespace dynet::util
