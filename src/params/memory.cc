#include "params/memory.h"

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include <cstdlib>

#include "dynet/except.h"

namespace dynet::params {
namespace {
constexpr std::size_t kAlignment = 64;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;
constexpr std::size_t kHugePage = std::size_t{1} << 21;

/// Rows of large tables are read in random order: with pages of 4 KiB each row misses the TLB. The
/// system may refuse.
void ask_for_huge_pages([[maybe_unused]] std::byte* data, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::size_t before = (kHugePage - address % kHugePage) % kHugePage;
  if (bytes >= before + kHugePage) {
    madvise(data + before, (bytes - before) / kHugePage * kHugePage, MADV_HUGEPAGE);
  }
#endif
}
}  // namespace

Memory::Memory(std::int64_t elements, std::int64_t number_bytes, const std::string& what) {
  if (elements > kMaxBytes / number_bytes) {
    throw SizeError(what + ": " + std::to_string(elements) + " elements of " +
                    std::to_string(number_bytes) + " bytes are more than can be addressed");
  }
  const auto bytes = static_cast<std::size_t>(elements * number_bytes);
  // calloc, not operator new: the system gives zeroed pages without touching them.
  base_ = std::calloc(bytes + kAlignment, 1);
  if (base_ == nullptr) {
    throw out_of_memory(what + ": the system refused " + std::to_string(bytes) + " bytes");
  }
  const auto address = reinterpret_cast<std::uintptr_t>(base_);
  data_ = static_cast<std::byte*>(base_) + (kAlignment - address % kAlignment) % kAlignment;
  ask_for_huge_pages(data_, bytes);
}

Memory::~Memory() { std::free(base_); }

}  // namespace dynet::params
