// Loops over rows of numbers: copies, sums, products by element.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "carried.h"
#include "float_loops.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_vector.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd_memory-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {
namespace {

/// One column. As MulAdd also at the end, because an element's result must not depend on where it
/// lies.
template <bool kStores>
HWY_INLINE void add_scaled_column(FloatVector factor, const float* x, float* y, std::size_t n) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  if constexpr (kStores) {
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      hn::StoreU(hn::Mul(factor, hn::LoadU(d, x + i)), d, y + i);
      hn::StoreU(hn::Mul(factor, hn::LoadU(d, x + i + lanes)), d, y + i + lanes);
    }
  } else {
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      const auto y0 = hn::LoadU(d, y + i);
      const auto y1 = hn::LoadU(d, y + i + lanes);
      hn::StoreU(hn::MulAdd(factor, hn::LoadU(d, x + i), y0), d, y + i);
      hn::StoreU(hn::MulAdd(factor, hn::LoadU(d, x + i + lanes), y1), d, y + i + lanes);
    }
  }
  for (; i < n; i += lanes) {
    const std::size_t part = HWY_MIN(lanes, n - i);
    const auto from = load_part(d, x + i, part);
    const auto result =
        kStores ? hn::Mul(factor, from) : hn::MulAdd(factor, from, load_part(d, y + i, part));
    store_part(result, d, y + i, part);
  }
}

void add_scaled_columns(float scale, const float* x, std::int64_t x_stride, float* y,
                        std::int64_t y_stride, std::int64_t rows, std::int64_t columns,
                        bool store) {
  const auto factor = hn::Set(FloatTag(), scale);
  const auto n = static_cast<std::size_t>(rows);
  if (store) {
    for (std::int64_t j = 0; j < columns; ++j, x += x_stride, y += y_stride) {
      add_scaled_column<true>(factor, x, y, n);
    }
  } else {
    for (std::int64_t j = 0; j < columns; ++j, x += x_stride, y += y_stride) {
      add_scaled_column<false>(factor, x, y, n);
    }
  }
}

void add_scaled(float scale, const float* x, float* y, std::int64_t count, bool store) {
  add_scaled_columns(scale, x, 0, y, 0, count, 1, store);
}

void repeat(float value, float* y, std::int64_t count, bool store) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto n = static_cast<std::size_t>(count);
  const auto v = hn::Set(d, value);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    put(v, d, y + i, store);
  }
  if (i < n) {
    put_part(v, d, y + i, n - i, store);
  }
}

/// A sum of many vectors, lane by lane, as two floats: `rest` is the rounding error of `sum`
/// (Knuth's sum of two).
struct LongVectorSum {
  FloatVector sum, rest;

  // Written out, because a constructor of the compiler's own has not the options of the target.
  HWY_INLINE LongVectorSum() : sum(hn::Zero(FloatTag())), rest(hn::Zero(FloatTag())) {}
  HWY_INLINE void add(FloatVector v) {
    const FloatVector all = hn::Add(sum, v);
    const FloatVector part = hn::Sub(all, sum);
    rest = hn::Add(rest, hn::Add(hn::Sub(sum, hn::Sub(all, part)), hn::Sub(v, part)));
    sum = all;
  }
  /// The rest of an infinite sum is NaN.
  [[nodiscard]] HWY_INLINE FloatVector get() const {
    return hn::IfThenElse(hn::IsFinite(sum), hn::Add(sum, rest), sum);
  }
};

/// Up to kMostTerms vectors go into each of four sums.
float sum_few(const float* x, std::size_t n) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d);
  auto s1 = hn::Zero(d);
  auto s2 = hn::Zero(d);
  auto s3 = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = hn::Add(s0, hn::LoadU(d, x + i));
    s1 = hn::Add(s1, hn::LoadU(d, x + i + lanes));
    s2 = hn::Add(s2, hn::LoadU(d, x + i + 2 * lanes));
    s3 = hn::Add(s3, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i < n; i += lanes) {
    s0 = hn::Add(s0, load_part(d, x + i, HWY_MIN(lanes, n - i)));
  }
  s0 = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
  return hn::GetLane(hn::SumOfLanes(d, s0));
}

