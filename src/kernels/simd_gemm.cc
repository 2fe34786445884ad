// Matrix products: which way of walking through the matrices suits which sizes.
//
// The thresholds are measurements on a core with 2 MB of L2: a left operand of up to 1.6 MB is read
// again and again from L2, a larger one is streamed. Products with few columns, the rule in dynamic
// networks, never copy their operands. Tiles are in simd_gemm-inl.h.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>

#include "float_loops.h"
#include "kernels/simd_targets.h"
#include "scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_gemm.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd_gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {
namespace {

/// `n` cut into `count` pieces whose lengths differ by one at most, the longer ones first.
struct Pieces {
  std::size_t count, base, longer;
  Pieces(std::size_t n, std::size_t most) : count(1), base(n), longer(0) {
    if (n > most) {  // small products spend most of their time on divisions
      count = (n + most - 1) / most;
      base = n / count;
      longer = n % count;
    }
  }
  [[nodiscard]] std::size_t longest() const { return base + (longer > 0 ? 1 : 0); }
  [[nodiscard]] std::size_t operator[](std::size_t i) const { return base + (i < longer ? 1 : 0); }
};

/// The sizes as the loops want them.
struct Product {
  std::size_t m, n, k;
  const float* a;
  std::size_t lda;
  const float* b;
  std::size_t b_row, b_column;
  float* c;
  std::size_t ldc;
  bool store;
  const float* start;  ///< null unless `store`
  double* squares;     ///< partial sums of the result's squares, one a lane; null: not wanted

  explicit Product(const Gemm& g)
      : m(static_cast<std::size_t>(g.m)),
        n(static_cast<std::size_t>(g.n)),
        k(static_cast<std::size_t>(g.k)),
        a(g.a),
        lda(static_cast<std::size_t>(g.lda)),
        b(g.b),
        b_row(static_cast<std::size_t>(g.b_row)),
        b_column(static_cast<std::size_t>(g.b_column)),
        c(g.c),
        ldc(static_cast<std::size_t>(g.ldc)),
        store(g.store),
        start(g.start),
        squares(nullptr) {}
};

HWY_INLINE void run_tile(TileArgs& t, std::size_t columns, std::size_t rows) {
  const std::size_t lanes = hn::Lanes(FloatTag());
  const std::size_t vectors = (rows + lanes - 1) / lanes;
  t.last_rows = rows - (vectors - 1) * lanes;
  kTiles.at[columns - 1][vectors - 1][t.last_rows != lanes ? 1 : 0](t);
}

/// Tiles on the operands as they lie. Rows outside, so that a strip of `a` stays in L1, or columns
/// outside, so that the result is written in order.
void direct(const Product& g, bool rows_outside) {
  const std::size_t lanes = hn::Lanes(FloatTag());
  const Pieces columns(g.n, kTileColumns);
  const auto height = static_cast<std::size_t>(tile_height(static_cast<int>(columns.longest())));
  const Pieces strips((g.m + lanes - 1) / lanes, height);
  TileArgs t{g.k, g.a, g.lda, g.b, g.b_row, g.b_column, g.c, g.ldc, 0, g.store, nullptr, g.squares};
  const std::size_t outer = rows_outside ? strips.count : columns.count;
  const std::size_t inner = rows_outside ? columns.count : strips.count;
  std::size_t row = 0;
  std::size_t column = 0;
  for (std::size_t o = 0; o < outer; ++o) {
    (rows_outside ? column : row) = 0;
    for (std::size_t i = 0; i < inner; ++i) {
      const std::size_t wide = columns[rows_outside ? i : o];
      const std::size_t rows = std::min(strips[rows_outside ? o : i] * lanes, g.m - row);
      t.a = g.a + row;
      t.b = g.b + column * g.b_column;
      t.c = g.c + column * g.ldc + row;
      t.start = g.start == nullptr ? nullptr : g.start + row;
      run_tile(t, wide, rows);
      (rows_outside ? column : row) += rows_outside ? wide : rows;
      if (i + 1 == inner) {
        (rows_outside ? row : column) += rows_outside ? rows : wide;
      }
    }
  }
}

/// The same in blocks of the inner dimension, so that columns of a large `a` are read in long runs.
void direct_in_blocks(const Product& g) {
  const std::size_t block = g.m * g.k > 1500000 ? 24 : 32;
  Product part = g;
  for (std::size_t p = 0; p < g.k; p += block) {
    part.k = std::min(block, g.k - p);
    part.a = g.a + p * g.lda;
    part.b = g.b + p * g.b_row;
    part.store = g.store && p == 0;
    part.start = p == 0 ? g.start : nullptr;
    part.squares = p + part.k == g.k ? g.squares : nullptr;
    direct(part, true);
  }
}

/// kInner columns of `a` into kColumns columns of the result, which stay in L1.
template <int kInner, int kColumns>
HWY_INLINE void stream_columns(const Product& g, std::size_t rows, const float* a, const float* b,
                               float* c, bool store, const float* start) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  FloatVector factor[kInner][kColumns];
  DYNET_UNROLL for (int p = 0; p < kInner; ++p) {
    DYNET_UNROLL for (int j = 0; j < kColumns; ++j) {
      factor[p][j] = hn::Set(
          d, b[static_cast<std::size_t>(p) * g.b_row + static_cast<std::size_t>(j) * g.b_column]);
    }
  }
  for (std::size_t i = 0; i < rows; i += lanes) {
    const std::size_t part = std::min(lanes, rows - i);
    const bool whole = part == lanes;
    // Two sums a column, or one column would wait for each multiply-add.
    FloatVector sum[kColumns][2];
    DYNET_UNROLL for (int j = 0; j < kColumns; ++j) {
      const float* from = store ? start : c + static_cast<std::size_t>(j) * g.ldc;
      sum[j][0] = from == nullptr ? hn::Zero(d)
                                  : (whole ? hn::LoadU(d, from + i) : load_part(d, from + i, part));
      sum[j][1] = hn::Zero(d);
    }
    DYNET_UNROLL for (int p = 0; p < kInner; ++p) {
      const float* from = a + static_cast<std::size_t>(p) * g.lda + i;
      FloatVector w = whole ? hn::LoadU(d, from) : load_part(d, from, part);
      if (kColumns > 1) {
        keep_in_register(w);
      }
      DYNET_UNROLL for (int j = 0; j < kColumns; ++j) {
        sum[j][p % 2] = hn::MulAdd(w, factor[p][j], sum[j][p % 2]);
      }
    }
    DYNET_UNROLL for (int j = 0; j < kColumns; ++j) {
      float* to = c + static_cast<std::size_t>(j) * g.ldc + i;
      const auto y = hn::Add(sum[j][0], sum[j][1]);
      whole ? hn::StoreU(y, d, to) : store_part(y, d, to, part);
    }
  }
}

