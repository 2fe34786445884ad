#pragma once

// The one place that starts CUDA kernels. For .cu files, and for tests in builds with CUDA.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "kernels/cuda_error.h"

namespace dynet::kernels {

/// The most blocks of a grid whose threads go on to further elements: more than a device runs at
/// once, so that no multiprocessor is without work, and few enough to begin at once.
inline unsigned most_blocks() {
  constexpr unsigned kPerMultiprocessor = 16;
  static const unsigned count = [] {
    int device = 0;
    int multiprocessors = 0;
    check_cuda(cudaGetDevice(&device), "the device");
    check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
               "the device");
    return static_cast<unsigned>(multiprocessors) * kPerMultiprocessor;
  }();
  return count;
}
/// The blocks for `count` pieces of work, of which a block takes `of_block` at a time.
inline unsigned blocks_for(std::int64_t count, std::int64_t of_block) {
  return static_cast<unsigned>(
      std::min<std::int64_t>(most_blocks(), (count + of_block - 1) / of_block));
}

/// The threads of a block for `count` pieces of work, `of_thread` threads for each: whole warps,
/// and `most` at most.
inline unsigned threads_for(std::int64_t count, unsigned most, std::int64_t of_thread = 1) {
  constexpr std::int64_t kWarp = 32;
  const std::int64_t warps = (std::max<std::int64_t>(count, 1) * of_thread + kWarp - 1) / kWarp;
  return static_cast<unsigned>(std::min<std::int64_t>(most, warps * kWarp));
}

/// Starts a kernel on a CUDA stream (`cudaStream_t`) and returns at once. Throws cuda_exception
/// with `what` if the start fails.
template <class... P, class... A>
void launch(std::string_view what, void (*kernel)(P...), unsigned blocks, unsigned threads,
            void* cuda_stream, const A&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = static_cast<cudaStream_t>(cuda_stream);
  check_cuda(cudaLaunchKernelEx(&config, kernel, arguments...), what);
}

}  // namespace dynet::kernels
