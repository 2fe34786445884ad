#pragma once

// The loops over floats in a row of the SIMD files, as a table for the target in use.
//
// Lengths and strides are in elements. `store`: results replace the numbers there; else results are
// added. Sources and destinations do not overlap.

#include <cstdint>

#include "dynet/ext/kernels.h"

#include "chain_step.h"
#include "philox.h"

namespace dynet::kernels {

/// Factors of the same sizes and strides as the factors of a Gemm.
struct GemmFactors {
  const float* a;
  const float* b;
};
/// c {m,n} = or += a {m,k} * b {k,n}. `a` is column-major with `lda` between columns; transposed,
/// it is stored as {k,m}. Element (p, j) of b is at b[p * b_row + j * b_column].
struct Gemm {
  std::int64_t m, n, k;
  const float* a;
  std::int64_t lda;
  bool a_transposed;
  const float* b;
  std::int64_t b_row, b_column;
  float* c;
  std::int64_t ldc;
  bool store;
  const float* start;  ///< {m}: the start of each column if `store`; null: zeros
  /// If not null, gets the squared norm of c after the product, or a NaN if the norm was not
  /// counted.
  double* squared_norm;
  /// Further products, which are added: a walk of inner products then adds up its lanes once for
  /// all.
  const GemmFactors* more = nullptr;
  std::int64_t more_count = 0;  ///< kMostMore at most; 0 unless a_transposed and b_row == 1
  static constexpr std::int64_t kMostMore = 3;
};

struct FloatLoops {
  /// y = scale * x
  void (*add_scaled)(float scale, const float* x, float* y, std::int64_t n, bool store);
  /// y[i + j * y_stride] = scale * x[i + j * x_stride], for `rows` elements i and `columns` j
  void (*add_scaled_columns)(float scale, const float* x, std::int64_t x_stride, float* y,
                             std::int64_t y_stride, std::int64_t rows, std::int64_t columns,
                             bool store);
  /// y_i = value
  void (*repeat)(float value, float* y, std::int64_t n, bool store);
  float (*sum)(const float* x, std::int64_t n);
  /// y_i += scale * sum_j x[i + j * stride], for `rows` elements i and `columns` j.
  void (*sum_columns)(float scale, const float* x, std::int64_t stride, std::int64_t columns,
                      float* y, std::int64_t rows);
  /// y[i + j * y_stride] = scale * x[i * x_stride + j]
  void (*transpose)(float scale, const float* x, std::int64_t x_stride, float* y,
                    std::int64_t y_stride, std::int64_t rows, std::int64_t columns, bool store);
  double (*squared_norm)(const float* x, std::int64_t n);

  /// Uniform in [low, low + width).
  void (*uniform)(float low, float width, const PhiloxKey& key, float* y, std::int64_t n);
  /// `value` if the draw is below `threshold`, else 0.
  void (*bernoulli)(std::uint32_t threshold, float value, const PhiloxKey& key, float* y,
                    std::int64_t n);
  void (*gumbel)(float location, float scale, const PhiloxKey& key, float* y, std::int64_t n);
  void (*normal)(float mean, float deviation, const PhiloxKey& key, float* y, std::int64_t n);

  void (*gemm)(const Gemm& g);

  // The steps of chains: chain_step.h.
  float (*chain_arrive)(const float* before, const float* emissions, const float* end,
                        std::int64_t n, float* a);
  void (*chain_sum)(const ChainStep<float>& step, float* y);
  void (*chain_best)(const ChainStep<float>& step, float* y);
  void (*chain_pull)(const ChainStep<float>& step, const float* y, const float* dy, float* da,
                     float* dw);
};

/// The loops of the target in use. choose_float_loops() fills the table; cpu_kernels() does so
/// first.
[[nodiscard]] const FloatLoops& float_loops();
void choose_float_loops();

// Each file of loops fills in its part.
void choose_vector_loops(FloatLoops& loops);
void choose_random_loops(FloatLoops& loops);
void choose_gemm_loops(FloatLoops& loops);
void choose_chain_loops(FloatLoops& loops);

}  // namespace dynet::kernels
