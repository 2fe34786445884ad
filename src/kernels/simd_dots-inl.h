// Tiles of products with a transposed left operand that are inner products of columns, compiled
// once per target: a vector holds elements of the inner dimension.

#if defined(DYNET_KERNELS_SIMD_DOTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_DOTS_INL_H
#undef DYNET_KERNELS_SIMD_DOTS_INL_H
#else
#define DYNET_KERNELS_SIMD_DOTS_INL_H
#endif

#include <cstddef>
#include <cstdint>

#include "float_loops.h"
#include "hwy/highway.h"
#include "simd_gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

// With 32 registers a tile holds up to 24 sums, with 16 up to 12.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kDotColumns = 6;
#elif HWY_ARCH_ARM
inline constexpr int kDotColumns = 5;  // with 6 g++ 12 spills two of them
#else
inline constexpr int kDotColumns = 3;
#endif

/// Sums over each block of four lanes of four vectors; the four sums of a block lie side by side.
HWY_INLINE FloatVector sums_in_blocks(FloatVector a, FloatVector b, FloatVector c, FloatVector e) {
  const FloatTag d;
  const hn::Repartition<std::uint64_t, FloatTag> pairs;
  const auto ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const auto ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  const auto x = hn::BitCast(pairs, ab);
  const auto y = hn::BitCast(pairs, ce);
  return hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, x, y)),
                 hn::BitCast(d, hn::InterleaveUpper(pairs, x, y)));
}

/// Sums over all lanes of four vectors, as one vector of four.
HWY_INLINE hn::Vec<hn::FixedTag<float, 4>> sums_of_four(FloatVector a, FloatVector b, FloatVector c,
                                                        FloatVector e) {
  const FloatVector all = sums_in_blocks(a, b, c, e);
#if HWY_TARGET == HWY_AVX3
  const hn::Half<FloatTag> half;
  const hn::Half<decltype(half)> quarter;
  const auto h = hn::Add(hn::LowerHalf(half, all), hn::UpperHalf(half, all));
  return hn::Add(hn::LowerHalf(quarter, h), hn::UpperHalf(quarter, h));
#elif HWY_TARGET == HWY_AVX2
  const hn::Half<FloatTag> half;
  return hn::Add(hn::LowerHalf(half, all), hn::UpperHalf(half, all));
#else
  return all;
#endif
}

/// Inner products of columns: c[j * ldc + r] = or += dot(a + r * lda, b + j * ldb), of length k,
/// for `rows` columns of `a`, summed over all factors. One call does all columns, so that loads of
/// the next columns start during the reduction of the last sums.
struct DotArgs {
  std::size_t k;
  std::size_t lda;
  std::size_t ldb;
  float* c;
  std::size_t ldc;
  std::size_t rows;
  bool store;
  std::size_t factor_count;
  GemmFactors factors[1 + Gemm::kMostMore];
};

/// Stores or adds the sums of four rows, of which `rows` are wanted.
HWY_INLINE void put_four(hn::Vec<hn::FixedTag<float, 4>> sums, float* to, std::size_t rows,
                         bool store) {
  const hn::FixedTag<float, 4> four;
  if (rows >= 4) {
    hn::StoreU(store ? sums : hn::Add(sums, hn::LoadU(four, to)), four, to);
    return;
  }
  alignas(16) float values[4];
  hn::Store(sums, four, values);
  for (std::size_t r = 0; r < rows; ++r) {
    to[r] = store ? values[r] : to[r] + values[r];
  }
}

template <int kGroups, int kColumns, bool kPart>
HWY_INLINE void dot_step(FloatTag d, const DotArgs& t, const float* const (&rows)[4 * kGroups],
                         const float* columns, std::size_t i,
                         FloatVector (&sum)[kColumns][4 * kGroups]) {
  constexpr int kRows = 4 * kGroups;
  const std::size_t part = t.k - i;
  FloatVector a[kRows];
  DYNET_UNROLL for (int r = 0; r < kRows; ++r) {
    a[r] = kPart ? load_part(d, rows[r] + i, part) : hn::LoadU(d, rows[r] + i);
    if (kColumns > 1 && !kPart) {
      keep_in_register(a[r]);
    }
  }
  DYNET_UNROLL for (int j = 0; j < kColumns; ++j) {
    const float* b = columns + static_cast<std::size_t>(j) * t.ldb + i;
    const auto y = kPart ? load_part(d, b, part) : hn::LoadU(d, b);
    DYNET_UNROLL for (int r = 0; r < kRows; ++r) { sum[j][r] = hn::MulAdd(a[r], y, sum[j][r]); }
  }
}

