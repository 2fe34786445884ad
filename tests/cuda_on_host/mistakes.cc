#include "mistakes.h"

namespace cuda_on_host::testing {

/// Any file might write it, so that compilers read it.
extern float host_variable;
float host_variable = 7.0F;

namespace {

template <class... P, class... A>
void start(void (*kernel)(P...), unsigned blocks, unsigned threads, cudaStream_t stream,
           A... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  cudaLaunchKernelEx(&config, kernel, arguments...);
}

__device__ float sum_of_block(float v, Barriers barriers) {
  __shared__ float all[kThreads];
  all[threadIdx.x] = v;
  if (barriers != Barriers::kLast) {
    __syncthreads();
  }
  float sum = 0;
  for (unsigned i = 0; i < kThreads; ++i) {
    sum += all[i];
  }
  if (barriers != Barriers::kFirst) {
    __syncthreads();
  }
  return sum;
}
__global__ void sums(float* y, Barriers barriers) {
  y += std::ptrdiff_t{4} * blockIdx.x;
  for (unsigned k = 0; k < 4; ++k) {
    const float s = sum_of_block(static_cast<float>(threadIdx.x + k), barriers);
    if (threadIdx.x == k) {
      y[k] = s;
    }
  }
}
__global__ void warp_sum(float* y, int active, unsigned mask) {
  auto v = static_cast<float>(threadIdx.x);
  if (static_cast<int>(threadIdx.x) < active) {
    for (int d = 16; d > 0; d /= 2) {
      v += __shfl_xor_sync(mask, v, d);
    }
  }
  if (threadIdx.x == 0) {
    *y = v;
  }
}
__global__ void warp_leaves(float* y, bool has_exchange) {
  __shared__ float all[32];
  all[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (has_exchange) {
    __syncwarp();
  }
  if (threadIdx.x == 0) {
    float sum = 0;
    for (const float v : all) {
      sum += v;
    }
    *y = sum;
  }
}
__global__ void early_return(float* y) {
  if (threadIdx.x >= 100) {
    return;
  }
  __syncthreads();
  y[threadIdx.x] = 1;
}
__global__ void set(float* y, float v, int n) {
  const auto i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) {
    y[i] = v;
  }
}
__global__ void count(float* y, Adds how) {
  if (how == Adds::kAtomic) {
    atomicAdd(y, 1.0F);
  } else {
    *y += 1.0F;
  }
}
__global__ void in_order(float* y) {
  if (threadIdx.x == 0) {
    y[blockIdx.x] = blockIdx.x == 0 ? 1.0F : y[blockIdx.x - 1] + 1.0F;
  }
}
__global__ void unset_shared(float* y) {
  __shared__ float kept;
  if (blockIdx.x == 12345) {
    kept = 0;
  }
  *y = kept + 1.0F;
}
__global__ void read_host_variable(float* y) { *y = host_variable; }
// NOLINTBEGIN(clang-analyzer-core.*): the mistake is deliberate.
__global__ void write_foreign_local(float* y) {
  __shared__ float* local_of_1;
  float local = 1.0F;
  if (threadIdx.x == 1) {
    local_of_1 = &local;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    *local_of_1 = 2.0F;
  }
  __syncthreads();
  if (threadIdx.x == 1) {
    *y = local;
  }
}
// NOLINTEND(clang-analyzer-core.*)

}  // namespace

void start_sums(float* y, Barriers barriers) { start(sums, 3, kThreads, nullptr, y, barriers); }
void start_warp_sum(float* y, int active, unsigned mask) {
  start(warp_sum, 1, 32, nullptr, y, active, mask);
}
void start_warp_leaves(float* y, bool has_exchange) {
  start(warp_leaves, 1, 32, nullptr, y, has_exchange);
}
void start_early_return(float* y) { start(early_return, 1, kThreads, nullptr, y); }
void start_set(float* y, float v, int n, cudaStream_t stream, unsigned threads) {
  start(set, 1, threads, stream, y, v, n);
}
void start_count(float* y, Adds how) { start(count, 4, 64, nullptr, y, how); }
void start_in_order(float* y) { start(in_order, 16, 32, nullptr, y); }
void start_unset_shared(float* y) { start(unset_shared, 1, 1, nullptr, y); }
void start_host_variable(float* y) { start(read_host_variable, 1, 1, nullptr, y); }
void start_foreign_local(float* y) { start(write_foreign_local, 1, 32, nullptr, y); }

}  // namespace cuda_on_host::testing
