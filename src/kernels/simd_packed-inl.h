// Products whose operands are copied in panels, for many columns. Compiled once per target.
//
// Example: of `a` {1000,600} half a megabyte is packed at a time, and all columns of b pass it.

#if defined(DYNET_KERNELS_SIMD_PACKED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_PACKED_INL_H
#undef DYNET_KERNELS_SIMD_PACKED_INL_H
#else
#define DYNET_KERNELS_SIMD_PACKED_INL_H
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "scratch.h"
#include "simd_gemm-inl.h"
#include "simd_groups-inl.h"
#include "simd_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE void run_tile(TileArgs& t, std::size_t columns, std::size_t rows) {
  const std::size_t lanes = hn::Lanes(FloatTag());
  const std::size_t vectors = (rows + lanes - 1) / lanes;
  t.last_rows = rows - (vectors - 1) * lanes;
  kTiles.at[columns - 1][vectors - 1][t.last_rows != lanes ? 1 : 0](t);
}

/// The sums of squares of a strip.
HWY_INLINE double* squares_of(const Product& g, std::size_t strip) {
  return g.squares == nullptr ? nullptr : g.squares + strip * kMaxLanes;
}

/// Depth of the panels. A result that does not stay in L2 is gone through once a panel: then deep
/// panels, read from L2, cost less than more passes.
inline constexpr std::size_t kPanelDepth = 256;
inline constexpr std::size_t kDeepPanelDepth = 512;
inline constexpr std::size_t kLargeResult = 250000;  // floats
/// How much of `a` is packed at once: half a megabyte stays in L2.
inline constexpr std::size_t kBlockFloats = 131072;

/// Rows of `a` as they lie: out[p * height + r] = a[p * lda + r], rows beyond `rows` zero.
inline void pack_rows(std::size_t depth, std::size_t rows, std::size_t height, const float* a,
                      std::size_t lda, float* out) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t p = 0; p < depth; ++p, a += lda, out += height) {
    if (p + 8 < depth) {
      for (std::size_t r = 0; r < rows; r += 16) {
        hwy::Prefetch(a + 8 * lda + r);
      }
    }
    std::size_t r = 0;
    for (; r + lanes <= rows; r += lanes) {
      hn::Store(hn::LoadU(d, a + r), d, out + r);
    }
    if (r < rows) {
      hn::Store(load_part(d, a + r, rows - r), d, out + r);
      r += lanes;
    }
    for (; r < height; r += lanes) {
      hn::Store(hn::Zero(d), d, out + r);
    }
  }
}

/// Transposed: out[p * height + r] = a[r * lda + p]. Behind `rows` the last one is repeated.
inline void pack_transposed(std::size_t depth, std::size_t rows, std::size_t height, const float* a,
                            std::size_t lda, float* out) {
  const FloatTag d;
  for (std::size_t r = 0; r < height; r += kMaxLanes, out += kMaxLanes) {
    const float* at[4][kMaxLanes / 4];  // each fourth row
    for (std::size_t lane = 0; lane < kMaxLanes; ++lane) {
      at[lane % 4][lane / 4] = a + std::min(r + lane, rows - 1) * lda;
    }
    float* to = out;
    std::size_t p = 0;
    for (; p + 4 <= depth; p += 4) {
      FloatVector column[4];
      transpose_four(d, load_blocks(d, at[0], p), load_blocks(d, at[1], p),
                     load_blocks(d, at[2], p), load_blocks(d, at[3], p), column);
      DYNET_UNROLL for (std::size_t q = 0; q < 4; ++q, to += height) {
        hn::Store(column[q], d, to);
      }
    }
    for (; p < depth; ++p, to += height) {
      for (std::size_t lane = 0; lane < kMaxLanes; ++lane) {
        to[lane] = at[lane % 4][lane / 4][p];
      }
    }
  }
}

