#pragma once

// Prefetching of memory that the processor cannot predict.

#include <cstddef>
#include <cstdint>

namespace dynet::util {

/// Fetches a row that is written soon. Of a long row only the begin: the processor fetches the rest
/// by itself.
inline void fetch_row(const std::byte* row, std::int64_t bytes) {
  constexpr std::int64_t kLine = 64;
  constexpr std::int64_t kMost = 1024;
  for (std::int64_t at = 0; at < bytes && at < kMost; at += kLine) {
    __builtin_prefetch(row + at, /*written, too:*/ 1);
  }
}

}  // namespace dynet::util