float sum(const float* x, std::int64_t count) {
  const std::size_t most = std::size_t{4 * kMostTerms} * hn::Lanes(FloatTag());
  auto n = static_cast<std::size_t>(count);
  if (n <= most) {
    return sum_few(x, n);
  }
  double all = 0.0;
  for (; n > most; n -= most, x += most) {
    all += static_cast<double>(sum_few(x, most));
  }
  return static_cast<float>(all + static_cast<double>(sum_few(x, n)));
}

/// Sums of `count` columns of kVectors vectors; of one vector, of `part` lanes.
template <std::size_t kVectors>
HWY_INLINE void add_up(const float* from, std::int64_t stride, std::int64_t count, std::size_t part,
                       FloatVector (&sum)[kVectors]) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t v = 0; v < kVectors; ++v) {
    sum[v] = hn::Zero(d);
  }
  for (std::int64_t j = 0; j < count; ++j, from += stride) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const float* const at = from + v * lanes;
      sum[v] = hn::Add(sum[v], kVectors == 1 ? load_part(d, at, part) : hn::LoadU(d, at));
    }
  }
}

template <std::size_t kVectors>
HWY_INLINE void sum_strip(FloatVector factor, const float* x, std::int64_t stride,
                          std::int64_t columns, float* y, std::size_t part) {
  const FloatTag d;
  FloatVector sum[kVectors];
  if (columns <= kMostTerms) {
    add_up(x, stride, columns, part, sum);
  } else {
    LongVectorSum all[kVectors];
    for (std::int64_t j = 0; j < columns; j += kMostTerms) {
      add_up(x + j * stride, stride, HWY_MIN(kMostTerms, columns - j), part, sum);
      for (std::size_t v = 0; v < kVectors; ++v) {
        all[v].add(sum[v]);
      }
    }
    for (std::size_t v = 0; v < kVectors; ++v) {
      sum[v] = all[v].get();
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) {
    float* const to = y + v * hn::Lanes(d);
    if constexpr (kVectors == 1) {
      store_part(hn::MulAdd(factor, sum[v], load_part(d, to, part)), d, to, part);
    } else {
      hn::StoreU(hn::MulAdd(factor, sum[v], hn::LoadU(d, to)), d, to);
    }
  }
}

void sum_columns(float scale, const float* x, std::int64_t stride, std::int64_t columns, float* y,
                 std::int64_t rows) {
  const std::size_t lanes = hn::Lanes(FloatTag());
  const auto n = static_cast<std::size_t>(rows);
  const auto factor = hn::Set(FloatTag(), scale);
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    sum_strip<4>(factor, x + i, stride, columns, y + i, lanes);
  }
  for (; i < n; i += lanes) {
    sum_strip<1>(factor, x + i, stride, columns, y + i, HWY_MIN(lanes, n - i));
  }
}

/// Squares are exact in double, and always 32 partial sums are kept: the result does not depend on
/// the target, whether it rounds between product and sum or not. With fewer sums each addition
/// waits for the one before.
double squared_norm(const float* x, std::int64_t count) {
  constexpr std::size_t kSums = 32;
  const hn::CappedTag<double, 8> dd;
  const hn::Rebind<float, decltype(dd)> df;
  const std::size_t lanes = hn::Lanes(dd);
  const auto n = static_cast<std::size_t>(count);
  alignas(64) double sums[kSums] = {};
  std::size_t i = 0;
  hn::Vec<decltype(dd)> s[kSums / 2];  // of two lanes at least
  const std::size_t vectors = kSums / lanes;
  for (std::size_t v = 0; v < vectors; ++v) {
    s[v] = hn::Zero(dd);
  }
  for (; i + kSums <= n; i += kSums) {
    for (std::size_t v = 0; v < vectors; ++v) {
      const auto wide = hn::PromoteTo(dd, hn::LoadU(df, x + i + v * lanes));
      s[v] = hn::MulAdd(wide, wide, s[v]);
    }
  }
  for (std::size_t v = 0; v < vectors; ++v) {
    hn::Store(s[v], dd, sums + v * lanes);
  }
  for (std::size_t k = 0; i < n; ++i, ++k) {
    sums[k] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  for (std::size_t width = kSums / 2; width > 0; width /= 2) {
    for (std::size_t k = 0; k < width; ++k) {
      sums[k] += sums[k + width];
    }
  }
  return sums[0];
}

using FourTag = hn::FixedTag<float, 4>;
using Quad = hn::Vec<FourTag>;

/// The columns of a square of 4 by 4.
HWY_INLINE void turn_square(const float* x, std::int64_t x_stride, Quad (&column)[4]) {
  const FourTag d;
  transpose_four(d, hn::LoadU(d, x), hn::LoadU(d, x + x_stride), hn::LoadU(d, x + 2 * x_stride),
                 hn::LoadU(d, x + 3 * x_stride), column);
}

/// Squares of 4 by 4: rows of x in, columns of y out.
void transpose_squares(float scale, const float* x, std::int64_t x_stride, float* y,
                       std::int64_t y_stride, std::int64_t rows, std::int64_t columns, bool store) {
  const FourTag d;
  const auto factor = hn::Set(d, scale);
  const auto one = [&](std::int64_t i, std::int64_t j) HWY_ATTR {
    const float value = scale * x[i * x_stride + j];
    float& to = y[i + j * y_stride];
    to = store ? value : to + value;
  };
  std::int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    std::int64_t j = 0;
    for (; j + 4 <= columns; j += 4) {
      Quad column[4];
      turn_square(x + i * x_stride + j, x_stride, column);
      for (std::int64_t k = 0; k < 4; ++k) {
        float* to = y + i + (j + k) * y_stride;
        const auto value = hn::Mul(factor, column[k]);
        hn::StoreU(store ? value : hn::Add(hn::LoadU(d, to), value), d, to);
      }
    }
    for (; j < columns; ++j) {
      for (std::int64_t k = 0; k < 4; ++k) {
        one(i + k, j);
      }
    }
  }
  for (; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      one(i, j);
    }
  }
}