/// Panels of `height` rows of op(a), one after the other.
inline void pack_block(std::size_t depth, std::size_t rows, std::size_t height, const float* a,
                       std::size_t lda, bool transposed, float* out) {
  for (std::size_t i = 0; i < rows; i += height) {
    const std::size_t part = std::min(height, rows - i);
    if (transposed) {
      pack_transposed(depth, part, height, a + i * lda, lda, out + i * depth);
    } else {
      pack_rows(depth, part, height, a + i, lda, out + i * depth);
    }
  }
}

/// `wide` columns of b side by side.
inline void pack_columns(std::size_t depth, std::size_t wide, const float* b, std::size_t b_row,
                         std::size_t b_column, float* out) {
  for (std::size_t p = 0; p < depth; ++p, b += b_row, out += wide) {
    for (std::size_t j = 0; j < wide; ++j) {
      out[j] = b[j * b_column];
    }
  }
}

/// All columns of b by the strips of a packed block of op(a). `t` has the place of b: its own, or
/// panels one after the other if `b_panel` is given. `is_last`: of the blocks of depth.
inline void multiply_block(const Product& g, TileArgs& t, const float* a_panels, std::size_t first,
                           std::size_t end, const Pieces& columns, const float* b_panel,
                           const float* start, bool is_last) {
  const float* b = t.b;
  for (std::size_t q = 0, j = 0; q < columns.count; j += columns[q++]) {
    const std::size_t wide = columns[q];
    t.b = b_panel == nullptr ? b + j * t.b_column : b_panel + j * t.k;
    t.b_row = b_panel == nullptr ? t.b_row : wide;
    for (std::size_t i = first; i < end; i += t.lda) {
      t.a = a_panels + (i - first) * t.k;
      t.c = g.c + j * g.ldc + i;
      t.start = start == nullptr ? nullptr : start + i;
      t.squares = is_last ? squares_of(g, i / t.lda) : nullptr;
      run_tile(t, wide, std::min(t.lda, end - i));
    }
  }
}

/// Panels of op(a), and of b as well if `packs_b`. A block of `a` is packed, then columns outside:
/// columns of b stay in L1 and the block in L2 while a column of the result is written in order.
/// Shares are rows; each packs all of b, which costs little beside many rows.
inline void packed(const Product& g, bool transposed, bool packs_b) {
  const std::size_t height = kTileVectors * hn::Lanes(FloatTag());
  const Range mine = g.part_of(g.m, height);
  if (mine.empty()) {
    return;
  }
  const Pieces columns(g.n, kTileColumns);
  const Pieces depths(g.k, g.m * g.n > kLargeResult ? kDeepPanelDepth : kPanelDepth);
  const std::size_t depth_at_once = (depths.longest() + 3) / 4 * 4;
  const std::size_t block = std::max(height, kBlockFloats / depth_at_once / height * height);
  float* a_panels =
      left_panel().get(std::min(block, (g.m + height - 1) / height * height) * depth_at_once);
  float* b_panel = packs_b ? right_panel().get(depth_at_once * g.n) : nullptr;
  for (std::size_t p = 0; p < g.k; p += depth_at_once) {
    const std::size_t depth = std::min(depth_at_once, g.k - p);
    const float* b = g.b + p * g.b_row;
    for (std::size_t q = 0, j = 0; packs_b && q < columns.count; j += columns[q++]) {
      pack_columns(depth, columns[q], b + j * g.b_column, g.b_row, g.b_column, b_panel + j * depth);
    }
    for (std::size_t first = mine.first; first < mine.last; first += block) {
      const std::size_t end = std::min(mine.last, first + block);
      const std::size_t at = transposed ? first * g.lda + p : p * g.lda + first;
      pack_block(depth, end - first, height, g.a + at, g.lda, transposed, a_panels);
      TileArgs t{
          depth, nullptr,           height,  b,      g.b_row, packs_b ? 1 : g.b_column, g.c, g.ldc,
          0,     g.store && p == 0, nullptr, nullptr};
      multiply_block(g, t, a_panels, first, end, columns, b_panel, p == 0 ? g.start : nullptr,
                     p + depth == g.k);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
