#pragma once

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace dynet::util {

/// Whether certainly no other thread runs in this process, so that locks may be read and written
/// like other memory. Threads that start later see these writes. False if the C library does not
/// tell.
[[nodiscard]] inline bool has_one_thread() {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

}  // namespace dynet::util
