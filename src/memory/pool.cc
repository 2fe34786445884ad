#include "memory/pool.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <string>

#include "dynet/except.h"

#include "params/settings.h"

namespace dynet::memory {
namespace {
constexpr std::size_t kFirstChunk = std::size_t{1} << 20;
constexpr std::size_t kLargestGrowth = std::size_t{1} << 28;  // doubling stops here
std::atomic<std::size_t> held_by_all{0};
}  // namespace

// The option --dynet-mem-cap sets the same number.
void set_cap(std::size_t bytes) { params::settings().memory_cap_bytes.store(bytes); }
std::size_t bytes_held() { return held_by_all.load(); }

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
    const std::size_t limit = params::settings().memory_cap_bytes.load();
    if (limit != 0 && held_by_all.load() + size > limit) {
      size = bytes;
    }
    if (limit != 0 && held_by_all.load() + size > limit) {
      throw out_of_memory("out of memory: " + std::to_string(bytes) +
                          " bytes more would pass the cap of " + std::to_string(limit) +
                          " bytes (" + std::to_string(held_by_all.load()) + " held)");
    }
    void* data = memory_->allocate(size, ext::Contents::kAny);
    if (data == nullptr) {
      throw out_of_memory("out of memory: the system refused " + std::to_string(size) + " bytes (" +
                          std::to_string(held_by_all.load()) + " held)");
    }
    try {
      chunks_.push_back({static_cast<std::byte*>(data), size});
    } catch (...) {
      memory_->free(data, size);
      throw;
    }
    held_ += size;
    held_by_all += size;
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
    drop_last_chunk();
  }
  reset();
}

void Pool::give_back_unused() {
  const std::size_t used_chunks = chunk_ + (used_ == 0 ? 0 : 1);
  while (chunks_.size() > used_chunks) {
    drop_last_chunk();
  }
}

void Pool::drop_last_chunk() {
  held_ -= chunks_.back().bytes;
  held_by_all -= chunks_.back().bytes;
  memory_->free(chunks_.back().data, chunks_.back().bytes);
  chunks_.pop_back();
}

bool Pool::contains(const void* data) const {
  return std::any_of(chunks_.begin(), chunks_.end(), [data](const Chunk& chunk) {
    return data >= chunk.data && data <= chunk.data + chunk.bytes;
  });
}

void Pool::set_memory(ext::Memory& memory) {
  if (memory_ != &memory) {
    trim(0);
    memory_ = &memory;
  }
}

}  // namespace dynet::memory
