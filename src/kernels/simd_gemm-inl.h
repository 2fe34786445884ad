// The tiles of matrix products, compiled once per target: a few columns of the result are kept in
// registers while the inner dimension is run through.

#if defined(DYNET_KERNELS_SIMD_GEMM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_GEMM_INL_H
#undef DYNET_KERNELS_SIMD_GEMM_INL_H
#else
#define DYNET_KERNELS_SIMD_GEMM_INL_H
#endif

#include <cstddef>
#include <cstdint>

#include "carried.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/simd_memory-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

// With 32 registers a tile holds up to 24 vectors of the result, with 16 up to 12.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kTileVectors = 4;
inline constexpr int kTileColumns = 6;
#elif HWY_ARCH_ARM
inline constexpr int kTileVectors = 4;
inline constexpr int kTileColumns = 5;  // with 6 g++ 12 spills two of them
#else
inline constexpr int kTileVectors = 2;
inline constexpr int kTileColumns = 6;
#endif
inline constexpr bool kManyRegisters = kTileVectors == 4;
inline constexpr int kMostVectors = 8;

/// How many vectors high a tile of so many columns may be.
constexpr int tile_height(int columns) {
  if (kManyRegisters) {
    return columns <= 3 ? 8 : (columns == 4 ? 6 : 4);
  }
  return columns == 1 ? 8 : (columns <= 3 ? 4 : (columns == 4 ? 3 : 2));
}

#undef DYNET_UNROLL
#define DYNET_UNROLL _Pragma("GCC unroll 16")

/// g++ 12 folds a load into every multiply-add that uses the vector, which doubles the traffic from
/// L2.
HWY_INLINE void keep_in_register([[maybe_unused]] FloatVector& v) {
#if HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86
  asm("" : "+v"(v.raw));
#endif
}

/// The sums of a tile with a long inner dimension: after each kMostSteps (carried.h) the sums go to
/// memory, and new sums begin. Only the new sums need registers.
template <int kA, int kB>
struct TileSums {
  alignas(64) float at[kA * kB * kMaxLanes];
  bool has_any = false;

  HWY_INLINE void carry(FloatVector (&sum)[kA][kB]) {
    const FloatTag d;
    DYNET_UNROLL for (int a = 0; a < kA; ++a) {
      DYNET_UNROLL for (int b = 0; b < kB; ++b) {
        float* const to = at + static_cast<std::size_t>(a * kB + b) * kMaxLanes;
        hn::Store(has_any ? hn::Add(hn::Load(d, to), sum[a][b]) : sum[a][b], d, to);
        sum[a][b] = hn::Zero(d);
      }
    }
    has_any = true;
  }
  /// Leaves the complete sums in the registers.
  HWY_INLINE void settle(FloatVector (&sum)[kA][kB]) const {
    if (!has_any) {
      return;
    }
    const FloatTag d;
    DYNET_UNROLL for (int a = 0; a < kA; ++a) {
      DYNET_UNROLL for (int b = 0; b < kB; ++b) {
        const float* const from = at + static_cast<std::size_t>(a * kB + b) * kMaxLanes;
        sum[a][b] = hn::Add(hn::Load(d, from), sum[a][b]);
      }
    }
  }
};

/// One tile: c = or += a * b with `k` inner elements.
struct TileArgs {
  std::size_t k;
  const float* a;
  std::size_t lda;
  const float* b;
  std::size_t b_row, b_column;
  float* c;
  std::size_t ldc;
  std::size_t last_rows;  ///< in the last vector of a column
  bool store;
  const float* start;  ///< the start of each column; null: zeros
  double* squares;     ///< gets the squares of the results added, lane by lane; null: not wanted
};

/// Loads a column's vectors; of the last one only `last_rows` rows if kPart.
template <int kVectors, bool kPart>
HWY_INLINE void load_column(FloatTag d, const float* a, std::size_t last_rows, FloatVector* v) {
  const std::size_t lanes = hn::Lanes(d);
  DYNET_UNROLL for (int i = 0; i < kVectors; ++i) {
    const float* from = a + static_cast<std::size_t>(i) * lanes;
    v[i] = kPart && i == kVectors - 1 ? load_part(d, from, last_rows) : hn::LoadU(d, from);
  }
}

template <int kVectors, int kColumns>
HWY_INLINE void tile_step(FloatTag d, const TileArgs& t, std::size_t p, FloatVector* a,
                          FloatVector (&sum)[kColumns][kVectors]) {
  if (kColumns > 1) {
    DYNET_UNROLL for (int i = 0; i < kVectors; ++i) { keep_in_register(a[i]); }
  }
  const float* b = t.b + p * t.b_row;
  DYNET_UNROLL for (int j = 0; j < kColumns; ++j) {
    const auto factor = hn::Set(d, b[static_cast<std::size_t>(j) * t.b_column]);
    DYNET_UNROLL for (int i = 0; i < kVectors; ++i) {
      sum[j][i] = hn::MulAdd(a[i], factor, sum[j][i]);
    }
  }
}

