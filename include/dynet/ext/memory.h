#pragma once

// The memory of a device, and its queue. Together with the loops of kernels.h this is all that a
// device is: a new one implements Memory and Kernels and nothing else.
//
// A device may do its work later than it is asked: calls of its kernels and copies into its memory
// join one queue, which keeps their order. So whoever asks again finds what was asked before, and
// only the host has to wait: copy_out does, and wait. What a call reads of the host's memory
// (operands and their blocks, streams, attributes, the source of copy_in) is read before it
// returns. Memory that is freed is used anew only after what was queued before.

#include <cstddef>
#include <cstdint>

namespace dynet::ext {

/// What new memory holds.
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
  /// What `allocate` gave for so many bytes; null is allowed.
  virtual void free(void* data, std::size_t bytes) noexcept = 0;
  /// From the host to the device.
  virtual void copy_in(const void* from, void* to, std::size_t bytes) = 0;
  /// From the device to the host, after all that was queued.
  virtual void copy_out(const void* from, void* to, std::size_t bytes) = 0;
  /// To another device's memory, after all that was queued here. Through the host, unless the
  /// device knows a shorter way.
  virtual void copy_to(const void* from, Memory& other, void* to, std::size_t bytes);
  /// Returns when all that was queued is done. What failed in the queue is thrown here or by
  /// copy_out.
  virtual void wait() = 0;

 private:
  bool is_host_visible_;
};

}  // namespace dynet::ext
