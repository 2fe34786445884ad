#pragma once

// Memory for numbers, with a place for each result of a plan.
//
// In:  a Plan, the Graph's shapes, the number type.       Out: an address for each node's value.
//
// A Pool is a bump allocator of 64-byte aligned blocks that grows by chunks and is reset, not
// freed, so a graph like the graph before allocates nothing from the heap. The layout planner
// (layout.h) gives each group one block for each of its results, members side by side in plan
// order: the next operation then finds a contiguous operand wherever its own group has the same
// order.
//
// Example: three results of {4} in float take one block of 48 bytes, and the next block of more
// than 32 bytes starts at byte 64. Surprising: only the start of a group's block is aligned, not
// each member; and a block of at most 32 bytes is aligned only to a power of two of at least its
// size.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dynet/ext/memory.h"

namespace dynet::memory {

/// Caps the memory of all pools of the process together; 0: no cap. A pool beyond the cap throws
/// out_of_memory, and so does a failed allocation of the system. Thread-safe.
void set_cap(std::size_t bytes);
[[nodiscard]] std::size_t bytes_held();

/// Bump allocator for numbers in the memory of one device. Invariants: blocks start on 64 bytes,
/// except that blocks of at most 32 bytes (single numbers, of which a graph may have millions)
/// start on a power of two of at least their size; blocks never move; numbers below a mark stay
/// valid until released. Not thread-safe: one pool belongs to one graph.
class Pool {
 public:
  struct Mark {
    std::size_t chunk = 0;
    std::size_t used = 0;
  };

  /// `first_bytes`: least size of the first chunk, read when that is made; null: 1 MiB.
  explicit Pool(ext::Memory& memory, const std::atomic<std::size_t>* first_bytes = nullptr)
      : memory_(&memory), first_bytes_(first_bytes) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  void* allocate(std::int64_t bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    const std::size_t step = size > 32 ? 64 : std::bit_ceil(std::max<std::size_t>(size, 4));
    const std::size_t rounded = (size + step - 1) & ~(step - 1);
    const std::size_t begin = (used_ + step - 1) & ~(step - 1);
    if (chunk_ < chunks_.size() && begin + rounded <= chunks_[chunk_].bytes) {
      used_ = begin + rounded;
      return chunks_[chunk_].data + begin;
    }
    return allocate_slow(rounded);
  }
  /// Shortens the last allocated block, `block`, to `bytes`.
  void shrink(const void* block, std::int64_t bytes) {
    used_ = static_cast<std::size_t>(static_cast<const std::byte*>(block) - chunks_[chunk_].data) +
            ((static_cast<std::size_t>(bytes) + 63) & ~std::size_t{63});
  }
  [[nodiscard]] Mark mark() const { return {chunk_, used_}; }
  void release(const Mark& m) {
    chunk_ = m.chunk;
    used_ = m.used;
    if (is_shared_) [[unlikely]] {
      leave_shared();
    }
  }
  void reset() { release({}); }
  /// Gives chunks back to the system until at most `bytes`, or the first size if that is more,
  /// are held; 0: all. Nothing may be allocated.
  void trim(std::size_t bytes);
  /// Gives back the chunks beyond all allocated blocks.
  void give_back_unused();
  /// Whether `data` lies in a chunk of this pool. Of no use for blocks of 0 bytes, which may start
  /// where a chunk ends.
  [[nodiscard]] bool contains(const void* data) const;
  /// Shares the chunk of `data`, which is allocated. Blocks in the chunk are not dealt out again
  /// while the result or a copy of it lives, whatever is released and also after the end of the
  /// pool; the last owner frees the chunk.
  [[nodiscard]] std::shared_ptr<const void> share(const void* data);
  [[nodiscard]] std::size_t held() const { return held_; }
  [[nodiscard]] std::size_t used() const {
    std::size_t bytes = used_;
    for (std::size_t i = 0; i < chunk_; ++i) {
      bytes += chunks_[i].bytes;
    }
    return bytes;
  }
  [[nodiscard]] ext::Memory& memory() const { return *memory_; }
  /// Deals out another device's memory from now on. Nothing may be allocated.
  void set_memory(ext::Memory& memory);

 private:
  struct Chunk {
    std::byte* data;
    std::size_t bytes;
    std::shared_ptr<const void> owner =
        nullptr;  ///< frees it, since it was shared first; else null
  };
  void drop(std::size_t chunk);
  void leave_shared();
  [[nodiscard]] std::size_t find(const void* data) const;
  void* allocate_slow(std::size_t bytes);
  [[nodiscard]] std::size_t first_size() const;

  ext::Memory* memory_;
  const std::atomic<std::size_t>* first_bytes_;
  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0;
  std::size_t used_ = 0;
  std::size_t held_ = 0;
  bool is_shared_ = false;  ///< whether others may hold a chunk
};

}  // namespace dynet::memory
