#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "dynet/devices.h"
#include "dynet/ext/memory.h"

namespace dynet::params {

/// The processes that see a Buffer's numbers. kWorkers: processes that are forked later, too, if
/// initialize() set shared parameters and the memory is the host's (shared_memory.h). Shared memory
/// has small pages only, so that rows of large tables take longer to reach.
enum class Reach : unsigned char { kProcess, kWorkers };

/// The begin of a large block in a page of memory: an update walks through values, gradient and
/// states in step, and the system puts all large blocks at the same place of a page. A processor
/// compares the lower bits of addresses first, so a load from one block would wait for a store to
/// another block, and the update take a tenth longer or more. Lanes from kLanes on begin again with
/// the first: lane 9 is lane 1.
using Lane = unsigned;
inline constexpr Lane kLanes = 8;
inline constexpr Lane kValuesLane = 0;
inline constexpr Lane kGradientLane = 1;
inline constexpr Lane kFirstStateLane = 2;  ///< this one and the others are of trainers' states

/// Zeroed memory of a device for so many of its numbers, starting on 64 bytes. Invariant: data() is
/// null only for a default-constructed or moved-from Buffer. Not thread-safe.
class Buffer {
 public:
  Buffer() = default;
  /// SizeError beyond 2^62 bytes and out_of_memory name `what`.
  Buffer(const Device& device, std::int64_t elements, const std::string& what,
         Reach reach = Reach::kProcess, Lane lane = kValuesLane);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer() {
    if (block_ != nullptr) {
      memory_->free(block_, bytes_);
    }
  }

  [[nodiscard]] std::byte* data() const { return data_; }
  /// Whether processes that are forked later see the numbers.
  [[nodiscard]] bool is_shared() const;

 private:
  ext::Memory* memory_ = nullptr;
  void* block_ = nullptr;      ///< as the memory gave it,
  std::size_t bytes_ = 0;      ///< of so many
  std::byte* data_ = nullptr;  ///< in it
};

}  // namespace dynet::params
