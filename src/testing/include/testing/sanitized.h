#pragma once

// DYNET_SANITIZED: a sanitizer that has an allocator of its own is compiled in, and
// DYNET_THREADS_SANITIZED: that of threads, which does not follow a fork. Each compiler says so in
// its own way.
//
// Sanitizers look at memory and at undefined behaviour, and take six times as long; what numbers
// come out is seen without them. So what is tried with many numbers is tried with fewer ones there:
// every operation, every example and every way to call it still runs, forward and backward, in
// float and in double. All that is left out goes through trials().

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

/// How often something is tried: `all` times, or as many as the second number says with sanitizers.
template <class T>
constexpr T trials([[maybe_unused]] T all, [[maybe_unused]] T with_sanitizers) {
#ifdef DYNET_SANITIZED
  return with_sanitizers;
#else
  return all;
#endif
}

}  // namespace dynet::testing
