#pragma once

// A sign of life for another process. A worker (src/workers) counts what it does in memory that its
// parent sees: nodes that were made and groups that were run. A worker that takes long is so told
// from one that hangs, without a thread or a timer in the worker.

#include <atomic>
#include <cstdint>

namespace dynet::util {

/// Where this process counts; null, where nobody looks. Set before the process has threads.
[[gnu::visibility("hidden")]] extern std::atomic<std::uint64_t>* pulse_word;

/// Two instructions where nobody looks. With several threads a count may be lost, never all.
inline void beat() {
  if (pulse_word != nullptr) {
    pulse_word->store(pulse_word->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
}

}  // namespace dynet::util
