#include "util/arena.h"

#include <algorithm>

namespace dynet::util {

void Arena::Free::operator()(std::byte* data) const noexcept {
  delete[] data;
  if (budget != nullptr) {
    budget->give(bytes);
  }
}

/// A chunk of `best` bytes if the budget allows, else of `bytes`.
Arena::Chunk Arena::make_chunk(std::size_t bytes, std::size_t best) const {
  const std::size_t size = budget_ == nullptr || budget_->may_take(best) ? best : bytes;
  if (budget_ != nullptr) {
    budget_->take(size);
  }
  std::byte* data = nullptr;
  try {
    data = new std::byte[size];
  } catch (...) {
    if (budget_ != nullptr) {
      budget_->give(size);
    }
    throw;
  }
  return {std::unique_ptr<std::byte[], Free>(data, Free{budget_, size}), size};
}

void* Arena::allocate_slow(std::size_t bytes) {
  constexpr std::size_t kFirstChunk = std::size_t{1} << 16;
  const bool is_untouched = chunks_.empty() || at_ == chunks_[chunk_].data.get();
  std::size_t next = is_untouched ? chunk_ : chunk_ + 1;
  while (next < chunks_.size() && chunks_[next].bytes < bytes) {
    ++next;
  }
  if (next >= chunks_.size()) {
    const std::size_t last = chunks_.empty() ? kFirstChunk / 2 : chunks_.back().bytes;
    chunks_.push_back(make_chunk(bytes, std::max(bytes, last * 2)));
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
