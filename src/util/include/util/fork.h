#pragma once

// What a fork leaves behind. The child has one thread, the one that forked; what other threads held
// at that moment (a lock, a share in a count) would be held in the child for ever. So whoever holds
// something notes in which process it does, and what was held in another process is free.

#include <atomic>
#include <cstdint>

#include "util/one_thread.h"

namespace dynet::util {

/// How many forks lie between this process and the one that first asked; 0 there.
[[nodiscard]] std::uint32_t fork_count();

/// A mutex for short sections, that is free in a child process although a thread that stayed behind
/// held it. What that thread was changing is then half changed: fit for what is always usable, such
/// as a gradient. For std::lock_guard. Thread-safe.
class ForkMutex {
 public:
  void lock() {
    const std::uint32_t mine = fork_count() + 1;
    std::uint32_t held = 0;
    if (has_one_thread()) {  // a locked instruction would wait for all stores before it
      word_.store(mine, std::memory_order_relaxed);
      return;
    }
    while (!word_.compare_exchange_weak(held, mine, std::memory_order_acquire)) {
      if (held == mine) {
        word_.wait(held);
        held = 0;
      }  // else free, or held in another process: tried again as it is
    }
  }
  void unlock() {
    word_.store(0, std::memory_order_release);
    if (!has_one_thread()) {
      word_.notify_one();
    }
  }

 private:
  std::atomic<std::uint32_t> word_{
      0};  ///< 0: free; else fork_count() + 1 of the process that holds
};

}  // namespace dynet::util
