#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace dynet::util {

/// A budget for chunks of memory. Functions are not null, and thread-safe.
struct Budget {
  bool (*may_take)(std::size_t bytes);
  void (*take)(std::size_t bytes);  ///< out_of_memory; then nothing was taken
  void (*give)(std::size_t bytes) noexcept;
};

/// Small allocations that are freed all at once, or down to a mark. Chunks are kept and used again,
/// so a repeated need allocates nothing. Invariant: allocated blocks never move. Not thread-safe.
class Arena {
 public:
  struct Mark {
    std::size_t chunk = 0;
    std::byte* at = nullptr;  ///< null: where the first chunk begins
  };

  Arena() = default;
  /// `budget`: of all chunks; lives longer.
  explicit Arena(const Budget& budget) : budget_(&budget) {}

  /// `bytes` bytes aligned to 8.
  void* allocate(std::size_t bytes) {
    bytes = (bytes + 7) & ~std::size_t{7};
    if (bytes > static_cast<std::size_t>(end_ - at_)) [[unlikely]] {
      return allocate_slow(bytes);
    }
    return std::exchange(at_, at_ + bytes);
  }
  [[nodiscard]] Mark mark() const { return {chunk_, at_}; }
  void release(const Mark& m) {
    if (m.at == nullptr) {
      reset();
    } else {
      fill(m.chunk);
      at_ = m.at;
    }
  }
  void reset() {
    if (!chunks_.empty()) {
      fill(0);
    }
  }
  [[nodiscard]] std::size_t capacity() const;
  /// Frees all chunks. Nothing may be allocated.
  void give_back() {
    chunks_.clear();
    chunk_ = 0;
    at_ = end_ = nullptr;
  }

 private:
  struct Free {
    const Budget* budget;
    std::size_t bytes;
    void operator()(std::byte* data) const noexcept;
  };
  struct Chunk {
    std::unique_ptr<std::byte[], Free> data;
    std::size_t bytes;
  };
  [[nodiscard]] Chunk make_chunk(std::size_t bytes, std::size_t best) const;
  void* allocate_slow(std::size_t bytes);
  /// The chunk to be filled from its begin on.
  void fill(std::size_t chunk) {
    chunk_ = chunk;
    at_ = chunks_[chunk].data.get();
    end_ = at_ + chunks_[chunk].bytes;
  }

  const Budget* budget_ = nullptr;
  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0;     ///< the one being filled
  std::byte* at_ = nullptr;   ///< the free rest of the chunk
  std::byte* end_ = nullptr;  ///< its end
};

}  // namespace dynet::util
