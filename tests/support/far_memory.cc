#include "support/far_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "kernels/float_mode.h"

namespace dynet::testing {
namespace {

constexpr std::size_t kSize = std::size_t{16} << 30;  // addresses; pages come as they are written
constexpr std::size_t kPoisoned = std::size_t{1} << 20;
constexpr std::size_t kPage = 4096;

void require(bool holds, const char* what) {
  if (!holds) {
    std::perror(what);
    std::abort();
  }
}
std::size_t rounded(std::size_t bytes) { return (std::max<std::size_t>(bytes, 1) + 63) / 64 * 64; }

}  // namespace

FarMemory::FarMemory(std::size_t longest) : Memory(false), longest_(longest) {
  file_ = memfd_create("far device", 0);
  require(file_ >= 0 && ftruncate(file_, static_cast<off_t>(kSize)) == 0, "far device: memory");
  const auto map = [&](int access) {
    void* p = mmap(nullptr, kSize, access, MAP_SHARED | MAP_NORESERVE, file_, 0);
    require(p != MAP_FAILED, "far device: addresses");
    return static_cast<std::byte*>(p);
  };
  far_ = map(PROT_NONE);
  near_ = map(PROT_READ | PROT_WRITE);
  unused_[0] = kSize;
}

void* FarMemory::allocate(std::size_t bytes, ext::Contents contents) {
  const std::size_t size = rounded(bytes);
  if (size < bytes) {
    return nullptr;
  }
  const std::lock_guard lock(blocks_mutex_);
  const auto found = std::find_if(unused_.begin(), unused_.end(),
                                  [&](const auto& block) { return block.second >= size; });
  if (found == unused_.end()) {
    return nullptr;
  }
  const std::size_t at = found->first;
  const std::size_t rest = found->second - size;
  unused_.erase(found);
  if (rest != 0) {
    unused_[at + size] = rest;
  }
  if (contents == ext::Contents::kAny) {
    std::memset(near_ + at, 0xFF, std::min(size, kPoisoned));  // NaN, in float and in double
    return far_ + at;
  }
  // Whole pages go back to the system, which gives zeros again when they are touched.
  const std::size_t first = (at + kPage - 1) / kPage * kPage;
  const std::size_t last = (at + size) / kPage * kPage;
  if (first < last) {
    std::memset(near_ + at, 0, first - at);
    std::memset(near_ + last, 0, at + size - last);
    require(fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
                      static_cast<off_t>(last - first)) == 0,
            "far device: zeros");
  } else {
    std::memset(near_ + at, 0, size);
  }
  return far_ + at;
}

void FarMemory::free(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) {
    return;
  }
  const auto at = static_cast<std::size_t>(static_cast<std::byte*>(data) - far_);
  enqueue([this, at, bytes] { release(at, rounded(bytes)); });
}

void FarMemory::release(std::size_t at, std::size_t bytes) {
  const std::lock_guard lock(blocks_mutex_);
  const auto next = unused_.lower_bound(at);
  if (next != unused_.end() && next->first == at + bytes) {
    bytes += next->second;
    unused_.erase(next);
  }
  const auto after = unused_.lower_bound(at);
  if (after != unused_.begin() && std::prev(after)->first + std::prev(after)->second == at) {
    std::prev(after)->second += bytes;
  } else {
    unused_[at] = bytes;
  }
}

void FarMemory::copy_in(const void* from, void* to, std::size_t bytes) {
  ++copies_in_;
  const auto staged = std::make_shared<std::vector<std::byte>>(
      static_cast<const std::byte*>(from), static_cast<const std::byte*>(from) + bytes);
  enqueue([staged, at = near(to, "copy_in"), bytes] {
    std::copy_n(staged->data(), bytes, static_cast<std::byte*>(at));
  });
}

void FarMemory::copy_out(const void* from, void* to, std::size_t bytes) {
  wait();
  std::copy_n(static_cast<const std::byte*>(near(from, "copy_out")), bytes,
              static_cast<std::byte*>(to));
}

void* FarMemory::near(const void* far, const char* user) const {
  const auto* at = static_cast<const std::byte*>(far);
  if (at < far_ || at > far_ + kSize) {
    std::fprintf(stderr, "far device: %s was given %p, which is not the device's memory\n", user,
                 far);
    std::abort();
  }
  return near_ + (at - far_);
}

void FarMemory::enqueue(std::function<void()> work) {
  const std::lock_guard lock(queue_mutex_);
  queue_.push_back(std::move(work));
  if (queue_.size() >= longest_) {
    run(queue_.size() / 2);
  }
}

std::size_t FarMemory::queue_length() {
  const std::lock_guard lock(queue_mutex_);
  return queue_.size();
}

void FarMemory::wait() {
  ++waits_;
  const std::lock_guard lock(queue_mutex_);
  run(queue_.size());
}

/// The caller has the queue.
void FarMemory::run(std::size_t count) {
  const kernels::FlushDenormals float_mode;
  for (std::size_t i = 0; i < count; ++i) {
    queue_[i]();
  }
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace dynet::testing
