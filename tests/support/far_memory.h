#pragma once

// Memory and queue of a far device; see far_device.h.

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "dynet/ext/memory.h"

namespace dynet::testing {

/// Invariant: queued calls run in their order, one at a time. Thread rule: any number of threads.
class FarMemory final : public ext::Memory {
 public:
  /// `longest`: a queue of so many calls runs its older half.
  explicit FarMemory(std::size_t longest);

  /// Times that somebody waited for the queue.
  [[nodiscard]] std::size_t waits() const { return waits_; }
  /// Copies from the host.
  [[nodiscard]] std::size_t copies_in() const { return copies_in_; }

  void* allocate(std::size_t bytes, ext::Contents contents) override;
  void free(void* data, std::size_t bytes) noexcept override;
  void copy_in(const void* from, void* to, std::size_t bytes) override;
  void copy_out(const void* from, void* to, std::size_t bytes) override;
  void wait() override;

  void enqueue(std::function<void()> work);
  [[nodiscard]] std::size_t queue_length();
  /// The device's own address for the host's address `far`. Aborts, naming `user`, for an address
  /// that is not in this memory.
  [[nodiscard]] void* near(const void* far, const char* user) const;
  template <class T>
  [[nodiscard]] T* near(T* far, const char* user) const {
    return static_cast<T*>(near(static_cast<const void*>(far), user));
  }

 private:
  void run(std::size_t count);
  void release(std::size_t at, std::size_t bytes);

  std::byte* far_ = nullptr;   ///< no access
  std::byte* near_ = nullptr;  ///< the same memory
  int file_ = -1;
  std::mutex blocks_mutex_;
  std::map<std::size_t, std::size_t> unused_;  ///< start -> bytes, neighbours joined
  std::mutex queue_mutex_;
  std::vector<std::function<void()>> queue_;
  std::size_t longest_;
  std::atomic<std::size_t> waits_{0};
  std::atomic<std::size_t> copies_in_{0};
};

}  // namespace dynet::testing
