#pragma once

// Runs a kernel: its blocks one after the other, the threads of a block as fibers.
//
// A thread runs until it comes to a barrier or to an exchange of lanes; then another goes on, in
// whatever order. A fiber whose thread has returned takes the next thread, so that a kernel without
// barriers costs a call for each thread.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "cuda_runtime.h"
#include "fibers.h"
#include "order.h"
#include "races.h"
#include "region.h"

namespace cuda_on_host {

inline constexpr unsigned kMostThreads = 1024;
inline constexpr std::size_t kMostShared = 227 << 10;

/// A launch that waits in a stream, with its own copy of the arguments.
struct Launch {
  cudaLaunchConfig_t config;
  Kernel kernel;
  std::vector<std::max_align_t> arguments;
};

struct Fiber {
  void* stack_pointer = nullptr;
  std::byte* base = nullptr;
  unsigned thread = 0;
  const char* waits = nullptr;  ///< the call that it waits in
};

class Runner {
 public:
  Runner(Region& memory, Region& managed);
  void run(const Launch& launch);

  // For the running thread. Outside of a kernel: null, and no effect.
  const Fiber* running() const { return current_; }
  const char* name() const { return launch_->kernel.name; }
  unsigned lane() const { return current_->thread % kWarp; }
  void barrier();
  std::uint64_t exchange(unsigned mask, std::uint64_t given, int from, const char* what);
  void touch(const void* at, std::size_t bytes, Access how);

  Order order;

 private:
  /// Lanes that wait for each other.
  struct Meeting {
    unsigned mask = 0, arrived = 0, turn = 0;
    const char* what = nullptr;
    std::uint64_t given[2][kWarp] = {};  ///< by turn: lanes may be at the next exchange already
    Fiber* waiting[kWarp] = {};
    unsigned count = 0;
  };
  struct WarpState {
    Warp warp;
    std::deque<Meeting> meetings;  ///< whose places stay: lanes wait with a reference
  };
  struct Range {
    const std::byte* begin = nullptr;
    std::size_t bytes = 0;
    bool holds(const void* p, std::size_t n) const {
      const auto* const q = static_cast<const std::byte*>(p);
      return q >= begin && q + n <= begin + bytes;
    }
  };

  static void enter();
  void work();
  void set_thread() const;
  void wait(const char* what);
  void resume(Fiber* fiber);
  void run_block(unsigned number);
  Fiber* next_fiber();
  Fiber* idle_fiber();
  void complain_of_deadlock() const;
  void check_mask(const WarpState& w, unsigned mask, const char* what) const;
  Meeting& meeting(WarpState& w, unsigned mask, const char* what);
  void find_shared_memory();
  void enter_access(Words& words, std::size_t offset, const void* at, std::size_t bytes,
                    Access how);

  Region& memory_;
  Region& managed_;
  Words memory_words_, managed_words_, shared_words_;
  Range shared_;  ///< thread-local variables of the library with the kernel
  Range stacks_;
  const Launch* launch_ = nullptr;
  std::uint32_t launches_ = 0, blocks_run_ = 0;
  unsigned threads_ = 0, next_ = 0, returned_ = 0;
  unsigned block_number_ = 0, barriers_ = 0;
  std::vector<unsigned> in_order_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_, ready_, at_barrier_;
  std::vector<WarpState> warps_;
  Fiber* current_ = nullptr;
  void* outside_ = nullptr;  ///< the place of run_block(), which waits for a fiber
};

/// The runner of the kernel that runs in this thread of the system.
extern constinit thread_local Runner* runner;
/// The stack of the running fiber; null: none.
extern constinit thread_local const std::byte* own_stack;

inline bool is_own(const void* at, std::size_t bytes) {
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(at) - own_stack);
  return own_stack != nullptr && offset < kStackBytes && offset + bytes <= kStackBytes;
}

}  // namespace cuda_on_host
