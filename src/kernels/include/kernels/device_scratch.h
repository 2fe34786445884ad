#pragma once

// Memory of a device for the kernels of one call. For .cu files, and for src/cuda.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "dynet/except.h"

#include "kernels/launch.h"

namespace dynet::kernels {

/// Taken and given back in the order of a stream: kernels that were started before the end of this
/// object may use the memory, later calls get it again.
class DeviceScratch {
 public:
  /// Throws out_of_memory.
  DeviceScratch(std::int64_t bytes, void* cuda_stream)
      : stream_(static_cast<cudaStream_t>(cuda_stream)) {
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    cudaError_t error = cudaMallocAsync(&data_, size, stream_);
    if (error == cudaErrorMemoryAllocation) {  // freed memory may wait for its turn in the stream
      static_cast<void>(cudaGetLastError());
      check_cuda(cudaStreamSynchronize(stream_), "the memory of a call");
      error = cudaMallocAsync(&data_, size, stream_);
    }
    if (error == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());
      int device = 0;
      static_cast<void>(cudaGetDevice(&device));
      throw out_of_memory("GPU:" + std::to_string(device) + " refused " + std::to_string(bytes) +
                          " bytes for a call");
    }
    check_cuda(error, "the memory of a call");
  }
  DeviceScratch(const DeviceScratch&) = delete;
  DeviceScratch& operator=(const DeviceScratch&) = delete;
  ~DeviceScratch() { static_cast<void>(cudaFreeAsync(data_, stream_)); }

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] float* numbers() const { return static_cast<float*>(data_); }

 private:
  cudaStream_t stream_;
  void* data_ = nullptr;
};

}  // namespace dynet::kernels