/// For few columns and a large `a`, which is read once and in order.
template <int kColumns>
void stream(const Product& g) {
  constexpr int kInner =
      kColumns == 1 ? 8 : (kManyRegisters ? (kColumns == 2 ? 8 : 4) : (kColumns == 2 ? 4 : 2));
  const std::size_t rows_at_once = 4096 / kColumns;
  for (std::size_t i = 0; i < g.m; i += rows_at_once) {
    const std::size_t rows = std::min(rows_at_once, g.m - i);
    const float* start = g.start == nullptr ? nullptr : g.start + i;
    std::size_t p = 0;
    for (; p + kInner <= g.k; p += kInner) {
      stream_columns<kInner, kColumns>(g, rows, g.a + p * g.lda + i, g.b + p * g.b_row, g.c + i,
                                       g.store && p == 0, start);
    }
    for (; p < g.k; ++p) {
      stream_columns<1, kColumns>(g, rows, g.a + p * g.lda + i, g.b + p * g.b_row, g.c + i,
                                  g.store && p == 0, start);
    }
  }
}

/// One column times one row.
void rank_one(const Product& g) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < g.n; j += 4) {
    const std::size_t wide = std::min<std::size_t>(4, g.n - j);
    const auto at = [&](std::size_t q) { return j + std::min(q, wide - 1); };
    const FloatVector x[4] = {
        hn::Set(d, g.b[at(0) * g.b_column]), hn::Set(d, g.b[at(1) * g.b_column]),
        hn::Set(d, g.b[at(2) * g.b_column]), hn::Set(d, g.b[at(3) * g.b_column])};
    float* to = g.c + j * g.ldc;
    std::size_t i = 0;
    for (; wide == 4 && i + lanes <= g.m; i += lanes) {
      const auto y = hn::LoadU(d, g.a + i);
      DYNET_UNROLL for (std::size_t q = 0; q < 4; ++q) {
        float* c = to + q * g.ldc + i;
        hn::StoreU(g.store ? hn::Mul(y, x[q]) : hn::MulAdd(y, x[q], hn::LoadU(d, c)), d, c);
      }
    }
    for (; i < g.m; i += lanes) {
      const std::size_t part = std::min(lanes, g.m - i);
      const auto y = load_part(d, g.a + i, part);
      for (std::size_t q = 0; q < wide; ++q) {
        float* c = to + q * g.ldc + i;
        const auto sum = g.store ? hn::Mul(y, x[q]) : hn::MulAdd(y, x[q], load_part(d, c, part));
        store_part(sum, d, c, part);
      }
    }
  }
}

