#pragma once

// Locks and counts after a fork. The child has only the thread that forked; a lock or a count that
// another thread held at that moment would be held in the child for ever. So a holder notes its
// process, and a lock held in another process is free.

#include <atomic>
#include <cstdint>

#include "util/one_thread.h"

namespace dynet::util {

/// The number of forks between this process and the process of the first call, which has 0.
[[nodiscard]] std::uint32_t fork_count();

/// A mutex for short sections that is free in a child process although a thread of the parent held
/// it. The data of that section may be half changed: fit for data that are always usable, such as a
/// gradient. For std::lock_guard. Thread-safe.
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
