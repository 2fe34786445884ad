#pragma once

// Memory that is asked for before it is used, if the processor cannot guess what comes next.

#include <cstddef>
#include <cstdint>

namespace dynet::util {

/// Asks for a row that is written soon. Of a long one only its begin: the processor sees by itself
/// that the rest follows.
inline void fetch_row(const std::byte* row, std::int64_t bytes) {
  constexpr std::int64_t kLine = 64;
  constexpr std::int64_t kMost = 1024;
  for (std::int64_t at = 0; at < bytes && at < kMost; at += kLine) {
    __builtin_prefetch(row + at, /*written, too:*/ 1);
  }
}

}  // namespace dynet::util
