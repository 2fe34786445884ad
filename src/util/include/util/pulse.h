#pragma once

// A sign of life for another process. A worker (src/workers) counts added nodes and executed groups
// in memory that its parent sees. So the parent can tell a slow worker from a hanging worker,
// without a thread or a timer in the worker.

#include <atomic>
#include <cstdint>

namespace dynet::util {

/// Where this process counts; null if nobody looks. Set before the process has threads.
[[gnu::visibility("hidden")]] extern std::atomic<std::uint64_t>* pulse_word;

/// Adds to the count. With several threads some additions may be lost, never all.
[[gnu::visibility("hidden")]] void count_beat();

/// A load and a test if nobody looks.
inline void beat() {
  if (pulse_word != nullptr) [[unlikely]] {
    count_beat();
  }
}

}  // namespace dynet::util
