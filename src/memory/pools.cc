#include "memory/pools.h"

#include <algorithm>

namespace dynet::memory {

Pool& Pools::other(ext::Memory& memory) {
  auto found = std::find_if(others_.begin(), others_.end(),
                            [&](const auto& other) { return other->memory == &memory; });
  if (found == others_.end()) {
    others_.push_back(std::make_unique<Other>(memory, first_bytes_));
    found = others_.end() - 1;
  }
  Other& other = **found;
  if (other.noted != era_) {
    notes_.push_back({&other, other.pool.mark()});
    other.noted = era_;
  }
  return other.pool;
}

bool Pools::are_host_visible() const {
  return own_memory_->is_host_visible() &&
         std::all_of(others_.begin(), others_.end(), [](const std::unique_ptr<Other>& other) {
           return other->memory->is_host_visible();
         });
}

bool Pools::contains(const ext::Memory& memory, const void* data) const {
  if (&memory == own_memory_) {
    return own_.contains(data);
  }
  return std::any_of(others_.begin(), others_.end(), [&](const auto& other) {
    return other->memory == &memory && other->pool.contains(data);
  });
}

std::shared_ptr<const void> Pools::share(const ext::Memory& memory, const void* data) {
  if (&memory == own_memory_) {
    return own_.share(data);
  }
  return (*std::find_if(others_.begin(), others_.end(),
                        [&](const auto& other) { return other->memory == &memory; }))
      ->pool.share(data);
}

void Pools::set_own(ext::Memory& memory) {
  if (own_memory_ == &memory) {
    return;
  }
  notes_.clear();
  others_.clear();
  own_.set_memory(memory);
  own_memory_ = &memory;
}

/// The notes are taken back in reverse: the oldest note after the mark counts.
void Pools::release(const Mark& mark) {
  own_.release(mark.own);
  while (notes_.size() > mark.notes) {
    notes_.back().of->pool.release(notes_.back().before);
    notes_.pop_back();
  }
  ++era_;
}

void Pools::trim(std::size_t bytes) {
  reset();
  own_.trim(bytes);
  for (const auto& other : others_) {
    other->pool.trim(bytes);
  }
}

void Pools::give_back_unused() {
  own_.give_back_unused();
  for (const auto& other : others_) {
    other->pool.give_back_unused();
  }
}

std::size_t Pools::held() const {
  std::size_t bytes = own_.held();
  for (const auto& other : others_) {
    bytes += other->pool.held();
  }
  return bytes;
}

std::size_t Pools::used() const {
  std::size_t bytes = own_.used();
  for (const auto& other : others_) {
    bytes += other->pool.used();
  }
  return bytes;
}

}  // namespace dynet::memory
