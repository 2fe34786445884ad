#pragma once

// DYNET_SANITIZED: a sanitizer that has an allocator of its own is compiled in. Each compiler says
// so in its own way.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DYNET_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DYNET_SANITIZED
#endif
#endif
