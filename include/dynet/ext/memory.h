#pragma once

// The memory of a device, and its queue. A new device implements Memory and Kernels (kernels.h),
// and nothing else.
//
// A device may work later than it is called: calls of its kernels and copies into its memory join
// one queue, which keeps their order. So a later call finds the results of an earlier call, and
// only the host has to wait, in copy_out and wait. Example: copy_in, run, copy_out from the host
// waits once, in copy_out. A call reads the host's memory (operands and their blocks, streams,
// attributes, the source of copy_in) before it returns. Freed memory is used again only after all
// earlier work in the queue.

#include <cstddef>
#include <cstdint>

namespace dynet::ext {

/// The contents of new memory.
enum class Contents : std::uint8_t { kAny, kZeros };

/// Thread rule: any number of threads.
class Memory {
 public:
  /// `host_visible`: the host may read and write this memory by itself, and nothing is queued.
  explicit Memory(bool host_visible) : is_host_visible_(host_visible) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  [[nodiscard]] bool is_host_visible() const { return is_host_visible_; }
  /// `bytes` bytes that start on 64 bytes; null if there are no more. Not null for 0 bytes.
  [[nodiscard]] virtual void* allocate(std::size_t bytes, Contents contents) = 0;
  /// Takes back a result of `allocate` for so many bytes; null is allowed.
  virtual void free(void* data, std::size_t bytes) noexcept = 0;
  /// From the host to the device.
  virtual void copy_in(const void* from, void* to, std::size_t bytes) = 0;
  /// From the device to the host, after all queued work.
  virtual void copy_out(const void* from, void* to, std::size_t bytes) = 0;
  /// To another device's memory, after all work queued here. Through the host, unless the device
  /// has a shorter way.
  virtual void copy_to(const void* from, Memory& other, void* to, std::size_t bytes);
  /// Returns when all queued work is done. Throws the error of failed work, as copy_out does.
  virtual void wait() = 0;

 private:
  bool is_host_visible_;
};

}  // namespace dynet::ext
