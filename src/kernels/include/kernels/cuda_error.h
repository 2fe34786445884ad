#pragma once

// The errors of CUDA's functions as exceptions. For .cu files, and for src/cuda.

#include <cuda_runtime.h>

#include <string>
#include <string_view>

#include "dynet/except.h"

namespace dynet::kernels {

/// Throws cuda_exception: the GPU of the calling thread, `what` failed, and CUDA's words. Some
/// errors, such as an illegal address in a kernel, end the use of a GPU: each later call fails with
/// the same error. Whether the error is of this kind, a question to the GPU says; a list of codes
/// would be right for one release of CUDA only.
[[noreturn]] inline void throw_cuda_error(cudaError_t error, std::string_view what) {
  int device = 0;
  static_cast<void>(cudaGetDevice(&device));
  static_cast<void>(cudaGetLastError());  // else a later call would be blamed
  const cudaError_t now = cudaStreamQuery(nullptr);
  static_cast<void>(cudaGetLastError());
  const std::string reason = std::string(what) + ": " + cudaGetErrorString(error) + ")";
  const std::string gpu = "GPU:" + std::to_string(device);
  if (now != cudaSuccess && now != cudaErrorNotReady) {
    throw cuda_exception(gpu + " stopped working (" + reason + "; restart the process");
  }
  throw cuda_exception(gpu + " failed (" + reason);
}

inline void check_cuda(cudaError_t error, std::string_view what) {
  if (error != cudaSuccess) {
    throw_cuda_error(error, what);
  }
}

}  // namespace dynet::kernels
