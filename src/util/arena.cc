#include "util/arena.h"

#include <algorithm>

namespace dynet::util {

void* Arena::allocate_slow(std::size_t bytes) {
  constexpr std::size_t kFirstChunk = std::size_t{1} << 16;
  const bool is_untouched = chunks_.empty() || at_ == chunks_[chunk_].data.get();
  std::size_t next = is_untouched ? chunk_ : chunk_ + 1;
  while (next < chunks_.size() && chunks_[next].bytes < bytes) {
    ++next;
  }
  if (next >= chunks_.size()) {
    const std::size_t last = chunks_.empty() ? kFirstChunk / 2 : chunks_.back().bytes;
    const std::size_t size = std::max(bytes, last * 2);
    chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
    next = chunks_.size() - 1;
  }
  fill(next);
  return std::exchange(at_, at_ + bytes);
}

std::size_t Arena::capacity() const {
  std::size_t n = 0;
  for (const Chunk& c : chunks_) {
    n += c.bytes;
  }
  return n;
}

}  // namespace dynet::util
