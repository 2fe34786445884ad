// Numbers in a row on CUDA: filled, drawn, added, and their squared norm.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "../philox.h"
#include "kernels/device_loops.h"
#include "kernels/device_sum.h"
#include "kernels/launch.h"

namespace dynet::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kNormThreads = 1024;

__device__ std::int64_t first_element() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::int64_t element_step() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

__global__ void run_fill(float* to, float value, std::int64_t n) {
  for (std::int64_t i = first_element(); i < n; i += element_step()) {
    to[i] = value;
  }
}
__global__ void run_add_scaled(float scale, const float* x, float* y, std::int64_t n, bool stores) {
  for (std::int64_t i = first_element(); i < n; i += element_step()) {
    y[i] = stores ? scale * x[i] : y[i] + scale * x[i];
  }
}
/// One block, so that the sum has one order.
__global__ void run_squared_norm(const float* x, std::int64_t n, double* sum) {
  double squares = 0.0;
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  const double all = sum_of_block<kNormThreads>(squares);
  if (threadIdx.x == 0) {
    *sum += all;
  }
}

/// The parameters of a draw, in float.
struct Draw {
  ext::Distribution kind;
  float a, b;
  float top;                ///< uniform: the largest number below the upper bound
  std::uint32_t threshold;  ///< Bernoulli
  PhiloxKey key;
};
__device__ float unit(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24F; }
/// Element `place` of the four that a block of words gives.
__device__ float drawn(const Draw& d, const std::array<std::uint32_t, 4>& words,
                       std::size_t place) {
  const std::uint32_t word = words[place];
  if (d.kind == ext::Distribution::kBernoulli) {
    return word >> 8 < d.threshold ? d.b : 0.0F;
  }
  if (d.kind == ext::Distribution::kUniform) {
    const float v = d.a + d.b * unit(word);
    return v < d.top ? v : d.top;
  }
  if (d.kind == ext::Distribution::kGumbel) {
    const float u = unit(word) > 1e-20F ? unit(word) : 1e-20F;  // 0 once in 2^24 draws
    return d.a - d.b * std::log(-std::log(u));
  }
  // Box and Muller: words 0 and 1 give elements 0 and 1, words 2 and 3 the others.
  const std::size_t pair = place / 2 * 2;
  const float radius = std::sqrt(-2.0F * std::log(unit(words[pair]) + 0x1p-24F));
  const float angle = 2.0F * std::numbers::pi_v<float> * unit(words[pair + 1]);
  return d.a + d.b * radius * (place % 2 == 0 ? std::cos(angle) : std::sin(angle));
}
__global__ void run_random(Draw d, float* to, std::int64_t n) {
  for (std::int64_t i = first_element(); 4 * i < n; i += element_step()) {
    const auto words = philox(d.key, static_cast<std::uint64_t>(i));
    for (std::int64_t k = 0; k < 4 && 4 * i + k < n; ++k) {
      to[4 * i + k] = drawn(d, words, static_cast<std::size_t>(k));
    }
  }
}

}  // namespace

void start_fill(void* out, double value, std::int64_t n, void* cuda_stream) {
  if (n != 0) {
    launch("fill", run_fill, blocks_for(n, kThreads), threads_for(n, kThreads), cuda_stream,
           static_cast<float*>(out), static_cast<float>(value), n);
  }
}
void start_add_scaled(double scale, const void* x, void* y, std::int64_t n, bool store,
                      void* cuda_stream) {
  if (n != 0) {
    launch("add_scaled", run_add_scaled, blocks_for(n, kThreads), threads_for(n, kThreads),
           cuda_stream, static_cast<float>(scale), static_cast<const float*>(x),
           static_cast<float*>(y), n, store);
  }
}
void start_squared_norm(const void* x, std::int64_t n, double* sum, void* cuda_stream) {
  launch("add_squared_norm", run_squared_norm, 1, threads_for(n, kNormThreads), cuda_stream,
         static_cast<const float*>(x), n, sum);
}
void start_random(ext::Distribution kind, double a, double b, const ext::RandomKey& key, void* out,
                  std::int64_t n, void* cuda_stream) {
  const auto first = static_cast<float>(a);
  Draw d{kind, first, static_cast<float>(b), INFINITY, 0, PhiloxKey(key)};
  if (kind == ext::Distribution::kBernoulli) {
    d.threshold = bernoulli_threshold(a);
  } else if (kind == ext::Distribution::kUniform) {
    d.b = static_cast<float>(b - a);
    d.top = a < b ? std::nextafter(static_cast<float>(b), first) : INFINITY;
  }
  if (n != 0) {
    launch("random", run_random, blocks_for((n + 3) / 4, kThreads),
           threads_for((n + 3) / 4, kThreads), cuda_stream, d, static_cast<float*>(out), n);
  }
}

}  // namespace dynet::kernels
