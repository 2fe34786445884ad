#pragma once

// Sums in kernels of a device, always in the same order, so that a program gives the same bits at
// each run. For .cu files.

#include <cuda_runtime.h>

#include <cmath>

namespace dynet::kernels {

/// What rounding took from `sum`, which is a + b.
__device__ inline float error_of_sum(float a, float b, float sum) {
  return std::fabs(a) >= std::fabs(b) ? (a - sum) + b : (b - sum) + a;
}
/// As larger() of operands.h: NaN stays, and replaces numbers.
__device__ inline float larger_on_device(float there, float x) {
  return x > there || x != x ? x : there;
}

/// Adds to a sum that has its rounding error beside it. The error stays below half of the sum's
/// last place: a million errors that grow would round as the sum itself does.
__device__ inline void add_with_rest(float& sum, float& rest, float v) {
  const float next = sum + v;
  if (!std::isfinite(next)) {
    sum = next;
    return;
  }
  const float error = rest + error_of_sum(sum, v, next);
  sum = next + error;
  rest = error_of_sum(next, error, sum);
}

/// A sum of many numbers, with the rounding errors of its additions: as exact as a sum in double,
/// and consumer cards compute in double at a 64th of the speed.
class DeviceSum {
 public:
  __device__ void add(float v) { add_with_rest(sum_, rest_, v); }
  /// Adds the sums of all lanes of the warp; the first lane has the result.
  __device__ void add_lanes() {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
      const float sum = __shfl_xor_sync(0xffffffffU, sum_, lanes);
      const float rest = __shfl_xor_sync(0xffffffffU, rest_, lanes);
      add(sum);
      add(rest);
    }
  }
  [[nodiscard]] __device__ float get() const { return std::isfinite(sum_) ? sum_ + rest_ : sum_; }

 private:
  float sum_ = 0.0F, rest_ = 0.0F;
};

/// The sum of one number of each thread of a block, of whole warps and kMostThreads at most, for
/// all its threads. The lanes of a warp are added first, then the warps from the first to the last.
template <int kMostThreads, class T>
__device__ T sum_of_block(T v) {
  constexpr int kWarp = 32;
  __shared__ T of_warp[kMostThreads / kWarp];
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    v += __shfl_xor_sync(0xffffffffU, v, lanes);
  }
  __syncthreads();  // all have read the sums of an earlier call
  if (threadIdx.x % kWarp == 0) {
    of_warp[threadIdx.x / kWarp] = v;
  }
  __syncthreads();
  T sum = of_warp[0];
  for (unsigned w = 1; w < blockDim.x / kWarp; ++w) {
    sum += of_warp[w];
  }
  return sum;
}

}  // namespace dynet::kernels
