#pragma once

// The limits of this machine, measured in the run that is compared with them: multiply-adds a
// second, and the bandwidth of a pass that reads, or reads and writes, an array in L1, L2 and L3.
// One core, hot.
//
// Header only, and without the library, so that every bench can include it. Arrays are streams of
// whole vectors; bandwidths count each byte once for reading and once more for writing.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dynet::bench {

struct Machine {
  const char* simd = "";
  double fma_gflops = 0;
  double l1_read_gbs = 0, l2_read_gbs = 0, l3_read_gbs = 0;
  double l1_rmw_gbs = 0, l2_rmw_gbs = 0, l3_rmw_gbs = 0;
  std::size_t l2_bytes = 0;
};

/// Least seconds of one call of `f`: `repeats` rounds with enough calls to fill `round_seconds`.
template <class F>
double seconds_a_call(F&& f, double round_seconds = 0.005, int repeats = 3) {
  using Clock = std::chrono::steady_clock;
  const auto time = [&f](std::int64_t calls) {
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < calls; ++i) {
      f();
    }
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  std::int64_t calls = 1;
  double seconds = time(1);
  while (seconds < round_seconds / 2 && calls < (std::int64_t{1} << 40)) {
    calls *= 2;
    seconds = time(calls);
  }
  double best = seconds / static_cast<double>(calls);
  for (int i = 0; i < repeats; ++i) {
    best = std::min(best, time(calls) / static_cast<double>(calls));
  }
  return best;
}

namespace detail {

/// Keeps the compiler from removing a value, and all of memory.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

// The three loops for one vector type, as a macro because a target attribute cannot be a template
// argument. Twelve sums are enough for two units with a latency of four cycles and more. All sums
// differ, or the compiler would make them one.
// NOLINTBEGIN(bugprone-macro-parentheses): an attribute cannot stand in parentheses.
#define DYNET_BENCH_PROBES(suffix, attribute, Vector, kLanes, zero, load, store, add, fma)        \
  attribute inline void fma_loop_##suffix(std::int64_t steps, float* out) {                       \
    Vector s[12];                                                                                 \
    _Pragma("GCC unroll 12") for (int j = 0; j < 12; ++j) { s[j] = load(out + j); }               \
    const Vector a = load(out + std::size_t{2} * (kLanes));                                       \
    for (std::int64_t i = 0; i < steps; ++i) {                                                    \
      _Pragma("GCC unroll 12") for (int j = 0; j < 12; ++j) { s[j] = fma(s[j], a, a); }           \
    }                                                                                             \
    _Pragma("GCC unroll 12") for (int j = 1; j < 12; ++j) { s[0] = add(s[0], s[j]); }             \
    store(out, s[0]);                                                                             \
  }                                                                                               \
  attribute inline void read_loop_##suffix(const float* x, std::size_t n, float* out) {           \
    Vector s[8];                                                                                  \
    _Pragma("GCC unroll 8") for (int j = 0; j < 8; ++j) { s[j] = zero(); }                        \
    for (std::size_t i = 0; i + std::size_t{8} * (kLanes) <= n; i += std::size_t{8} * (kLanes)) { \
      _Pragma("GCC unroll 8") for (std::size_t j = 0; j < 8; ++j) {                               \
        s[j] = add(s[j], load(x + i + j * (kLanes)));                                             \
      }                                                                                           \
    }                                                                                             \
    _Pragma("GCC unroll 8") for (int j = 1; j < 8; ++j) { s[0] = add(s[0], s[j]); }               \
    store(out, s[0]);                                                                             \
  }                                                                                               \
  attribute inline void rmw_loop_##suffix(float* x, std::size_t n, const float* by) {             \
    const Vector b = load(by);                                                                    \
    for (std::size_t i = 0; i + std::size_t{8} * (kLanes) <= n; i += std::size_t{8} * (kLanes)) { \
      _Pragma("GCC unroll 8") for (std::size_t j = 0; j < 8; ++j) {                               \
        store(x + i + j * (kLanes), add(load(x + i + j * (kLanes)), b));                          \
      }                                                                                           \
    }                                                                                             \
  }

// NOLINTEND(bugprone-macro-parentheses)
#if defined(__x86_64__)
#define DYNET_BENCH_MULADD(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
DYNET_BENCH_PROBES(sse, , __m128, 4, _mm_setzero_ps, _mm_loadu_ps, _mm_storeu_ps, _mm_add_ps,
                   DYNET_BENCH_MULADD)
DYNET_BENCH_PROBES(avx2, __attribute__((target("avx2,fma"))), __m256, 8, _mm256_setzero_ps,
                   _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_fmadd_ps)