/// 4 * kGroups rows from `first` on, or the remaining rows unless kWhole.
template <int kGroups, int kColumns, bool kWhole>
HWY_INLINE void dot_tile(const DotArgs& t, std::size_t first) {
  constexpr int kRows = 4 * kGroups;
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t left = kWhole ? kRows : t.rows - first;
  FloatVector sum[kColumns][kRows];
  DYNET_UNROLL for (int r = 0; r < kRows; ++r) {
    DYNET_UNROLL for (int j = 0; j < kColumns; ++j) { sum[j][r] = hn::Zero(d); }
  }
  const std::size_t most = std::size_t{kMostSteps} * lanes;
  TileSums<kColumns, kRows> sums;
  for (std::size_t f = 0; f < t.factor_count; ++f) {
    if (f > 0) {
      sums.carry(sum);
    }
    const float* rows[kRows];  // rows beyond the last one repeat it
    DYNET_UNROLL for (int r = 0; r < kRows; ++r) {
      rows[r] = t.factors[f].a + (first + HWY_MIN(static_cast<std::size_t>(r), left - 1)) * t.lda;
    }
    const float* columns = t.factors[f].b;
    std::size_t i = 0;
    for (std::size_t end = HWY_MIN(t.k, most);; end = HWY_MIN(t.k, end + most)) {
      for (; i + lanes <= end; i += lanes) {
        dot_step<kGroups, kColumns, false>(d, t, rows, columns, i, sum);
      }
      if (end == t.k) {
        break;
      }
      sums.carry(sum);
    }
    if (i < t.k) {
      dot_step<kGroups, kColumns, true>(d, t, rows, columns, i, sum);
    }
  }
  sums.settle(sum);
  DYNET_UNROLL for (int j = 0; j < kColumns; ++j) {
    DYNET_UNROLL for (int g = 0; g < kGroups; ++g) {
      const FloatVector* s = sum[j] + 4 * g;
      const std::size_t row = 4 * static_cast<std::size_t>(g);
      if (row < left) {
        put_four(sums_of_four(s[0], s[1], s[2], s[3]),
                 t.c + static_cast<std::size_t>(j) * t.ldc + first + row, left - row, t.store);
      }
    }
  }
}

template <int kGroups, int kColumns>
HWY_NOINLINE void dot_rows(const DotArgs& args) {
  constexpr std::size_t kRows = std::size_t{4} * kGroups;
  const DotArgs t = args;
  std::size_t r = 0;
  for (; r + kRows <= t.rows; r += kRows) {
    dot_tile<kGroups, kColumns, true>(t, r);
  }
  for (; r < t.rows; r += 4) {
    dot_tile<1, kColumns, false>(t, r);
  }
}

/// For matrices in which every second row starts in the middle of a vector's alignment: half of all
/// plain loads, or all, would touch two lines of the cache. Such rows are read from half a vector
/// on, and b twice. Wants k == lda, and one pair of factors.
template <int kColumns>
HWY_NOINLINE void dot_rows_in_pairs(const DotArgs& args) {
  const DotArgs t = args;
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t half = lanes / 2;
  const std::size_t pair = 2 * t.lda;
  const float* a = t.factors[0].a;
  const float* columns = t.factors[0].b;
  std::size_t r = 0;
  for (; r + 8 <= t.rows; r += 8) {
    const float* even = a + r * t.lda;
    const float* odd = even + t.lda;
    FloatVector sum[kColumns][8];
    DYNET_UNROLL for (int j = 0; j < kColumns; ++j) {
      const auto y = load_part(d, columns + static_cast<std::size_t>(j) * t.ldb, half);
      DYNET_UNROLL for (std::size_t q = 0; q < 4; ++q) {
        sum[j][q] = hn::Zero(d);
        sum[j][4 + q] = hn::Mul(load_part(d, odd + q * pair, half), y);
      }
    }
    odd += half;
    std::size_t i = 0;
    for (; i + lanes <= t.k; i += lanes) {
      FloatVector y[2][kColumns];
      DYNET_UNROLL for (int j = 0; j < kColumns; ++j) {
        const float* b = columns + static_cast<std::size_t>(j) * t.ldb + i;
        y[0][j] = hn::LoadU(d, b);
        y[1][j] = hn::LoadU(d, b + half);
      }
      DYNET_UNROLL for (std::size_t q = 0; q < 8; ++q) {
        FloatVector x = hn::LoadU(d, (q < 4 ? even : odd) + q % 4 * pair + i);
        if (kColumns > 1) {
          keep_in_register(x);
        }
        DYNET_UNROLL for (int j = 0; j < kColumns; ++j) {
          sum[j][q] = hn::MulAdd(x, y[q / 4][j], sum[j][q]);
        }
      }
    }
    DYNET_UNROLL for (int j = 0; j < kColumns; ++j) {
      const hn::FixedTag<float, 4> four;
      const auto y = load_part(d, columns + static_cast<std::size_t>(j) * t.ldb + i, half);
      FloatVector* s = sum[j];
      DYNET_UNROLL for (std::size_t q = 0; q < 4; ++q) {
        s[q] = hn::MulAdd(load_part(d, even + q * pair + i, half), y, s[q]);
      }
      const auto of_even = sums_of_four(s[0], s[1], s[2], s[3]);
      const auto of_odd = sums_of_four(s[4], s[5], s[6], s[7]);
      float* to = t.c + static_cast<std::size_t>(j) * t.ldc + r;
      put_four(hn::InterleaveLower(four, of_even, of_odd), to, 4, t.store);
      put_four(hn::InterleaveUpper(four, of_even, of_odd), to + 4, 4, t.store);
    }
  }
  for (; r < t.rows; r += 4) {
    dot_tile<1, kColumns, false>(t, r);
  }
}

using DotFunction = void (*)(const DotArgs&);
struct DotTable {
  DotFunction rows[6];      ///< [columns - 1]
  DotFunction in_pairs[6];  ///< [columns - 1], null if of no use
};
template <int kColumns>
constexpr void fill_dots(DotTable& t) {
  if constexpr (kColumns <= kDotColumns) {
    constexpr bool kFew = kColumns <= kDotColumns / 2;
    constexpr int kGroups = kFew ? 2 : 1;
    t.rows[kColumns - 1] = dot_rows<kGroups, kColumns>;
    if constexpr (kFew && DYNET_MASKED_MEMORY) {
      t.in_pairs[kColumns - 1] = dot_rows_in_pairs<kColumns>;
    }
  }
}
template <int... kColumns>
constexpr DotTable make_dots() {
  DotTable t{};
  (fill_dots<kColumns>(t), ...);
  return t;
}
inline constexpr DotTable kDots = make_dots<1, 2, 3, 4, 5, 6>();

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
