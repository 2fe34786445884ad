#pragma once

#include <cstddef>
#include <vector>

#include "dynet/ext/memory.h"
#include "dynet/ext/operand.h"

#include "memory/pools.h"

namespace dynet::execute {

/// Brings payload to the devices: what calls read beside the values of nodes. Calls that are
/// assembled before the next `send` get theirs in one copy per device. Where kernels can read the
/// host's memory, nothing is copied. Not thread-safe.
class Upload {
 public:
  /// `block` holds `bytes` bytes of the host; after `send` it shall be where a device with this
  /// memory reads them.
  void add(ext::Memory& memory, ext::Block& block, std::size_t bytes) {
    if (!memory.is_host_visible()) {
      stage(memory, block, bytes);
    }
  }
  /// Copies what was added into memory of `pools`.
  void send(memory::Pools& pools) {
    if (bytes_ != 0) {
      copy(pools);
    }
  }
  /// Bytes that were added and not sent.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Forgets what was added and not sent.
  void clear();

 private:
  struct Item {
    ext::Block* block;
    std::size_t offset;
  };
  /// What goes to one memory.
  struct Load {
    ext::Memory* memory;
    std::vector<std::byte> staged;
    std::vector<Item> items;
  };
  void stage(ext::Memory& memory, ext::Block& block, std::size_t bytes);
  void copy(memory::Pools& pools);

  std::vector<Load> loads_;
  std::size_t bytes_ = 0;
};

}  // namespace dynet::execute