// ---- packed: panels of the operands are copied, for products with many columns
// ---------------------

/// Depth of the panels. A result that does not stay in L2 is gone through once a panel: then deep
/// panels, read from L2, cost less than more passes.
constexpr std::size_t kPanelDepth = 128;
constexpr std::size_t kDeepPanelDepth = 512;
constexpr std::size_t kLargeResult = 250000;  // floats

/// Rows of `a` as they lie: out[p * height + r] = a[p * lda + r], rows beyond `rows` zero.
void pack_rows(std::size_t depth, std::size_t rows, std::size_t height, const float* a,
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

/// Transposed: out[p * height + r] = a[r * lda + p], four by four.
void pack_transposed(std::size_t depth, std::size_t rows, std::size_t height, const float* a,
                     std::size_t lda, float* out) {
  const hn::FixedTag<float, 4> d;
  const hn::Repartition<std::uint64_t, decltype(d)> pairs;
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float* from = a + r * lda;
    std::size_t p = 0;
    for (; p + 4 <= depth; p += 4, from += 4) {
      const auto r0 = hn::LoadU(d, from);
      const auto r1 = hn::LoadU(d, from + lda);
      const auto r2 = hn::LoadU(d, from + 2 * lda);
      const auto r3 = hn::LoadU(d, from + 3 * lda);
      const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
      const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
      const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
      const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
      float* to = out + p * height + r;
      hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to);
      hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, to + height);
      hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, to + 2 * height);
      hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, to + 3 * height);
    }
    for (; p < depth; ++p, ++from) {
      for (std::size_t q = 0; q < 4; ++q) {
        out[p * height + r + q] = from[q * lda];
      }
    }
  }
  for (; r < height; ++r) {
    for (std::size_t p = 0; p < depth; ++p) {
      out[p * height + r] = r < rows ? a[r * lda + p] : 0.0F;
    }
  }
}

/// `wide` columns of b side by side.
void pack_columns(std::size_t depth, std::size_t wide, const float* b, std::size_t b_row,
                  std::size_t b_column, float* out) {
  for (std::size_t p = 0; p < depth; ++p, b += b_row, out += wide) {
    for (std::size_t j = 0; j < wide; ++j) {
      out[j] = b[j * b_column];
    }
  }
}

/// Panels of op(a) go through L1, and of b as well if `packs_b`.
void packed(const Product& g, bool transposed, bool packs_b) {
  const std::size_t lanes = hn::Lanes(FloatTag());
  const std::size_t height = kTileVectors * lanes;
  const Pieces columns(g.n, kTileColumns);
  const Pieces depths(g.k, g.m * g.n > kLargeResult ? kDeepPanelDepth : kPanelDepth);
  const std::size_t depth_at_once = (depths.longest() + 3) / 4 * 4;
  float* a_panel = left_panel().get(height * depth_at_once);
  float* b_panel = packs_b ? right_panel().get(depth_at_once * g.n) : nullptr;
  for (std::size_t p = 0; p < g.k; p += depth_at_once) {
    const std::size_t depth = std::min(depth_at_once, g.k - p);
    double* squares = p + depth == g.k ? g.squares : nullptr;
    for (std::size_t q = 0, j = 0; packs_b && q < columns.count; j += columns[q++]) {
      pack_columns(depth, columns[q], g.b + p * g.b_row + j * g.b_column, g.b_row, g.b_column,
                   b_panel + j * depth);
    }
    for (std::size_t i = 0; i < g.m; i += height) {
      const std::size_t rows = std::min(height, g.m - i);
      if (transposed) {
        pack_transposed(depth, rows, height, g.a + i * g.lda + p, g.lda, a_panel);
      } else {
        pack_rows(depth, rows, height, g.a + p * g.lda + i, g.lda, a_panel);
      }
      const float* start = g.start == nullptr || p != 0 ? nullptr : g.start + i;
      TileArgs t{depth, a_panel,           height, g.b,    g.b_row, g.b_column, nullptr, g.ldc,
                 0,     g.store && p == 0, start,  squares};
      for (std::size_t q = 0, j = 0; q < columns.count; j += columns[q++]) {
        if (packs_b) {
          t.b = b_panel + j * depth;
          t.b_row = columns[q];
          t.b_column = 1;
        } else {
          t.b = g.b + p * g.b_row + j * g.b_column;
        }
        t.c = g.c + j * g.ldc + i;
        run_tile(t, columns[q], rows);
      }
    }
  }
}

