// Tiles of products with a transposed left operand in which a vector holds groups of two or four
// elements of the inner dimension, each group of another column of the right operand. Compiled once
// per target. The end of a tile adds up far fewer lanes than the end of inner products, at the cost
// of a copy of the right operand.

#if defined(DYNET_KERNELS_SIMD_GROUPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_GROUPS_INL_H
#undef DYNET_KERNELS_SIMD_GROUPS_INL_H
#else
#define DYNET_KERNELS_SIMD_GROUPS_INL_H
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "float_loops.h"
#include "hwy/highway.h"
#include "simd_dots-inl.h"
#include "simd_gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

/// Columns of the right operand in a vector.
template <int kGroup>
inline constexpr std::size_t kGroupColumns = kMaxLanes / kGroup;

/// Four numbers from each of the addresses.
HWY_INLINE FloatVector load_blocks(FloatTag d, const float* const* at, std::size_t offset) {
  FloatVector x = hn::LoadDup128(d, at[0] + offset);
  DYNET_UNROLL for (std::size_t b = 1; b < kMaxLanes / 4; ++b) {
    x = hn::IfThenElse(hn::FirstN(d, 4 * b), x, hn::LoadDup128(d, at[b] + offset));
  }
  return x;
}

/// The input of the tiles: four elements of kGroupColumns columns, one vector each kGroup elements.
template <int kGroup>
HWY_INLINE void put_groups(FloatTag d, const float* const* at, std::size_t offset, float* to,
                           std::size_t stride) {
  constexpr std::size_t kBlocks = kMaxLanes / 4;
  if constexpr (kGroup == 4) {
    hn::Store(load_blocks(d, at, offset), d, to);
  } else {
    const hn::Repartition<std::uint64_t, FloatTag> pairs;
    const auto even = hn::BitCast(pairs, load_blocks(d, at, offset));
    const auto odd = hn::BitCast(pairs, load_blocks(d, at + kBlocks, offset));
    hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, even, odd)), d, to);
    hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, even, odd)), d, to + stride);
  }
}

/// The right operand as the tiles read it: for each kGroup elements of the inner dimension
/// `vectors` vectors. Behind the `columns` that there are the last one is repeated, and behind `k`
/// there are zeros, up to a multiple of four.
template <int kGroup>
HWY_NOINLINE void pack_groups(std::size_t k, std::size_t columns, const float* b, std::size_t ldb,
                              std::size_t vectors, float* to) {
  constexpr std::size_t kColumns = kGroupColumns<kGroup>;
  const std::size_t stride = vectors * kMaxLanes;
  for (std::size_t v = 0; v < vectors; ++v, to += kMaxLanes) {
    const float* at[kColumns];  // of groups of two, the even columns before the odd ones
    for (std::size_t j = 0; j < kColumns; ++j) {
      const std::size_t place = kGroup == 4 ? j : j / 2 + j % 2 * (kColumns / 2);
      at[place] = b + HWY_MIN(v * kColumns + j, columns - 1) * ldb;
    }
    float* out = to;
    std::size_t p = 0;
    for (; p + 4 <= k; p += 4, out += 4 / kGroup * stride) {
      put_groups<kGroup>(FloatTag(), at, p, out, stride);
    }
    for (std::size_t i = 0; p < k && i < 4; ++i) {
      for (std::size_t j = 0; j < kColumns; ++j) {
        const float x = p + i < k ? b[HWY_MIN(v * kColumns + j, columns - 1) * ldb + p + i] : 0.0F;
        out[i / kGroup * stride + j * kGroup + i % kGroup] = x;
      }
    }
  }
}

struct GroupArgs {
  std::size_t k;
  std::size_t lda;
  const float* b;  ///< packed, of all factors one after the other
  std::size_t columns;
  float* c;
  std::size_t ldc;
  std::size_t rows;
  bool store;
  std::size_t factor_count;
  const float* a[1 + Gemm::kMostMore];
};

/// A group of elements, again and again.
template <int kGroup>
HWY_INLINE FloatVector repeat_group(FloatTag d, const float* from) {
  if constexpr (kGroup == 4) {
    return hn::LoadDup128(d, from);
  } else {
    const hn::Repartition<std::uint64_t, FloatTag> pairs;
    std::uint64_t two = 0;
    std::memcpy(&two, from, sizeof two);
    return hn::BitCast(d, hn::Set(pairs, two));
  }
}

