#pragma once

// Copies of a device's memory on the host, for calls that compute there.

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "dynet/ext/memory.h"

namespace dynet::kernels {

struct FreeAligned {
  static constexpr std::size_t kAlignment = 64;
  void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{kAlignment}); }
};
using AlignedBytes = std::unique_ptr<std::byte, FreeAligned>;
[[nodiscard]] AlignedBytes allocate_aligned(std::size_t bytes);

/// Copies of the memory that a call reads and writes. Memory in several operands, or twice in one,
/// has one copy: a node may be two arguments of an operation, and gets the sum of two gradients.
/// Use: note() all, copy_out(), copy_at() each, copy_in(). Lives for one call.
class HostCopies {
 public:
  explicit HostCopies(ext::Memory& device) : device_(device) {}

  void note(const void* data, std::size_t bytes, bool is_written) {
    pieces_.push_back({static_cast<const std::byte*>(data), bytes, is_written, {}});
  }
  void copy_out();
  /// Where the copy of an address is; null for a place without bytes.
  [[nodiscard]] void* copy_at(const void* data) const;
  /// Copies what is written to the device.
  void copy_in();

 private:
  struct Piece {
    const std::byte* data;
    std::size_t bytes;
    bool is_written;
    AlignedBytes copy;
  };
  void join_overlapping();

  ext::Memory& device_;
  std::vector<Piece> pieces_;  ///< by address, once they are joined
};

}  // namespace dynet::kernels