DYNET_BENCH_PROBES(avx512, __attribute__((target("avx512f"))), __m512, 16, _mm512_setzero_ps,
                   _mm512_loadu_ps, _mm512_storeu_ps, _mm512_add_ps, _mm512_fmadd_ps)
#undef DYNET_BENCH_MULADD
#else
using Four = float __attribute__((vector_size(16)));
inline Four load_four(const float* p) { return Four{p[0], p[1], p[2], p[3]}; }
inline void store_four(float* p, Four v) {
  for (int i = 0; i < 4; ++i) {
    p[i] = v[i];
  }
}
#define DYNET_BENCH_ZERO() (Four{})
#define DYNET_BENCH_ADD(a, b) ((a) + (b))
#define DYNET_BENCH_MULADD(a, b, c) ((a) * (b) + (c))
DYNET_BENCH_PROBES(plain, , Four, 4, DYNET_BENCH_ZERO, load_four, store_four, DYNET_BENCH_ADD,
                   DYNET_BENCH_MULADD)
#undef DYNET_BENCH_ZERO
#undef DYNET_BENCH_ADD
#undef DYNET_BENCH_MULADD
#endif
#undef DYNET_BENCH_PROBES

struct Loops {
  const char* name;
  int lanes;
  void (*fma)(std::int64_t, float*);
  void (*read)(const float*, std::size_t, float*);
  void (*rmw)(float*, std::size_t, const float*);
};

inline Loops best_loops() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    return {"AVX512", 16, fma_loop_avx512, read_loop_avx512, rmw_loop_avx512};
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {"AVX2", 8, fma_loop_avx2, read_loop_avx2, rmw_loop_avx2};
  }
  return {"SSE", 4, fma_loop_sse, read_loop_sse, rmw_loop_sse};
#else
  return {"128 bit", 4, fma_loop_plain, read_loop_plain, rmw_loop_plain};
#endif
}

/// A cache's size in bytes, or `otherwise` if the system does not say.
inline std::size_t cache_bytes(int level, std::size_t otherwise) {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  const int name = level == 1 ? _SC_LEVEL1_DCACHE_SIZE
                              : (level == 2 ? _SC_LEVEL2_CACHE_SIZE : _SC_LEVEL3_CACHE_SIZE);
  const long bytes = sysconf(name);
  if (bytes > 0) {
    return static_cast<std::size_t>(bytes);
  }
#endif
  return otherwise;
}

}  // namespace detail

/// Takes about a second. Rounds are short and many, because a neighbour on the machine spoils most
/// long ones.
inline Machine probe_machine() {
  const detail::Loops loops = detail::best_loops();
  Machine machine;
  machine.simd = loops.name;
  machine.l2_bytes = detail::cache_bytes(2, std::size_t{1} << 20);
  alignas(64) float out[48];
  for (float& v : out) {
    v = 0.5F;
  }
  constexpr std::int64_t kSteps = 100000;
  const double fma_seconds = seconds_a_call([&] { loops.fma(kSteps, out); }, 0.002, 60);
  detail::keep(out);
  machine.fma_gflops = 2.0 * 12 * loops.lanes * kSteps / fma_seconds * 1e-9;
  const std::size_t l3 = std::min(machine.l2_bytes * 4, std::size_t{16} << 20);
  const std::size_t bytes[3] = {detail::cache_bytes(1, 32768) / 2, machine.l2_bytes / 2, l3};
  double* const read[3] = {&machine.l1_read_gbs, &machine.l2_read_gbs, &machine.l3_read_gbs};
  double* const rmw[3] = {&machine.l1_rmw_gbs, &machine.l2_rmw_gbs, &machine.l3_rmw_gbs};
  std::vector<float> storage(l3 / 4 + 16, 1.0F);
  void* aligned = storage.data();
  std::size_t room = storage.size() * 4;
  auto* const x = static_cast<float*>(std::align(64, l3, aligned, room));
  for (int level = 0; level < 3; ++level) {
    const std::size_t n = bytes[level] / 4 / 128 * 128;
    const double volume = static_cast<double>(n) * 4;
    out[0] = 0;
    *read[level] = volume /
                   seconds_a_call(
                       [&] {
                         loops.read(x, n, out);
                         detail::keep(out);
                       },
                       0.002, 30) *
                   1e-9;
    for (float& v : out) {
      v = 1e-9F;
    }
    *rmw[level] = 2 * volume /
                  seconds_a_call(
                      [&] {
                        loops.rmw(x, n, out);
                        detail::keep(*x);
                      },
                      0.002, 30) *
                  1e-9;
  }
  return machine;
}

}  // namespace dynet::bench
