#pragma once

#include <cstddef>
#include <vector>

#include "dynet/ext/operand.h"

#include "execute/context.h"
#include "memory/pool.h"

namespace dynet::execute {

/// Brings payload to the device: what calls read beside the values of nodes. Calls that are
/// assembled before the next `send` get theirs in one copy. Where kernels can read the host's
/// memory, nothing is copied. Not thread-safe.
class Upload {
 public:
  explicit Upload(const Context& context) : context_(context) {}

  /// `block` holds `bytes` bytes of the host; after `send` it shall be where the device reads them.
  void add(ext::Block& block, std::size_t bytes) {
    if (!context_.device().is_host_visible()) {
      stage(block, bytes);
    }
  }
  /// Bytes that were added and not sent.
  [[nodiscard]] std::size_t bytes() const { return staged_.size(); }
  /// Copies what was added into memory of `pool`.
  void send(memory::Pool& pool);
  /// Forgets what was added and not sent.
  void clear();

 private:
  struct Item {
    ext::Block* block;
    std::size_t offset;
  };
  void stage(ext::Block& block, std::size_t bytes);

  const Context& context_;
  std::vector<std::byte> staged_;
  std::vector<Item> items_;
};

}  // namespace dynet::execute
