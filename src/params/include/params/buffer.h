#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "dynet/devices.h"
#include "dynet/ext/memory.h"

namespace dynet::params {

/// Who sees what is written to a Buffer. kWorkers: processes that are forked later, too, where
/// initialize() was asked for that and the memory is the host's (shared_memory.h). Such memory has
/// small pages only, so that rows of large tables take longer to reach.
enum class Reach : unsigned char { kProcess, kWorkers };

/// Zeroed memory of a device for so many of its numbers, starting on 64 bytes.
/// Invariant: data() is null only for a default-constructed or moved-from one. Not thread-safe.
class Buffer {
 public:
  Buffer() = default;
  /// SizeError beyond 2^62 bytes and out_of_memory name `what`.
  Buffer(const Device& device, std::int64_t elements, const std::string& what,
         Reach reach = Reach::kProcess);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) {
      memory_->free(data_, bytes_);
    }
  }

  [[nodiscard]] std::byte* data() const { return data_; }
  /// Whether processes that are forked later see what is written here.
  [[nodiscard]] bool is_shared() const;

 private:
  ext::Memory* memory_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace dynet::params
