#include "params/shared_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>

#include "params/host_memory.h"
#include "util/fork.h"

namespace dynet::params {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

/// Stands at the beginning of a mapping.
struct Chunk {
  std::size_t bytes;      ///< of the mapping
  std::size_t used;       ///< from its beginning
  std::size_t blocks;     ///< that are not freed
  std::uint32_t process;  ///< that mapped it, by util::fork_count()
};
/// Stands right before a block.
struct Origin {
  Chunk* chunk;
};
static_assert(sizeof(Chunk) <= kAlignment && sizeof(Origin) <= kAlignment);

Chunk* map_chunk(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
#ifdef MADV_HUGEPAGE
  if (bytes > kChunkBytes) {  // for the rows of large tables, as in host_memory.cc
    madvise(memory, bytes, MADV_HUGEPAGE);
  }
#endif
  return new (memory) Chunk{bytes, kAlignment, 0, util::fork_count()};
}

/// The bookkeeping lies in the shared memory too, so a child leaves the chunks of its parent as
/// they are: a change would reach the counts of the parent.
class SharedMemory final : public HostVisibleMemory {
 public:
  void* allocate(std::size_t bytes, ext::Contents /*contents*/) override {
    constexpr std::size_t kLargest = SIZE_MAX / 2;
    if (bytes > kLargest) {
      return nullptr;
    }
    const std::size_t wanted = kAlignment + (bytes + kAlignment - 1) / kAlignment * kAlignment;
    const std::lock_guard lock(mutex_);
    Chunk* chunk = open_;
    if (chunk == nullptr || chunk->process != util::fork_count() ||
        chunk->bytes - chunk->used < wanted) {
      chunk = map_chunk(std::max(kChunkBytes, kAlignment + wanted));
      if (chunk == nullptr) {
        return nullptr;
      }
      if (chunk->bytes == kChunkBytes) {
        open_ = chunk;
      }
    }
    auto* data = reinterpret_cast<std::byte*>(chunk) + chunk->used + kAlignment;
    new (data - sizeof(Origin)) Origin{chunk};
    chunk->used += wanted;
    ++chunk->blocks;
    return data;
  }
  void free(void* data, std::size_t /*bytes*/) noexcept override {
    if (data == nullptr) {
      return;
    }
    const Origin origin =
        *std::launder(reinterpret_cast<Origin*>(static_cast<std::byte*>(data) - sizeof(Origin)));
    const std::lock_guard lock(mutex_);
    if (origin.chunk->process != util::fork_count() || --origin.chunk->blocks != 0) {
      return;
    }
    if (origin.chunk == open_) {
      open_ = nullptr;
    }
    munmap(origin.chunk, origin.chunk->bytes);
  }

 private:
  util::ForkMutex mutex_;
  Chunk* open_ = nullptr;  ///< where the next small block goes, if this process mapped it
};

}  // namespace

ext::Memory& shared_memory() {
  static SharedMemory& memory = *new SharedMemory;  // parameters may outlive main()
  return memory;
}

}  // namespace dynet::params