/// Four elements of each row by four elements of the columns. The operand of fewer vectors stays in
/// registers while the other one passes.
template <int kGroup, int kRows, int kVectors>
HWY_INLINE void group_step(FloatTag d, const float* const (&at)[kRows], std::size_t p,
                           const float* b, FloatVector (&sum)[kVectors][kRows]) {
  DYNET_UNROLL for (std::size_t i = 0; i < 4; i += kGroup, b += kVectors * kMaxLanes) {
    const auto row = [&](int r) HWY_ATTR { return repeat_group<kGroup>(d, at[r] + p + i); };
    const auto column = [&](int v) HWY_ATTR {
      return hn::Load(d, b + static_cast<std::size_t>(v) * kMaxLanes);
    };
    if constexpr (kRows < kVectors) {
      FloatVector x[kRows];
      DYNET_UNROLL for (int r = 0; r < kRows; ++r) { x[r] = row(r); }
      DYNET_UNROLL for (int v = 0; v < kVectors; ++v) {
        FloatVector y = column(v);
        keep_in_register(y);
        DYNET_UNROLL for (int r = 0; r < kRows; ++r) { sum[v][r] = hn::MulAdd(x[r], y, sum[v][r]); }
      }
    } else {
      FloatVector y[kVectors];
      DYNET_UNROLL for (int v = 0; v < kVectors; ++v) {
        y[v] = column(v);
        keep_in_register(y[v]);
      }
      DYNET_UNROLL for (int r = 0; r < kRows; ++r) {
        const FloatVector x = row(r);
        DYNET_UNROLL for (int v = 0; v < kVectors; ++v) {
          sum[v][r] = hn::MulAdd(x, y[v], sum[v][r]);
        }
      }
    }
  }
}

/// Adds up groups of two of two rows: of each pair of lanes the sum of `x`, then the sum of `y`.
HWY_INLINE FloatVector sums_of_pairs(FloatVector x, FloatVector y) {
  return hn::Add(hn::OddEven(y, x), hn::Shuffle2301(hn::OddEven(x, y)));
}

/// The sums of four rows: of each column four numbers side by side. One vector for each group in a
/// block of four lanes.
HWY_INLINE void sums_of_groups(FloatVector a, FloatVector b, FloatVector c, FloatVector e,
                               FloatVector (&sum)[1]) {
  sum[0] = sums_in_blocks(a, b, c, e);
}
HWY_INLINE void sums_of_groups(FloatVector a, FloatVector b, FloatVector c, FloatVector e,
                               FloatVector (&sum)[2]) {
  const FloatTag d;
  const hn::Repartition<std::uint64_t, FloatTag> pairs;
  const auto upper = hn::BitCast(pairs, sums_of_pairs(a, b));
  const auto lower = hn::BitCast(pairs, sums_of_pairs(c, e));
  sum[0] = hn::BitCast(d, hn::InterleaveLower(pairs, upper, lower));
  sum[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, upper, lower));
}

/// Writes the blocks of four lanes, `stride` apart.
template <class D>
HWY_INLINE void put_blocks(D d, hn::Vec<D> v, float* to, std::size_t stride, bool store) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    hn::StoreU(store ? v : hn::Add(v, hn::LoadU(d, to)), d, to);
  } else {
    const hn::Half<D> half;
    put_blocks(half, hn::LowerHalf(half, v), to, stride, store);
    put_blocks(half, hn::UpperHalf(half, v), to + hn::MaxLanes(D()) / 8 * stride, stride, store);
  }
}

/// Writes some of them: of every `step`th column, the first of which is `column`.
HWY_INLINE void put_some_blocks(FloatVector v, const GroupArgs& t, std::size_t row,
                                std::size_t column, std::size_t step) {
  alignas(64) float lanes[kMaxLanes];
  hn::Store(v, FloatTag(), lanes);
  for (std::size_t i = 0; i < kMaxLanes && column < t.columns && row < t.rows; i += 4) {
    put_four(hn::Load(hn::FixedTag<float, 4>(), lanes + i), t.c + column * t.ldc + row,
             t.rows - row, t.store);
    column += step;
  }
}

/// Adds up and writes the sums of kRows rows from `first` on, and of the columns; unless kWhole, of
/// the existing rows and columns only.
template <int kGroup, bool kWhole, int kRows, int kVectors>
HWY_INLINE void put_sums(const GroupArgs& t, std::size_t first,
                         const FloatVector (&sum)[kVectors][kRows]) {
  constexpr std::size_t kTurns = 4 / kGroup;
  DYNET_UNROLL for (int r = 0; r < kRows; r += 4) {
    const std::size_t row = first + static_cast<std::size_t>(r);
    DYNET_UNROLL for (int v = 0; v < kVectors; ++v) {
      FloatVector sums[kTurns];
      sums_of_groups(sum[v][r], sum[v][r + 1], sum[v][r + 2], sum[v][r + 3], sums);
      DYNET_UNROLL for (std::size_t i = 0; i < kTurns; ++i) {
        const std::size_t column = static_cast<std::size_t>(v) * kGroupColumns<kGroup> + i;
        if (kWhole) {
          put_blocks(FloatTag(), sums[i], t.c + column * t.ldc + row, kTurns * t.ldc, t.store);
        } else {
          put_some_blocks(sums[i], t, row, column, kTurns);
        }
      }
    }
  }
}

