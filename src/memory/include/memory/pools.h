#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/pool.h"

namespace dynet::memory {

/// One pool for each memory that has numbers of a graph: the memory of its own device, and other
/// memories, made at their first use. A mark covers all pools and is as small as the mark of one
/// pool: the first allocation after a mark notes the position of its pool. Not thread-safe.
class Pools {
 public:
  struct Mark {
    Pool::Mark own;
    std::size_t notes = 0;
  };

  /// `first_bytes`: see Pool.
  explicit Pools(ext::Memory& own, const std::atomic<std::size_t>* first_bytes = nullptr)
      : first_bytes_(first_bytes), own_memory_(&own), own_(own, first_bytes) {}

  /// The pool to allocate from in this memory.
  [[nodiscard]] Pool& of(ext::Memory& memory) {
    return &memory == own_memory_ ? own_ : other(memory);
  }
  /// Whether the host can read and write all this memory by itself.
  [[nodiscard]] bool are_host_visible() const;
  /// Pool::contains, for the pool of `memory`, which must be in use.
  [[nodiscard]] bool contains(const ext::Memory& memory, const void* data) const;
  /// Pool::share, for the pool of `memory`.
  [[nodiscard]] std::shared_ptr<const void> share(const ext::Memory& memory, const void* data);
  /// Deals out another memory as its own from now on and gives all other memory back. Nothing may
  /// be allocated.
  void set_own(ext::Memory& memory);

  [[nodiscard]] Mark mark() {
    ++era_;
    return {own_.mark(), notes_.size()};
  }
  void release(const Mark& mark);
  void reset() { release({}); }
  /// Pool::trim of each.
  void trim(std::size_t bytes);
  void give_back_unused();
  /// Sums over the pools.
  [[nodiscard]] std::size_t held() const;
  [[nodiscard]] std::size_t used() const;

 private:
  struct Other {
    explicit Other(ext::Memory& of, const std::atomic<std::size_t>* first_bytes)
        : memory(&of), pool(of, first_bytes) {}
    ext::Memory* memory;
    Pool pool;
    std::uint64_t noted = 0;  ///< the era in which its mark was noted last
  };
  struct Note {
    Other* of;
    Pool::Mark before;
  };
  Pool& other(ext::Memory& memory);

  const std::atomic<std::size_t>* first_bytes_;
  ext::Memory* own_memory_;
  Pool own_;
  std::vector<std::unique_ptr<Other>> others_;
  std::vector<Note> notes_;  ///< positions of the other pools after each mark
  std::uint64_t era_ = 1;    ///< number of marks
};

}  // namespace dynet::memory
