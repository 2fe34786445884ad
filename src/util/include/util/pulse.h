#pragma once

// A sign of life for another process. A worker (src/workers) counts what it does in memory that its
// parent sees: nodes that were made and groups that were run. A worker that takes long is so told
// from one that hangs, without a thread or a timer in the worker.

#include <atomic>
#include <cstdint>

namespace dynet::util {

/// Where this process counts; null if nobody looks. Set before the process has threads.
[[gnu::visibility("hidden")]] extern std::atomic<std::uint64_t>* pulse_word;

/// Adds to the count. With several threads one may be lost, never all.
[[gnu::visibility("hidden")]] void count_beat();

/// A load and a test if nobody looks.
inline void beat() {
  if (pulse_word != nullptr) [[unlikely]] {
    count_beat();
  }
}

}  // namespace dynet::util
