// Numbers in a row on CUDA: filled, drawn, added, and their squared norm.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <span>
#include <vector>

#include "../philox.h"
#include "kernels/device_loops.h"
#include "kernels/device_operands.h"
#include "kernels/device_scratch.h"
#include "kernels/device_sum.h"
#include "kernels/launch.h"

namespace dynet::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kNormThreads = 256;
constexpr std::int64_t kNormPart = 4096;  // elements

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

/// Additions in order. The table: the places that are added to, with the lowest bit set if the old
/// number counts; the first addition of each place, unless each place has one; the addends.
struct AdditionCall {
  std::int64_t n, places, additions;
  float scale;
  DeviceWords words;
};
/// A thread has an element of a place.
__global__ void run_add_all(const __grid_constant__ AdditionCall p) {
  const bool has_firsts = p.places != p.additions;
  const std::int64_t addends = has_firsts ? 2 * p.places : p.places;
  for (std::int64_t t = first_element(); t < p.places * p.n; t += element_step()) {
    const std::int64_t place = t / p.n;
    const std::int64_t i = t % p.n;
    const auto first = has_firsts ? static_cast<std::int64_t>(p.words[p.places + place]) : place;
    std::int64_t end = place + 1;
    if (has_firsts) {
      end = end < p.places ? static_cast<std::int64_t>(p.words[p.places + end]) : p.additions;
    }
    const std::uint64_t to = p.words[place];
    float& y = reinterpret_cast<float*>(to & ~std::uint64_t{1})[i];
    DeviceSum sum;
    for (std::int64_t k = first; k < end; ++k) {
      sum.add(p.scale * reinterpret_cast<const float*>(p.words[addends + k])[i]);
    }
    y = (to & 1U) != 0 ? y + sum.get() : sum.get();
  }
}

/// The table: the first part of each run, and the addresses of the runs. A part is a number of
/// elements that a block sums.
struct NormCall {
  std::int64_t runs, parts;
  DeviceWords words;
};
/// The run of a part.
__device__ std::int64_t run_of(const NormCall& p, std::int64_t part) {
  std::int64_t low = 0;
  for (std::int64_t high = p.runs; high - low > 1;) {
    const std::int64_t middle = (low + high) / 2;
    (static_cast<std::int64_t>(p.words[3 * middle]) <= part ? low : high) = middle;
  }
  return low;
}
__global__ void run_squared_norm_of_parts(const __grid_constant__ NormCall p, double* sums) {
  for (std::int64_t part = blockIdx.x; part < p.parts; part += gridDim.x) {
    const std::int64_t run = run_of(p, part);
    const std::int64_t first = (part - static_cast<std::int64_t>(p.words[3 * run])) * kNormPart;
    const auto* x = reinterpret_cast<const float*>(p.words[3 * run + 1]);
    const auto n = static_cast<std::int64_t>(p.words[3 * run + 2]);
    const std::int64_t end = first + kNormPart < n ? first + kNormPart : n;
    double squares = 0.0;
    for (std::int64_t i = first + threadIdx.x; i < end; i += blockDim.x) {
      squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    }
    const double all = sum_of_block<kNormThreads>(squares);
    if (threadIdx.x == 0) {
      sums[part] = all;
    }
  }
}
/// One block, so that the sum has one order.
__global__ void run_squared_norm(const double* sums, std::int64_t n, double* sum) {
  double mine = 0.0;
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    mine += sums[i];
  }
  const double all = sum_of_block<kNormThreads>(mine);
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
void start_add_all(double scale, std::span<const ext::Addition> all, std::int64_t n,
                   void* cuda_stream) {
  if (all.empty() || n == 0) {
    return;
  }
  std::vector<ext::Addition> sorted(all.begin(), all.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const ext::Addition& a, const ext::Addition& b) {
                     return std::less<const void*>()(a.to, b.to);
                   });
  std::vector<std::uint64_t> places;
  std::vector<std::uint64_t> firsts;
  std::vector<std::uint64_t> addends;
  for (const ext::Addition& a : sorted) {
    const auto to = reinterpret_cast<std::uint64_t>(a.to) | (a.stores ? 0U : 1U);
    if (places.empty() || (places.back() | 1U) != (to | 1U)) {
      places.push_back(to);
      firsts.push_back(addends.size());
    } else if (a.stores) {  // the additions before are overwritten
      places.back() = to;
      addends.resize(firsts.back());
    }
    addends.push_back(reinterpret_cast<std::uint64_t>(a.from));
  }
  AdditionCall p{n,
                 static_cast<std::int64_t>(places.size()),
                 static_cast<std::int64_t>(addends.size()),
                 static_cast<float>(scale),
                 {}};
  if (places.size() != addends.size()) {
    places.insert(places.end(), firsts.begin(), firsts.end());
  }
  places.insert(places.end(), addends.begin(), addends.end());
  const WordsOnDevice words(places, cuda_stream);
  p.words = words.get();
  launch("add_all", run_add_all, blocks_for(p.places * n, kThreads),
         threads_for(p.places * n, kThreads), cuda_stream, p);
}
void start_squared_norms(std::span<const ext::NumberRun> all, double* sum, void* cuda_stream) {
  std::vector<std::uint64_t> table;
  NormCall p{0, 0, {}};
  for (const ext::NumberRun& x : all) {
    if (x.n != 0) {
      table.insert(table.end(),
                   {static_cast<std::uint64_t>(p.parts), reinterpret_cast<std::uint64_t>(x.data),
                    static_cast<std::uint64_t>(x.n)});
      p.parts += (x.n + kNormPart - 1) / kNormPart;
      ++p.runs;
    }
  }
  if (p.runs == 0) {
    return;
  }
  const WordsOnDevice words(table, cuda_stream);
  p.words = words.get();
  const DeviceScratch sums(p.parts * std::int64_t{sizeof(double)}, cuda_stream);
  auto* const parts = static_cast<double*>(sums.data());
  launch("add_squared_norms", run_squared_norm_of_parts, blocks_for(p.parts, 1), kNormThreads,
         cuda_stream, p, parts);
  launch("add_squared_norms", run_squared_norm, 1, kNormThreads, cuda_stream,
         static_cast<const double*>(parts), p.parts, sum);
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
