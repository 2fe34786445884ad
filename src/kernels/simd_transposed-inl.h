// Products with a transposed left operand and few columns: which columns are inner products, and
// which are put together in groups. Compiled once per target.
//
// The costs are measurements, as the thresholds of simd_gemm.cc.

#if defined(DYNET_KERNELS_SIMD_TRANSPOSED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_TRANSPOSED_INL_H
#undef DYNET_KERNELS_SIMD_TRANSPOSED_INL_H
#else
#define DYNET_KERNELS_SIMD_TRANSPOSED_INL_H
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "scratch.h"
#include "simd_dots-inl.h"
#include "simd_groups-inl.h"
#include "simd_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

/// Calls `multiply` for each pair of factors by itself.
template <class Multiply>
void for_each_pair(const Product& g, const Multiply& multiply) {
  Product one = g;
  one.more_count = 0;
  for (std::size_t f = 0;; ++f) {
    multiply(one);
    if (f == g.more_count) {
      return;
    }
    one.a = g.more[f].a;
    one.b = g.more[f].b;
    one.store = false;
  }
}

/// Whether columns of `a` start on a vector's alignment and half way, by turns.
HWY_INLINE bool lies_in_pairs(const Product& g) {
  const std::size_t lanes = hn::Lanes(FloatTag());
  return g.lda % lanes == lanes / 2 &&
         reinterpret_cast<std::uintptr_t>(g.a) % (lanes * sizeof(float)) == 0;
}

/// Columns of `a` that make 1 MB: they stay in L2 while all of b's columns pass.
HWY_INLINE std::size_t columns_in_cache(const Product& g) {
  const std::size_t depth = g.k * (1 + g.more_count);
  return std::max<std::size_t>(8, (std::size_t{1} << 18) / depth / 8 * 8);
}

/// A share of rows begins at a multiple: rows that lie in pairs are walked in eights.
constexpr std::size_t kSharedRows = 8;

/// Inner products of columns that lie in memory as they are, from column `first` of b on.
HWY_INLINE void dots(const Product& g, std::size_t first) {
  const Pieces columns(g.n - first, kDotColumns);
  const bool pairs = g.more_count == 0 && g.k == g.lda && lies_in_pairs(g) &&
                     g.k <= kMostSteps * hn::Lanes(FloatTag());
  const std::size_t block = columns_in_cache(g);
  const Range mine = g.part_of(g.m, kSharedRows);
  for (std::size_t i = mine.first; i < mine.last; i += block) {
    for (std::size_t q = 0, j = first; q < columns.count; j += columns[q++]) {
      const std::size_t wide = columns[q] - 1;
      const std::size_t from = i * g.lda;
      const std::size_t column = j * g.b_column;
      DotArgs t{g.k,
                g.lda,
                g.b_column,
                g.c + j * g.ldc + i,
                g.ldc,
                std::min(block, mine.last - i),
                g.store,
                1 + g.more_count,
                {{g.a + from, g.b + column}}};
      for (std::size_t f = 0; f < g.more_count; ++f) {
        t.factors[1 + f] = {g.more[f].a + from, g.more[f].b + column};
      }
      (pairs && kDots.in_pairs[wide] != nullptr ? kDots.in_pairs : kDots.rows)[wide](t);
    }
  }
}

/// The first `n` columns in groups.
HWY_INLINE void in_groups(const Product& g, const Groups& groups, std::size_t n) {
  const std::size_t depth = (g.k + 3) / 4 * 4;
  const std::size_t all = (n + groups.columns - 1) / groups.columns;
  float* packed = left_panel().get(depth * (1 + g.more_count) * all * groups.columns);
  const Pieces vectors(all, groups.most_vectors);
  const std::size_t block = columns_in_cache(g);
  const Range mine = g.part_of(g.m, kSharedRows);
  for (std::size_t i = mine.first; i < mine.last; i += block) {
    float* b = packed;
    for (std::size_t q = 0, j = 0; q < vectors.count; j += groups.columns * vectors[q++]) {
      GroupArgs t{g.k,
                  g.lda,
                  b,
                  std::min(n - j, groups.columns * vectors[q]),
                  g.c + j * g.ldc + i,
                  g.ldc,
                  std::min(block, mine.last - i),
                  g.store,
                  1 + g.more_count,
                  {}};
      for (std::size_t f = 0; f < t.factor_count; ++f) {
        const GemmFactors from = f == 0 ? GemmFactors{g.a, g.b} : g.more[f - 1];
        t.a[f] = from.a + i * g.lda;
        if (i == mine.first) {
          groups.pack(g.k, t.columns, from.b + j * g.b_column, g.b_column, vectors[q], b);
        }
        b += depth * groups.columns * vectors[q];
      }
      groups.rows[vectors[q] - 1](t);
    }
  }
}

