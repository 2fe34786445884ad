#pragma once

// Fibers: stacks between which one thread of the system switches.

#include <cstddef>

namespace cuda_on_host {

/// Bytes of a fiber's stack: kernels are compiled without optimisation, and keep all in it.
inline constexpr std::size_t kStackBytes = std::size_t{256} << 10;

/// A stack that begins at `base`, prepared so that the first switch to it calls `enter`.
void* prepare_stack(std::byte* base, void (*enter)());

/// Keeps the running fiber's place in `*save` and goes on at `load`.
extern "C" void cuda_on_host_switch(void** save, void* load);

}  // namespace cuda_on_host