/// Rows and columns of a tile: the numbers of a cache line. Rows of x that lie a page apart share
/// one place in the cache, so a tile is turned in memory of its own: each line of x is read once,
/// and each line of y is written once.
constexpr std::int64_t kTile = 16;

void transpose_tile(float scale, const float* x, std::int64_t x_stride, float* y,
                    std::int64_t y_stride, bool store) {
  const FloatTag d;
  const FourTag d4;
  const auto factor = hn::Set(d, scale);
  constexpr auto kSide = static_cast<std::size_t>(kTile);
  alignas(64) float tile[kSide * kSide];
  for (std::size_t i = 0; i < kSide; i += 4, x += 4 * x_stride) {
    for (std::size_t j = 0; j < kSide; j += 4) {
      Quad column[4];
      turn_square(x + j, x_stride, column);
      for (std::size_t k = 0; k < 4; ++k) {
        hn::Store(column[k], d4, tile + (j + k) * kSide + i);
      }
    }
  }
  for (std::size_t j = 0; j < kSide; ++j, y += y_stride) {
    for (std::size_t i = 0; i < kSide; i += hn::Lanes(d)) {
      put(hn::Mul(factor, hn::Load(d, tile + j * kSide + i)), d, y + i, store);
    }
  }
}

void transpose(float scale, const float* x, std::int64_t x_stride, float* y, std::int64_t y_stride,
               std::int64_t rows, std::int64_t columns, bool store) {
  const std::int64_t tiled_columns = columns / kTile * kTile;
  std::int64_t i = 0;
  for (; i + kTile <= rows && tiled_columns > 0; i += kTile) {
    for (std::int64_t j = 0; j < tiled_columns; j += kTile) {
      transpose_tile(scale, x + i * x_stride + j, x_stride, y + i + j * y_stride, y_stride, store);
    }
    transpose_squares(scale, x + i * x_stride + tiled_columns, x_stride,
                      y + i + tiled_columns * y_stride, y_stride, kTile, columns - tiled_columns,
                      store);
  }
  transpose_squares(scale, x + i * x_stride, x_stride, y + i, y_stride, rows - i, columns, store);
}

}  // namespace

void fill_vector_loops(FloatLoops& loops) {
  loops.add_scaled = add_scaled;
  loops.add_scaled_columns = add_scaled_columns;
  loops.repeat = repeat;
  loops.sum = sum;
  loops.sum_columns = sum_columns;
  loops.squared_norm = squared_norm;
  loops.transpose = transpose;
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet::kernels {
HWY_EXPORT(fill_vector_loops);
void choose_vector_loops(FloatLoops& loops) { DYNET_FOR_TARGET(fill_vector_loops)(loops); }
}  // namespace dynet::kernels
#endif
