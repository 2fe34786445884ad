#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dynet::util {

/// Small allocations that are freed all at once, or down to a mark. Chunks are kept and used again,
/// so whoever needs as much as before allocates nothing. Invariant: what was handed out never
/// moves. Not thread-safe.
class Arena {
 public:
  struct Mark {
    std::size_t chunk = 0;
    std::size_t used = 0;
  };

  /// `bytes` bytes aligned to 8.
  void* allocate(std::size_t bytes) {
    bytes = (bytes + 7) & ~std::size_t{7};
    if (chunk_ < chunks_.size() && used_ + bytes <= chunks_[chunk_].bytes) {
      void* p = chunks_[chunk_].data.get() + used_;
      used_ += bytes;
      return p;
    }
    return allocate_slow(bytes);
  }
  [[nodiscard]] Mark mark() const { return {chunk_, used_}; }
  void release(const Mark& m) {
    chunk_ = m.chunk;
    used_ = m.used;
  }
  void reset() { release({}); }
  [[nodiscard]] std::size_t capacity() const;

 private:
  struct Chunk {
    std::unique_ptr<std::byte[]> data;
    std::size_t bytes;
  };
  void* allocate_slow(std::size_t bytes);

  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0;  ///< the chunk being filled
  std::size_t used_ = 0;   ///< bytes used of it
};

}  // namespace dynet::util
