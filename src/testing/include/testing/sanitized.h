#pragma once

// DYNET_SANITIZED: a sanitizer with an allocator of its own is compiled in.
// DYNET_THREADS_SANITIZED: the sanitizer of threads, which does not follow a fork. Each compiler
// has its own macros for this.
//
// Sanitizers look at memory and at undefined behaviour, and take six times as long; results are
// tested without sanitizers. So tests of many numbers use fewer numbers with sanitizers: every
// operation, every example and every way of a call still runs, forward and backward, in float and
// in double. All omissions go through trials(). Example: trials(1000, 20) is 20 with sanitizers.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DYNET_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DYNET_SANITIZED
#endif
#if __has_feature(thread_sanitizer)
#define DYNET_THREADS_SANITIZED
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define DYNET_THREADS_SANITIZED
#endif

namespace dynet::testing {

/// The number of trials: `all`, or the second number with sanitizers.
template <class T>
constexpr T trials([[maybe_unused]] T all, [[maybe_unused]] T with_sanitizers) {
#ifdef DYNET_SANITIZED
  return with_sanitizers;
#else
  return all;
#endif
}

}  // namespace dynet::testing