// Costs of the ways beside the multiply-adds that all ways need, in multiply-adds of one number.

constexpr bool kIsAvx2 = HWY_TARGET == HWY_AVX2;

/// Inner products: adding up the lanes of a result, and of one or two columns, waiting for `a`.
/// With AVX2 too few sums fit in registers to hide the loads.
HWY_INLINE std::size_t cost_of_dots(const Product& g, std::size_t n) {
  const std::size_t waiting = n == 1 ? 5 * g.k / 2 : (n == 2 ? g.k : 0);
  return g.m * (waiting + n * (kIsAvx2 ? g.k * 2 / 5 : 70));
}

/// Panels: packing, as much as some columns, and the rows that they are filled up with.
HWY_INLINE std::size_t cost_of_panels(const Product& g) {
  const std::size_t filled_up = (g.m + kMaxLanes - 1) / kMaxLanes * kMaxLanes - g.m;
  return g.k * (g.m * (kIsAvx2 ? 8 : 10) + g.n * filled_up);
}

/// Groups: packing, adding up few lanes, the columns that vectors are filled up with, and of a
/// single vector, waiting for `a`.
HWY_INLINE std::size_t cost_of_groups(const Product& g, const Groups& groups, std::size_t n) {
  const std::size_t filled_up = (n + groups.columns - 1) / groups.columns * groups.columns;
  const std::size_t waiting = filled_up == groups.columns ? g.k / 3 : 0;
  const std::size_t each = waiting + (kIsAvx2 ? 6 + g.k / 10 : 18 + g.k / 32);
  return (filled_up - n) * g.k * g.m + filled_up * (g.m * each + 4 * g.k);
}

/// The cheapest way of few columns.
struct FewColumns {
  std::size_t cost = 0;
  std::size_t in_groups = 0;  ///< so many columns; the others are inner products
  const Groups* groups = nullptr;
};

/// `g.k` is the sum over all factors.
HWY_INLINE FewColumns cheapest(const Product& g) {
  FewColumns best{cost_of_dots(g, g.n), 0, nullptr};
  for (const Groups& groups : kGroups) {
    for (const std::size_t n : {g.n / groups.columns * groups.columns, g.n}) {
      const std::size_t cost = cost_of_groups(g, groups, n) + cost_of_dots(g, g.n - n);
      if (n > 0 && cost < best.cost) {
        best = {cost, n, &groups};
      }
    }
  }
  return best;
}

HWY_INLINE Product with_all_factors(const Product& g) {
  Product all = g;
  all.k *= 1 + g.more_count;
  return all;
}

/// Whether panels are faster than few_columns().
HWY_INLINE bool prefers_panels(const Product& g) {
  if (g.n < 12 || g.n >= 256) {
    return g.n >= 256;
  }
  const Product all = with_all_factors(g);
  return cost_of_panels(all) <= cheapest(all).cost;
}

/// All factors in one walk. The inner dimension is never so long (kLongInner) that a tile's columns
/// of b do not stay in L1 while all of `a` passes.
inline void few_columns(const Product& g) {
  constexpr std::size_t kFewest = 4;  // of fewer, to compare costs may take as long as the product
  if (g.more_count > 0 && lies_in_pairs(g)) {
    for_each_pair(g, few_columns);
    return;
  }
  const FewColumns way = g.n < kFewest ? FewColumns{} : cheapest(with_all_factors(g));
  if (way.in_groups > 0) {
    in_groups(g, *way.groups, way.in_groups);
  }
  if (way.in_groups < g.n) {
    dots(g, way.in_groups);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
