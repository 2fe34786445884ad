#pragma once

#include <cstddef>
#include <string_view>

namespace dynet::util {

/// The mark at the begin of some UTF-8 files, which is no part of the text.
inline constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

/// How many bytes of a file's first line are the mark.
constexpr std::size_t mark_size(std::string_view line) {
  return line.starts_with(kUtf8Mark) ? kUtf8Mark.size() : 0;
}

}  // namespace dynet::util
