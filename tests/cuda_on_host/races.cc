#include "races.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "fail.h"

namespace cuda_on_host {

void Warp::start(unsigned with) {
  lanes = with;
  exited = meetings_ = all_seen_ = 0;
  std::memset(seen_, 0, sizeof seen_);
}

void Warp::meet(unsigned mask) {
  ++meetings_;
  if (mask == lanes) {
    all_seen_ = meetings_;
    return;
  }
  std::uint32_t together[kWarp] = {};
  for (unsigned l = 0; l < kWarp; ++l) {
    for (unsigned of = 0; of < kWarp && (mask >> l & 1U) != 0; ++of) {
      together[of] = std::max(together[of], (mask >> of & 1U) != 0 ? meetings_ : seen_[l][of]);
    }
  }
  for (unsigned l = 0; l < kWarp; ++l) {
    if ((mask >> l & 1U) != 0) {
      std::copy_n(together, kWarp, seen_[l]);
    }
  }
}

std::uint32_t Warp::seen(unsigned lane, unsigned of) const {
  return std::max(all_seen_, seen_[lane][of]);
}

bool Record::is_before(const Accessor& a) const {
  if (launch != a.launch) {
    return true;
  }
  if (several_blocks || block != a.block) {
    return false;
  }
  if (barriers < a.barriers) {
    return true;
  }
  if (several_warps || warp != a.warp) {
    return false;
  }
  for (unsigned l = 0; l < kWarp; ++l) {
    if ((lanes >> l & 1U) != 0 && l != a.lane && meetings >= a.of->seen(a.lane, l)) {
      return false;
    }
  }
  return true;
}

void Record::add(const Accessor& a) {
  // Whoever comes after `a` comes after all that came before it.
  if (is_before(a)) {
    *this = Record{.launch = a.launch, .block = a.block, .barriers = a.barriers, .warp = a.warp};
  }
  several_blocks = several_blocks || block != a.block;
  several_warps = several_warps || warp != a.warp;
  meetings = std::max(meetings, a.of->meetings());
  lanes |= 1U << a.lane;
}

Words::Words(std::size_t bytes) : bytes_((bytes + 3) / 4 * sizeof(Word)) {
  void* const p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    fail("no addresses for records of accesses");
  }
  words_ = static_cast<Word*>(p);  // zeros are records without an access
}
Words::~Words() { munmap(words_, bytes_); }

const char* Words::enter(const Accessor& a, Access how, std::size_t offset, std::size_t bytes) {
  const char* found = nullptr;
  for (std::size_t k = offset / 4; k <= (offset + bytes - 1) / 4; ++k) {
    Word& word = words_[k];
    const bool is_atomic = how == Access::kAtomic;
    if (!(is_atomic && word.write.is_atomic) && !word.write.is_before(a)) {
      found = word.write.is_atomic ? "another thread adds atomically" : "another thread writes";
    }
    if (how != Access::kRead && !word.read.is_before(a)) {
      found = "another thread reads";
    }
    if (how == Access::kRead) {
      word.read.add(a);
      continue;
    }
    if (!is_atomic || !word.write.is_atomic || word.write.launch != a.launch) {
      word.write = Record{};
    }
    word.write.add(a);
    word.write.is_atomic = is_atomic;
    word.read = Record{};
  }
  return found;
}

}  // namespace cuda_on_host
