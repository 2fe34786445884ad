#include "memory/pool.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <string>

#include "dynet/except.h"

#include "params/held_memory.h"
#include "params/settings.h"

namespace dynet::memory {
namespace {
constexpr std::size_t kFirstChunk = std::size_t{1} << 20;
constexpr std::size_t kLargestGrowth = std::size_t{1} << 28;  // doubling stops here

void free_chunk(ext::Memory& memory, void* data, std::size_t bytes) {
  params::let_go(bytes);
  memory.free(data, bytes);
}

/// Counts as held until free_chunk(). Throws out_of_memory.
void* new_chunk(ext::Memory& memory, std::size_t bytes) {
  params::hold(bytes);
  try {
    if (void* const data = memory.allocate(bytes, ext::Contents::kAny)) {
      return data;
    }
    throw out_of_memory("the system refused " + std::to_string(bytes) + " bytes");
  } catch (const out_of_memory& e) {
    params::let_go(bytes);
    throw out_of_memory(std::string("out of memory: ") + e.what() + " (" +
                        std::to_string(bytes_held()) + " held)");
  } catch (...) {
    params::let_go(bytes);
    throw;
  }
}

/// Frees a chunk when its last owner goes.
struct SharedChunk {
  ext::Memory* memory = nullptr;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  SharedChunk() = default;
  SharedChunk(const SharedChunk&) = delete;
  SharedChunk& operator=(const SharedChunk&) = delete;
  ~SharedChunk() {
    if (memory != nullptr) {
      free_chunk(*memory, data, bytes);
    }
  }
};
}  // namespace

// The option --dynet-mem-cap sets the same number.
void set_cap(std::size_t bytes) { params::settings().memory_cap_bytes.store(bytes); }
std::size_t bytes_held() { return params::held_bytes(); }

Pool::~Pool() {
  reset();
  trim(0);
}

std::size_t Pool::first_size() const {
  return std::max(kFirstChunk, first_bytes_ == nullptr ? 0 : first_bytes_->load());
}

void* Pool::allocate_slow(std::size_t bytes) {
  std::size_t next = chunk_ < chunks_.size() && used_ != 0 ? chunk_ + 1 : chunk_;
  while (next < chunks_.size() && chunks_[next].bytes < bytes) {
    ++next;
  }
  if (next >= chunks_.size()) {
    std::size_t size = std::max(
        bytes, chunks_.empty() ? first_size() : std::min(chunks_.back().bytes * 2, kLargestGrowth));
    if (!params::may_hold(size)) {
      size = bytes;
    }
    void* const data = new_chunk(*memory_, size);
    try {
      chunks_.push_back({static_cast<std::byte*>(data), size});
    } catch (...) {
      free_chunk(*memory_, data, size);
      throw;
    }
    held_ += size;
    next = chunks_.size() - 1;
  }
  chunk_ = next;
  used_ = bytes;
  return chunks_[chunk_].data;
}

void Pool::trim(std::size_t bytes) {
  if (bytes != 0) {
    bytes = std::max(bytes, first_size());
  }
  while (held_ > bytes && !chunks_.empty()) {
    drop(chunks_.size() - 1);
  }
  reset();
}

void Pool::give_back_unused() {
  const std::size_t used_chunks = chunk_ + (used_ == 0 ? 0 : 1);
  while (chunks_.size() > used_chunks) {
    drop(chunks_.size() - 1);
  }
}

void Pool::drop(std::size_t chunk) {
  const auto it = chunks_.begin() + static_cast<std::ptrdiff_t>(chunk);
  held_ -= it->bytes;
  if (it->owner == nullptr) {
    free_chunk(*memory_, it->data, it->bytes);
  }
  chunks_.erase(it);
}

std::size_t Pool::find(const void* data) const {
  const auto found = std::find_if(chunks_.begin(), chunks_.end(), [data](const Chunk& chunk) {
    return data >= chunk.data && data < chunk.data + chunk.bytes;
  });
  return static_cast<std::size_t>(found - chunks_.begin());
}

bool Pool::contains(const void* data) const { return find(data) < chunks_.size(); }

std::shared_ptr<const void> Pool::share(const void* data) {
  Chunk& chunk = chunks_[find(data)];
  if (chunk.owner == nullptr) {
    // Made empty: who runs out of memory here must not free the chunk, which stays the pool's.
    const auto owner = std::make_shared<SharedChunk>();
    owner->memory = memory_;
    owner->data = chunk.data;
    owner->bytes = chunk.bytes;
    chunk.owner = std::shared_ptr<const void>(owner, chunk.data);
  }
  is_shared_ = true;
  return chunk.owner;
}

/// After a release: chunks without own numbers are left to their other owners, and if earlier
/// numbers stay in the last chunk, the rest of it is not dealt out.
void Pool::leave_shared() {
  is_shared_ = false;
  for (std::size_t i = chunks_.size(); i-- > 0;) {
    if (chunks_[i].owner == nullptr || chunks_[i].owner.use_count() == 1) {
      continue;  // nobody else can come to hold it
    }
    if (i > chunk_ || (i == chunk_ && used_ == 0)) {
      drop(i);
      continue;
    }
    is_shared_ = true;
    if (i == chunk_) {
      used_ = chunks_[i].bytes;
    }
  }
  std::atomic_thread_fence(std::memory_order_acquire);  // after the last read of others
}

void Pool::set_memory(ext::Memory& memory) {
  if (memory_ != &memory) {
    trim(0);
    memory_ = &memory;
  }
}

}  // namespace dynet::memory