/// Stores or adds the sums, and leaves the new numbers of the result in them.
template <int kVectors, int kColumns, bool kPart>
HWY_INLINE void write_tile(FloatTag d, float* c, std::size_t ldc, std::size_t last_rows, bool store,
                           FloatVector (&sum)[kColumns][kVectors]) {
  const std::size_t lanes = hn::Lanes(d);
  DYNET_UNROLL for (int j = 0; j < kColumns; ++j) {
    float* to = c + static_cast<std::size_t>(j) * ldc;
    if (!store) {
      FloatVector there[kVectors];
      load_column<kVectors, kPart>(d, to, last_rows, there);
      DYNET_UNROLL for (int i = 0; i < kVectors; ++i) { sum[j][i] = hn::Add(there[i], sum[j][i]); }
    }
    DYNET_UNROLL for (int i = 0; i < kVectors; ++i) {
      if (kPart && i == kVectors - 1) {
        store_part(sum[j][i], d, to + static_cast<std::size_t>(i) * lanes, last_rows);
      } else {
        hn::StoreU(sum[j][i], d, to + static_cast<std::size_t>(i) * lanes);
      }
    }
  }
}

/// Squares of a tile are added in float, up to 24 a lane, and their sums in double.
template <int kVectors, int kColumns, bool kPart>
HWY_INLINE void add_squares(FloatTag d, std::size_t last_rows, double* squares,
                            const FloatVector (&sum)[kColumns][kVectors]) {
  FloatVector s[kVectors];
  DYNET_UNROLL for (int i = 0; i < kVectors; ++i) {
    s[i] = hn::Mul(sum[0][i], sum[0][i]);
    DYNET_UNROLL for (int j = 1; j < kColumns; ++j) {
      s[i] = hn::MulAdd(sum[j][i], sum[j][i], s[i]);
    }
  }
  if (kPart) {  // rows beyond may hold anything
    s[kVectors - 1] = hn::IfThenElseZero(hn::FirstN(d, last_rows), s[kVectors - 1]);
  }
  DYNET_UNROLL for (int i = 1; i < kVectors; ++i) { s[0] = hn::Add(s[0], s[i]); }
  add_in_double(d, s[0], squares);
}

template <int kVectors, int kColumns, bool kPart>
HWY_NOINLINE void tile_at_once(const TileArgs& t) {
  // The members for the stores below, one by one: a copy of the whole struct goes through vectors,
  // which wait until the caller's stores of its members, and the results stored before, are in the
  // cache.
  float* const c = t.c;
  const std::size_t ldc = t.ldc;
  const std::size_t last_rows = t.last_rows;
  const bool store = t.store;
  double* const squares = t.squares;
  const FloatTag d;
  FloatVector first[kVectors];
  DYNET_UNROLL for (int i = 0; i < kVectors; ++i) { first[i] = hn::Zero(d); }
  if (t.start != nullptr) {
    load_column<kVectors, kPart>(d, t.start, t.last_rows, first);
  }
  FloatVector sum[kColumns][kVectors];
  DYNET_UNROLL for (int j = 0; j < kColumns; ++j) {
    DYNET_UNROLL for (int i = 0; i < kVectors; ++i) { sum[j][i] = first[i]; }
  }
  std::size_t p = 0;
  const float* at = t.a;
#if !DYNET_MASKED_MEMORY
  // Without masked loads, a whole vector is loaded as long as it stays inside the matrix; the rows
  // that are not wanted are never stored.
  const std::size_t beyond = hn::Lanes(d) - t.last_rows;
  const std::size_t unsafe = kPart ? (beyond + t.lda - 1) / t.lda : 0;
  for (; kPart && p + unsafe < t.k; ++p, at += t.lda) {
    FloatVector a[kVectors];
    load_column<kVectors, false>(d, at, t.last_rows, a);
    tile_step<kVectors, kColumns>(d, t, p, a, sum);
  }
#endif
  for (; p < t.k; ++p, at += t.lda) {
    FloatVector a[kVectors];
    load_column<kVectors, kPart>(d, at, t.last_rows, a);
    tile_step<kVectors, kColumns>(d, t, p, a, sum);
  }
  write_tile<kVectors, kColumns, kPart>(d, c, ldc, last_rows, store, sum);
  if (squares != nullptr) {
    add_squares<kVectors, kColumns, kPart>(d, last_rows, squares, sum);
  }
}

/// After kMostSteps (long_sums.h) the sums are added to the result, and new ones begin.
template <int kVectors, int kColumns, bool kPart>
HWY_NOINLINE void tile(const TileArgs& t) {
  if (t.k <= std::size_t{kMostSteps}) {
    tile_at_once<kVectors, kColumns, kPart>(t);
    return;
  }
  TileArgs part = t;
  for (std::size_t p = 0; p < t.k; p += part.k) {
    part.k = HWY_MIN(std::size_t{kMostSteps}, t.k - p);
    part.a = t.a + p * t.lda;
    part.b = t.b + p * t.b_row;
    part.store = t.store && p == 0;
    part.start = p == 0 ? t.start : nullptr;
    part.squares = p + part.k == t.k ? t.squares : nullptr;
    tile_at_once<kVectors, kColumns, kPart>(part);
  }
}

