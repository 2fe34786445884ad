// The functions that a compiler calls under -fsanitize=thread before each access to memory. They
// are called by code of kernels and of the host; code of the host has no runner.

#include <cstddef>

#include "runner.h"

namespace {

/// Most accesses are to variables of the thread itself.
inline void touch(const void* at, std::size_t bytes, cuda_on_host::Access how) {
  if (!cuda_on_host::is_own(at, bytes) && cuda_on_host::runner != nullptr) {
    cuda_on_host::runner->touch(at, bytes, how);
  }
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the compiler prescribes
// these names.
#define DYNET_HOOK(bytes)                                                                \
  void __tsan_read##bytes(void* at) { touch(at, bytes, cuda_on_host::Access::kRead); }   \
  void __tsan_write##bytes(void* at) { touch(at, bytes, cuda_on_host::Access::kWrite); } \
  void __tsan_unaligned_read##bytes(void* at) { __tsan_read##bytes(at); }                \
  void __tsan_unaligned_write##bytes(void* at) { __tsan_write##bytes(at); }

extern "C" {
DYNET_HOOK(1)
DYNET_HOOK(2)
DYNET_HOOK(4)
DYNET_HOOK(8)
DYNET_HOOK(16)
void __tsan_read_range(void* at, std::size_t bytes) {
  touch(at, bytes, cuda_on_host::Access::kRead);
}
void __tsan_write_range(void* at, std::size_t bytes) {
  touch(at, bytes, cuda_on_host::Access::kWrite);
}
/// Whether a static variable of a function has been made.
unsigned char __tsan_atomic8_load(const unsigned char* at, int /*order*/) {
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}
void __tsan_init() {}
void __tsan_func_entry(void* /*caller*/) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** /*at*/, void* /*value*/) {}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
