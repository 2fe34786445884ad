#include "region.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "fail.h"

namespace cuda_on_host {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kAlignment = 256;
constexpr int kNotANumber = 0xFF;  // four of these bytes are a NaN

std::size_t rounded(std::size_t bytes, std::size_t unit) {
  return (std::max<std::size_t>(bytes, 1) + unit - 1) / unit * unit;
}

}  // namespace

Region::Region(Kind kind)
    : size_(static_cast<std::size_t>(setting("DYNET_CUDA_MEMORY_MB", 512)) << 20),
      is_strict_(kind == Kind::kDevice) {
  const int file = memfd_create("memory of a device", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(size_)) != 0) {
    fail("no memory for the device");
  }
  const auto map = [&](int access) {
    void* const p = mmap(nullptr, size_, access, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (p == MAP_FAILED) {
      fail("no addresses for the device's memory");
    }
    return static_cast<char*>(p);
  };
  base_ = map(is_strict_ ? PROT_NONE : PROT_READ | PROT_WRITE);
  open_ = map(PROT_READ | PROT_WRITE);
  close(file);
  unused_[0] = size_;
}

void* Region::allocate(std::size_t bytes) {
  const std::size_t size = rounded(bytes, kAlignment);
  const auto found = std::find_if(unused_.begin(), unused_.end(),
                                  [&](const auto& piece) { return piece.second >= size; });
  if (size < bytes || found == unused_.end()) {
    return nullptr;
  }
  const auto [at, room] = *found;
  unused_.erase(found);
  if (room != size) {
    unused_[at + size] = room - size;
  }
  used_[at] = bytes;
  in_use_ += size;
  high_ = std::max(high_, rounded(at + size, kPage));
  std::memset(open_ + at, kNotANumber, size);
  return base_ + at;
}

bool Region::free(void* data) {
  const auto found = contains(data) ? used_.find(offset(data)) : used_.end();
  if (found == used_.end()) {
    return false;
  }
  const std::size_t at = found->first;
  std::size_t size = rounded(found->second, kAlignment);
  std::memset(open_ + at, kNotANumber, size);
  used_.erase(found);
  seen_end_ = 0;
  in_use_ -= size;
  const auto next = unused_.find(at + size);
  if (next != unused_.end()) {
    size += next->second;
    unused_.erase(next);
  }
  const auto after = unused_.lower_bound(at);
  if (after != unused_.begin() && std::prev(after)->first + std::prev(after)->second == at) {
    std::prev(after)->second += size;
  } else {
    unused_[at] = size;
  }
  return true;
}

bool Region::is_allocated(const void* p, std::size_t bytes) {
  const std::size_t at = offset(p);
  if (at >= seen_begin_ && at + bytes <= seen_end_) {
    return true;
  }
  const auto next = used_.upper_bound(at);
  if (next == used_.begin()) {
    return false;
  }
  seen_begin_ = std::prev(next)->first;
  seen_end_ = seen_begin_ + std::prev(next)->second;
  return at + bytes <= seen_end_;
}

void* Region::open(const void* p) const {
  return contains(p) ? open_ + offset(p) : const_cast<void*>(p);
}

void Region::give_access() {
  if (is_strict_) {
    mprotect(base_, high_, PROT_READ | PROT_WRITE);
  }
  accessible_ = high_;
}
void Region::take_access() {
  if (is_strict_ && accessible_ != 0) {
    mprotect(base_, high_, PROT_NONE);
  }
  accessible_ = 0;
}

}  // namespace cuda_on_host