/// Transposed left operand, few columns: inner products of columns that lie in memory as they are.
void dots_of_block(const Product& g) {
  const Pieces columns(g.n, kDotColumns);
  const std::size_t rows = columns.longest() <= kDotColumns / 2 ? 8 : 4;
  // Columns of `a` that make 1 MB stay in L2 while all of b's columns pass.
  const std::size_t block = std::max(rows, (std::size_t{1} << 18) / g.k / rows * rows);
  DotArgs t{g.k, {}, g.b, g.b_column, g.c, g.ldc, 0, g.store};
  for (std::size_t first = 0; first < g.m; first += block) {
    const std::size_t end = std::min(g.m, first + block);
    for (std::size_t q = 0, j = 0; q < columns.count; j += columns[q++]) {
      t.b = g.b + j * g.b_column;
      for (std::size_t i = first; i < end; i += rows) {
        t.rows = std::min(rows, end - i);
        t.c = g.c + j * g.ldc + i;
        for (std::size_t r = 0; r < rows; ++r) {
          t.a[r] = g.a + (i + std::min(r, t.rows - 1)) * g.lda;
        }
        kDots[columns[q] - 1][t.rows > 4 ? 1 : 0](t);
      }
    }
  }
}

/// Long columns are cut, so that a tile's columns of b stay in L1 while all of `a` passes.
void dots(const Product& g) {
  const std::size_t block = g.n > kDotColumns && g.k > 2048 ? 1024 : g.k;
  Product part = g;
  for (std::size_t p = 0; p < g.k; p += block) {
    part.k = std::min(block, g.k - p);
    part.a = g.a + p;
    part.b = g.b + p;
    part.store = g.store && p == 0;
    dots_of_block(part);
  }
}

void gemm_transposed(const Product& g) {
  const bool few_columns = g.n < 32 && (g.k > 64 || g.n < 8);
  if (few_columns && g.b_row == 1) {
    dots(g);
  } else {
    packed(g, true, false);
  }
}

void gemm_plain(const Product& g) {
  constexpr std::size_t kSmall = 20000;   // floats of `a`: a strip of it stays in L1
  constexpr std::size_t kLarge = 400000;  // floats of `a`: it does not stay in L2
  const std::size_t size = g.m * g.k;
  if (g.k == 1 && g.start == nullptr) {
    rank_one(g);
  } else if (g.n == 1) {
    size > kSmall ? stream<1>(g) : direct(g, true);
  } else if (g.b_row != 1 && g.n >= 48) {
    // The gradient of a weight: a wide result, an inner dimension of as many examples as there are.
    if (g.k >= 64 && g.m * g.n > 100000) {
      packed(g, false, true);
    } else {
      direct(g, false);
    }
  } else if (size > kLarge && g.n < 12) {
    switch (g.n) {
      case 2:
        stream<2>(g);
        break;
      case 3:
        stream<3>(g);
        break;
      case 4:
        stream<4>(g);
        break;
      default:
        direct_in_blocks(g);
    }
  } else if (size > kLarge || (g.n >= 48 && size > 30000)) {
    packed(g, false, false);
  } else {
    direct(g, true);
  }
}

void gemm_of(const Gemm& gemm_args, const Product& g) {
  if (g.m == 0 || g.n == 0) {
    return;
  }
  if (g.k == 0) {
    for (std::size_t j = 0; g.store && j < g.n; ++j) {
      float* to = g.c + j * g.ldc;
      g.start == nullptr ? std::fill_n(to, g.m, 0.0F) : std::copy_n(g.start, g.m, to);
    }
    return;
  }
  if (gemm_args.a_transposed) {
    gemm_transposed(g);
  } else {
    gemm_plain(g);
  }
}

void gemm(const Gemm& gemm_args) {
  Product g(gemm_args);
  if (gemm_args.squared_norm == nullptr) {
    gemm_of(gemm_args, g);
    return;
  }
  alignas(64) double squares[kMaxLanes] = {};
  g.squares = squares;
  gemm_of(gemm_args, g);
  const double sum = std::accumulate(squares, squares + kMaxLanes, 0.0);
  // A square may be too large for a float. Of small ones, too much may be lost to denormals. And
  // the sum is 0 where the way that was taken does not count.
  const bool holds = sum >= 0x1p-60 && sum <= std::numeric_limits<double>::max();
  *gemm_args.squared_norm = holds ? sum : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

void fill_gemm_loops(FloatLoops& loops) { loops.gemm = gemm; }

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet::kernels {
HWY_EXPORT(fill_gemm_loops);
void choose_gemm_loops(FloatLoops& loops) { DYNET_FOR_TARGET(fill_gemm_loops)(loops); }
}  // namespace dynet::kernels
#endif
