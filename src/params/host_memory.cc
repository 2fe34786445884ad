#include "params/host_memory.h"

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include <cstdlib>
#include <new>

namespace dynet::params {
namespace {

constexpr std::size_t kAlignment = 64;
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

/// Stands right before the memory that is handed out.
struct Origin {
  void* base;    ///< as the system gave it
  bool is_heap;  ///< from operator new, not from calloc
};
static_assert(sizeof(Origin) <= 16);

class HostMemory final : public HostVisibleMemory {
 public:
  void* allocate(std::size_t bytes, ext::Contents contents) override {
    if (bytes > SIZE_MAX - kAlignment) {
      return nullptr;
    }
    const bool is_heap = contents == ext::Contents::kAny;
    // calloc for zeros: the system gives zeroed pages without touching them.
    void* base =
        is_heap ? ::operator new(bytes + kAlignment, std::align_val_t{kAlignment}, std::nothrow)
                : std::calloc(bytes + kAlignment, 1);
    if (base == nullptr) {
      return nullptr;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(base);  // a multiple of 16
    std::byte* data = static_cast<std::byte*>(base) + (kAlignment - address % kAlignment);
    new (data - sizeof(Origin)) Origin{base, is_heap};
    if (!is_heap) {
      ask_for_huge_pages(data, bytes);
    }
    return data;
  }
  void free(void* data, std::size_t /*bytes*/) noexcept override {
    if (data == nullptr) {
      return;
    }
    const Origin origin =
        *std::launder(reinterpret_cast<Origin*>(static_cast<std::byte*>(data) - sizeof(Origin)));
    if (origin.is_heap) {
      ::operator delete(origin.base, std::align_val_t{kAlignment});
    } else {
      std::free(origin.base);
    }
  }
};

}  // namespace

ext::Memory& host_memory() {
  static HostMemory& memory = *new HostMemory;  // parameters may outlive main()
  return memory;
}

}  // namespace dynet::params