/// kRows rows from `first` on, and the columns; unless kWhole, only existing rows and columns.
template <int kGroup, int kRows, int kVectors, bool kWhole>
HWY_INLINE void group_tile(const GroupArgs& t, std::size_t first) {
  const FloatTag d;
  FloatVector sum[kVectors][kRows];
  DYNET_UNROLL for (int r = 0; r < kRows; ++r) {
    DYNET_UNROLL for (int v = 0; v < kVectors; ++v) { sum[v][r] = hn::Zero(d); }
  }
  constexpr std::size_t kStep = kMaxLanes * kVectors * 4 / kGroup;
  constexpr std::size_t most = std::size_t{kMostSteps} * kGroup;
  TileSums<kVectors, kRows> sums;
  const float* b = t.b;
  for (std::size_t f = 0; f < t.factor_count; ++f) {
    const float* at[kRows];  // rows beyond the last one repeat it
    DYNET_UNROLL for (int r = 0; r < kRows; ++r) {
      const std::size_t row = first + static_cast<std::size_t>(r);
      at[r] = t.a[f] + (kWhole ? row : HWY_MIN(row, t.rows - 1)) * t.lda;
    }
    if (f > 0) {
      sums.carry(sum);
    }
    std::size_t p = 0;
    for (std::size_t end = HWY_MIN(t.k, most);; end = HWY_MIN(t.k, end + most)) {
      for (; p + 4 <= end; p += 4, b += kStep) {
        group_step<kGroup, kRows, kVectors>(d, at, p, b, sum);
      }
      if (end == t.k) {
        break;
      }
      sums.carry(sum);
    }
    if (p < t.k) {
      alignas(16) float last[kRows][4] = {};
      for (int r = 0; r < kRows; ++r) {
        for (std::size_t i = 0; p + i < t.k; ++i) {
          last[r][i] = at[r][p + i];
        }
        at[r] = last[r];
      }
      group_step<kGroup, kRows, kVectors>(d, at, 0, b, sum);
      b += kStep;
    }
  }
  sums.settle(sum);
  put_sums<kGroup, kWhole>(t, first, sum);
}

template <int kGroup, int kRows, int kVectors>
HWY_NOINLINE void group_rows(const GroupArgs& args) {
  const GroupArgs t = args;
  const bool whole_columns = t.columns == kVectors * kGroupColumns<kGroup>;
  std::size_t r = 0;
  for (; r + kRows <= t.rows && whole_columns; r += kRows) {
    group_tile<kGroup, kRows, kVectors, true>(t, r);
  }
  for (; kRows > 4 && r + 4 <= t.rows && whole_columns; r += 4) {
    group_tile<kGroup, 4, kVectors, true>(t, r);
  }
  for (; r < t.rows; r += 4) {
    group_tile<kGroup, 4, kVectors, false>(t, r);
  }
}

using GroupFunction = void (*)(const GroupArgs&);

/// Groups of one size.
struct Groups {
  std::size_t columns;  ///< in a vector
  std::size_t most_vectors;
  const GroupFunction* rows;  ///< [vectors of columns - 1], up to the limit of the registers
  void (*pack)(std::size_t, std::size_t, const float*, std::size_t, std::size_t, float*);
};

#if HWY_TARGET == HWY_AVX3
inline constexpr GroupFunction kRowsOfTwo[] = {group_rows<2, 8, 1>, group_rows<2, 8, 2>,
                                               group_rows<2, 8, 3>};
inline constexpr GroupFunction kRowsOfFour[] = {group_rows<4, 8, 1>, group_rows<4, 12, 2>,
                                                group_rows<4, 8, 3>, group_rows<4, 4, 4>,
                                                group_rows<4, 4, 5>, group_rows<4, 4, 6>};
inline constexpr Groups kGroups[] = {
    {kGroupColumns<2>, std::size(kRowsOfTwo), kRowsOfTwo, pack_groups<2>},
    {kGroupColumns<4>, std::size(kRowsOfFour), kRowsOfFour, pack_groups<4>}};
#elif HWY_TARGET == HWY_AVX2
inline constexpr GroupFunction kRowsOfFour[] = {group_rows<4, 8, 1>, group_rows<4, 4, 2>,
                                                group_rows<4, 4, 3>};
inline constexpr Groups kGroups[] = {
    {kGroupColumns<4>, std::size(kRowsOfFour), kRowsOfFour, pack_groups<4>}};
#else
// A group of four is a whole vector, so the walk of inner products serves.
inline constexpr std::array<Groups, 0> kGroups{};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