using TileFunction = void (*)(const TileArgs&);

/// The tile of so many vectors and columns, or null if the registers do not suffice.
template <int kVectors, int kColumns, bool kPart>
constexpr TileFunction tile_or_null() {
  if constexpr (kVectors <= tile_height(kColumns) && kColumns <= kTileColumns) {
    return tile<kVectors, kColumns, kPart>;
  } else {
    return nullptr;
  }
}

struct TileTable {
  TileFunction at[6][kMostVectors][2];  ///< [columns - 1][vectors - 1][last vector is a part]
};
template <int kColumns, bool kPart>
constexpr void fill_tiles(TileTable& t) {
  constexpr int kAt = kColumns - 1;
  constexpr int kIsPart = kPart ? 1 : 0;
  t.at[kAt][0][kIsPart] = tile_or_null<1, kColumns, kPart>();
  t.at[kAt][1][kIsPart] = tile_or_null<2, kColumns, kPart>();
  t.at[kAt][2][kIsPart] = tile_or_null<3, kColumns, kPart>();
  t.at[kAt][3][kIsPart] = tile_or_null<4, kColumns, kPart>();
  t.at[kAt][4][kIsPart] = tile_or_null<5, kColumns, kPart>();
  t.at[kAt][5][kIsPart] = tile_or_null<6, kColumns, kPart>();
  t.at[kAt][6][kIsPart] = tile_or_null<7, kColumns, kPart>();
  t.at[kAt][7][kIsPart] = tile_or_null<8, kColumns, kPart>();
}
template <int... kColumns>
constexpr TileTable make_tiles() {
  TileTable t{};
  (fill_tiles<kColumns, false>(t), ...);
  (fill_tiles<kColumns, true>(t), ...);
  return t;
}
inline constexpr TileTable kTiles = make_tiles<1, 2, 3, 4, 5, 6>();

/// One column of the result for columns of `a`, `kVectors` and a half high, in pairs: the first
/// column starts on a vector's alignment, the second in its middle. All sums are kept, so that a
/// pair is read in place, in whole lines; the vector in its middle holds an end and a beginning.
template <int kVectors>
HWY_NOINLINE void pairs_of_columns(const TileArgs& t) {
  float* const c = t.c;
  const bool store = t.store;
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t half = lanes / 2;
  const float* a = t.a;
  FloatVector first[kVectors];
  FloatVector second[kVectors];  // from half a vector on
  FloatVector middle = hn::Zero(d);
  DYNET_UNROLL for (int i = 0; i < kVectors; ++i) {
    first[i] = second[i] = hn::Zero(d);
    if (t.start != nullptr) {
      first[i] = hn::LoadU(d, t.start + static_cast<std::size_t>(i) * lanes);
    }
  }
  if (t.start != nullptr) {
    middle = load_part(d, t.start + kVectors * lanes, half);
  }
  std::size_t p = 0;
  for (; p + 2 <= t.k; p += 2, a += 2 * t.lda) {
    const auto x = hn::Set(d, t.b[p * t.b_row]);
    const auto y = hn::Set(d, t.b[(p + 1) * t.b_row]);
    const float* next = a + (kVectors + 1) * lanes;
    DYNET_UNROLL for (int i = 0; i < kVectors; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * lanes;
      first[i] = hn::MulAdd(hn::LoadU(d, a + at), x, first[i]);
      second[i] = hn::MulAdd(hn::LoadU(d, next + at), y, second[i]);
    }
    middle = hn::MulAdd(hn::LoadU(d, a + kVectors * lanes), hn::ConcatUpperLower(d, y, x), middle);
  }
  if (p < t.k) {
    const auto x = hn::Set(d, t.b[p * t.b_row]);
    DYNET_UNROLL for (int i = 0; i < kVectors; ++i) {
      first[i] = hn::MulAdd(hn::LoadU(d, a + static_cast<std::size_t>(i) * lanes), x, first[i]);
    }
    middle = hn::MulAdd(load_part(d, a + kVectors * lanes, half), x, middle);
  }
  FloatVector before = middle;
  DYNET_UNROLL for (int i = 0; i < kVectors; ++i) {
    const auto shifted = hn::ConcatLowerUpper(d, second[i], before);
    put(hn::Add(first[i], shifted), d, c + static_cast<std::size_t>(i) * lanes, store);
    before = second[i];
  }
  const auto shifted = hn::ConcatLowerUpper(d, before, before);
  put_part(hn::Add(middle, shifted), d, c + kVectors * lanes, half, store);
}

/// [whole vectors of a column - 1], up to the limit of the registers
inline constexpr int kMostPairVectors = 12;
#if HWY_TARGET == HWY_AVX3
inline constexpr TileFunction kPairs[kMostPairVectors] = {
    pairs_of_columns<1>, pairs_of_columns<2>,  pairs_of_columns<3>,  pairs_of_columns<4>,
    pairs_of_columns<5>, pairs_of_columns<6>,  pairs_of_columns<7>,  pairs_of_columns<8>,
    pairs_of_columns<9>, pairs_of_columns<10>, pairs_of_columns<11>, pairs_of_columns<12>};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
