#pragma once

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace dynet::util {

/// Whether it is certain that no other thread runs in this process, so that what threads exclude
/// each other with may be read and written like any other memory. What was written then is seen by
/// threads that start later. False if the C library does not tell.
[[nodiscard]] inline bool has_one_thread() {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

}  // namespace dynet::util
