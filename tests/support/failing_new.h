#pragma once

// An operator new that refuses on demand, for tests of the state after a failed allocation. A
// program that includes this header in one source replaces the global operator new.

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

namespace dynet::testing {

/// While `armed`, allocations are counted, and number `fail_at` of them is refused once.
/// Allocations of any thread count.
struct FailingNew {
  static inline std::atomic<bool> armed{false};
  static inline std::atomic<long> count{0};
  static inline std::atomic<long> fail_at{-1};
  static inline std::atomic<long> refused{0};
  static inline std::atomic<long> refused_in_threads{0};  ///< other than the one that arms
  static inline std::atomic<long> last_in_threads{-1};    ///< the number of an allocation there
  static inline std::thread::id arming;

  static bool refuses() {
    if (!armed.load(std::memory_order_relaxed)) {
      return false;
    }
    const long number = count.fetch_add(1);
    const bool is_elsewhere = std::this_thread::get_id() != arming;
    if (is_elsewhere) {
      last_in_threads = number;
    }
    if (number != fail_at.load()) {
      return false;
    }
    ++refused;
    refused_in_threads += is_elsewhere ? 1 : 0;
    return true;
  }
  /// Refuses allocation `n` from now on, counted from 0.
  static void arm(long n) {
    count = 0;
    refused = 0;
    refused_in_threads = 0;
    last_in_threads = -1;
    arming = std::this_thread::get_id();
    fail_at = n;
  }
};

}  // namespace dynet::testing

#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // gcc sees free, not that new is ours too
// Each program that includes this file is one source file.
// NOLINTBEGIN(misc-definitions-in-headers)
void* operator new(std::size_t bytes) {
  if (!dynet::testing::FailingNew::refuses()) {
    if (void* p = std::malloc(bytes == 0 ? 1 : bytes)) {
      return p;
    }
  }
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (!dynet::testing::FailingNew::refuses()) {
    const auto a = static_cast<std::size_t>(alignment);
    if (void* p = std::aligned_alloc(a, (bytes + a - 1) / a * a)) {
      return p;
    }
  }
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {  // buffers of stable_sort
  return dynet::testing::FailingNew::refuses() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  if (dynet::testing::FailingNew::refuses()) {
    return nullptr;
  }
  const auto a = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(a, (bytes + a - 1) / a * a);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
// NOLINTEND(misc-definitions-in-headers)
