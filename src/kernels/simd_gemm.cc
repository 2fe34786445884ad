// Matrix products: which way of walking through the matrices suits which sizes.
//
// The thresholds are measurements on a core with 2 MB of L2: a left operand of up to 1.6 MB is read
// again and again from L2, a larger one is streamed. Example: {512,512} has 1 MB, {1024,1024} is
// streamed. Products with few columns, the rule in dynamic networks, never copy their left operand.
// Tiles are in simd_gemm-inl.h, transposed left operands in simd_transposed-inl.h.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>

#include "carried.h"
#include "float_loops.h"
#include "kernels/simd_targets.h"
#include "scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_gemm.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd_gemm-inl.h"
#include "simd_groups-inl.h"
#include "simd_packed-inl.h"
#include "simd_product-inl.h"
#include "simd_transposed-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {
namespace {

/// Size of the operand that all strips or columns of the other one pass: a megabyte stays in L2.
constexpr std::size_t kDirectFloats = 250000;

/// The tile of the result whose first element is (row, column).
HWY_INLINE void tile_at(const Product& g, TileArgs& t, std::size_t row, std::size_t rows,
                        std::size_t column, std::size_t wide) {
  t.a = g.a + row;
  t.b = g.b + column * g.b_column;
  t.c = g.c + column * g.ldc + row;
  t.start = g.start == nullptr ? nullptr : g.start + row;
  run_tile(t, wide, std::min(rows, g.m - row));
}

/// A share of the tiles, strip by strip. If squares are wanted of the product, each strip is one
/// share's, also in blocks of the inner dimension before the last, which do not count them: a tile
/// belongs to the same share in all blocks.
void direct_share(const Product& g, TileArgs& t, const Pieces& strips, const Pieces& columns) {
  const std::size_t lanes = hn::Lanes(FloatTag());
  const std::size_t unit = g.has_squares ? columns.count : 1;
  const Range mine = g.part_of(strips.count * columns.count, unit);
  std::size_t at = mine.first;
  for (std::size_t i = at / columns.count; at < mine.last; ++i) {
    t.squares = squares_of(g, i);
    for (std::size_t j = at % columns.count; j < columns.count && at < mine.last; ++j, ++at) {
      tile_at(g, t, strips.begin(i) * lanes, strips[i] * lanes, columns.begin(j), columns[j]);
    }
  }
}

/// Tiles on the operands as they lie. Rows outside, so that a strip of `a` stays in L1, or columns
/// outside, so that the result is written in order.
void direct(const Product& g, bool rows_outside) {
  const std::size_t lanes = hn::Lanes(FloatTag());
  const Pieces columns(g.n, kTileColumns);
  const auto height = static_cast<std::size_t>(tile_height(static_cast<int>(columns.longest())));
  const Pieces strips((g.m + lanes - 1) / lanes, height);
  TileArgs t{g.k, g.a, g.lda, g.b, g.b_row, g.b_column, g.c, g.ldc, 0, g.store, nullptr, nullptr};
  if (g.shares > 1) {
    direct_share(g, t, strips, columns);
    return;
  }
  if (rows_outside) {
    for (std::size_t i = 0, row = 0; i < strips.count; row += strips[i++] * lanes) {
      t.squares = squares_of(g, i);
      for (std::size_t j = 0, column = 0; j < columns.count; column += columns[j++]) {
        tile_at(g, t, row, strips[i] * lanes, column, columns[j]);
      }
    }
    return;
  }
  for (std::size_t j = 0, column = 0; j < columns.count; column += columns[j++]) {
    for (std::size_t i = 0, row = 0; i < strips.count; row += strips[i++] * lanes) {
      t.squares = squares_of(g, i);
      tile_at(g, t, row, strips[i] * lanes, column, columns[j]);
    }
  }
}

/// Multiplies in blocks of columns of b that stay in L2 while all strips pass.
void direct_by_columns(const Product& g) {
  constexpr std::size_t kLeast = 96;
  if (g.n <= kLeast) {  // small products spend most of their time on divisions and copies
    direct(g, true);
    return;
  }
  const std::size_t block = std::max(kLeast, kDirectFloats / g.k);
  Product part = g;
  for (std::size_t j = 0; j < g.n; j += block) {
    part.n = std::min(block, g.n - j);
    part.b = g.b + j * g.b_column;
    part.c = g.c + j * g.ldc;
    direct(part, true);
  }
}

/// Multiplies in blocks of the inner dimension.
void direct_by_depth(const Product& g, std::size_t block, bool rows_outside) {
  if (g.k <= block) {
    direct(g, rows_outside);
    return;
  }
  Product part = g;
  for (std::size_t p = 0; p < g.k; p += block) {
    part.k = std::min(block, g.k - p);
    part.a = g.a + p * g.lda;
    part.b = g.b + p * g.b_row;
    part.store = g.store && p == 0;
    part.start = p == 0 ? g.start : nullptr;
    part.squares = p + part.k == g.k ? g.squares : nullptr;
    direct(part, rows_outside);
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
  constexpr std::size_t kMost = std::size_t{kMostSteps} * kInner;
  const std::size_t rows_at_once = 4096 / kColumns;
  alignas(64) float part[4096];
  const Range mine = g.part_of(g.m, kMaxLanes);
  for (std::size_t i = mine.first; i < mine.last; i += rows_at_once) {
    const std::size_t rows = std::min(rows_at_once, mine.last - i);
    const float* start = g.start == nullptr ? nullptr : g.start + i;
    std::size_t p = 0;
    for (std::size_t first = 0; first < g.k; first += kMost) {
      const std::size_t end = std::min(g.k, first + kMost);
      Product to = g;  // after kMost columns their sums begin anew
      if (first > 0) {
        to.c = part;
        to.ldc = rows_at_once;
        to.store = true;
      } else {
        to.c = g.c + i;
      }
      const auto stores = [&] { return to.store && p == first; };
      for (; p + kInner <= end; p += kInner) {
        stream_columns<kInner, kColumns>(to, rows, g.a + p * g.lda + i, g.b + p * g.b_row, to.c,
                                         stores(), first > 0 ? nullptr : start);
      }
      for (; p < end; ++p) {
        stream_columns<1, kColumns>(to, rows, g.a + p * g.lda + i, g.b + p * g.b_row, to.c,
                                    stores(), first > 0 ? nullptr : start);
      }
      if (first > 0) {
        float_loops().add_scaled_columns(1.0F, part, static_cast<std::int64_t>(rows_at_once),
                                         g.c + i, static_cast<std::int64_t>(g.ldc),
                                         static_cast<std::int64_t>(rows), kColumns, false);
      }
    }
  }
}

/// One column times one row.
void rank_one(const Product& g) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const Range mine = g.part_of(g.n, 4);
  for (std::size_t j = mine.first; j < mine.last; j += 4) {
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

/// With a transposed left operand.
void gemm_transposed(const Product& g) {
  if (g.b_row == 1 && !prefers_panels(g)) {
    few_columns(g);
    return;
  }
  for_each_pair(g, [](const Product& one) { packed(one, true, false); });
}

/// One column of the result from columns of `a` in pairs, if they are and registers suffice.
bool in_pairs([[maybe_unused]] const Product& g) {
#if HWY_TARGET == HWY_AVX3
  const std::size_t lanes = hn::Lanes(FloatTag());
  const std::size_t vectors = g.m / lanes;
  if (g.m == g.lda && vectors >= 1 && vectors <= kMostPairVectors && lies_in_pairs(g)) {
    if (g.share != 0) {
      return true;  // few rows, which lie in each other's vectors: they are one share
    }
    constexpr std::size_t kMost = 2 * kMostSteps;
    for (std::size_t p = 0; p < g.k; p += kMost) {
      kPairs[vectors - 1]({std::min(kMost, g.k - p), g.a + p * g.lda, g.lda, g.b + p * g.b_row,
                           g.b_row, g.b_column, g.c, g.ldc, 0, g.store && p == 0,
                           p == 0 ? g.start : nullptr, nullptr});
    }
    return true;
  }
#endif
  return false;
}

/// The gradient of a weight: a wide result, and an inner dimension with one element per example.
void weight_gradient(const Product& g) {
  if (g.k >= 64 && g.m * g.n > kLargeResult) {
    packed(g, false, true);
  } else {
    // A block's part of `a` stays in L2.
    direct_by_depth(g, std::max<std::size_t>(48, kDirectFloats / g.m), false);
  }
}

void gemm_plain(const Product& g) {
  constexpr std::size_t kSmall = 20000;   // floats of `a`: a strip of it stays in L1
  constexpr std::size_t kLarge = 400000;  // floats of `a`: it does not stay in L2
  const std::size_t size = g.m * g.k;
  if (g.k == 1 && g.start == nullptr) {
    rank_one(g);
  } else if (g.n == 1 && in_pairs(g)) {
    return;
  } else if (g.n == 1) {
    size > kSmall ? stream<1>(g) : direct(g, true);
  } else if (g.b_row != 1 && g.n >= 48) {
    weight_gradient(g);
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
        // Columns of `a` are read in long runs.
        direct_by_depth(g, size > 1500000 ? 24 : 32, true);
    }
  } else if (size > kLarge || (g.n >= 300 && size > 150000)) {
    packed(g, false, false);
  } else {
    direct_by_columns(g);
  }
}

void gemm_of(const Gemm& gemm_args, const Product& g) {
  if (g.m == 0 || g.n == 0) {
    return;
  }
  if (g.k == 0) {
    for (std::size_t j = 0; g.store && g.share == 0 && j < g.n; ++j) {
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

/// The time of a product on one thread: for each element of `a`, the load and the multiply-adds.
/// Measured, with AVX-512 and rounded down; with shorter vectors it takes longer.
double nanoseconds_of(const Gemm& g) {
  const auto elements = static_cast<double>(g.m) * static_cast<double>(g.k);
  return elements * static_cast<double>(1 + g.more_count) *
         (0.05 + 0.018 * static_cast<double>(g.n));
}

/// On several threads, if it is worth it.
void in_shares(const Gemm& gemm_args, const Product& g) {
  const unsigned shares = shares_of(nanoseconds_of(gemm_args));
  if (shares == 1) {
    gemm_of(gemm_args, g);
    return;
  }
  run_shares(shares, [&](unsigned share) {
    Product mine = g;
    mine.share = share;
    mine.shares = shares;
    gemm_of(gemm_args, mine);
  });
}

/// A product with a long inner dimension, in pieces (carried.h), whose sums are kept in double:
/// some rows and columns of the result at a time, so that the sums need little memory.
class LongProduct {
 public:
  explicit LongProduct(const Gemm& gemm_args)
      : args_(gemm_args),
        columns_(std::clamp<std::int64_t>(kNumbers / gemm_args.m, 1, gemm_args.n)),
        rows_(std::min(gemm_args.m, kNumbers)),
        piece_(memory().get(static_cast<std::size_t>(3 * rows_ * columns_ + 2))),
        sums_(reinterpret_cast<double*>(piece_) + (rows_ * columns_ + 1) / 2) {}

  void run() {
    for (std::int64_t j = 0; j < args_.n; j += columns_) {
      for (std::int64_t i = 0; i < args_.m; i += rows_) {
        Gemm part = args_;
        part.m = std::min(rows_, args_.m - i);
        part.n = std::min(columns_, args_.n - j);
        multiply(part, i, j);
        write(part, args_.c + i + j * args_.ldc, i);
      }
    }
    if (args_.squared_norm != nullptr) {
      *args_.squared_norm = squares_;
    }
  }

 private:
  /// Numbers of the result at a time.
  static constexpr std::int64_t kNumbers = std::int64_t{1} << 20;

  static Scratch& memory() {
    static thread_local Scratch scratch;
    return scratch;
  }
  /// The sums of the part of the result that begins in row i and column j.
  void multiply(Gemm& part, std::int64_t i, std::int64_t j) {
    part.c = piece_;
    part.ldc = part.m;
    part.store = true;
    part.start = nullptr;
    part.squared_norm = nullptr;
    part.more = nullptr;
    part.more_count = 0;
    bool is_first = true;
    for (std::int64_t f = 0; f <= args_.more_count; ++f) {
      const GemmFactors from = f == 0 ? GemmFactors{args_.a, args_.b} : args_.more[f - 1];
      for (std::int64_t p = 0; p < args_.k; p += kLongInner) {
        part.k = std::min(kLongInner, args_.k - p);
        part.a = from.a + (part.a_transposed ? i * part.lda + p : p * part.lda + i);
        part.b = from.b + p * part.b_row + j * part.b_column;
        in_shares(part, Product(part));
        for (std::int64_t x = 0; x < part.m * part.n; ++x) {
          sums_[x] = (is_first ? 0.0 : sums_[x]) + static_cast<double>(piece_[x]);
        }
        is_first = false;
      }
    }
  }
  void write(const Gemm& part, float* c, std::int64_t row) {
    for (std::int64_t j = 0; j < part.n; ++j) {
      for (std::int64_t i = 0; i < part.m; ++i) {
        double sum = sums_[i + j * part.m];
        float& to = c[i + j * args_.ldc];
        if (!args_.store) {
          sum += static_cast<double>(to);
        } else if (args_.start != nullptr) {
          sum += static_cast<double>(args_.start[row + i]);
        }
        to = static_cast<float>(sum);
        squares_ += static_cast<double>(to) * static_cast<double>(to);
      }
    }
  }

  const Gemm& args_;
  std::int64_t columns_, rows_;
  float* piece_;
  double* sums_;
  double squares_ = 0.0;
};

Scratch& squares_of_strips() {
  static thread_local Scratch scratch;
  return scratch;
}

void gemm(const Gemm& gemm_args) {
  if (gemm_args.k * (1 + gemm_args.more_count) > kLongInner && gemm_args.m > 0 && gemm_args.n > 0) {
    LongProduct(gemm_args).run();
    return;
  }
  Product g(gemm_args);
  if (gemm_args.squared_norm == nullptr) {
    in_shares(gemm_args, g);
    return;
  }
  const std::size_t height = kTileVectors * hn::Lanes(FloatTag());  // the least of a strip
  const std::size_t count = (g.m + height - 1) / height * kMaxLanes;
  g.squares = reinterpret_cast<double*>(squares_of_strips().get(2 * count));
  g.has_squares = true;
  std::fill_n(g.squares, count, 0.0);
  in_shares(gemm_args, g);
  const double sum = std::accumulate(g.squares, g.squares + count, 0.0);
  // A square may be too large for a float. Small squares may lose too much to denormals. And the
  // sum is 0 if the chosen way does not count.
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
