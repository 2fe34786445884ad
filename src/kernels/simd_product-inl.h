// The sizes of a matrix product, and the pieces into which its loops cut them, compiled once per
// target.

#if defined(DYNET_KERNELS_SIMD_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_PRODUCT_INL_H
#undef DYNET_KERNELS_SIMD_PRODUCT_INL_H
#else
#define DYNET_KERNELS_SIMD_PRODUCT_INL_H
#endif

#include <cstddef>

#include "float_loops.h"
#include "hwy/highway.h"
#include "kernels/team.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

/// `n` cut into `count` pieces, the longer pieces first; lengths differ by one at most. Example: 10
/// in 4 pieces is 3, 3, 2, 2.
struct Pieces {
  std::size_t count = 1;
  std::size_t base;
  std::size_t longer = 0;
  Pieces(std::size_t n, std::size_t most) : base(n) {
    if (n > most) {  // small products spend most of their time on divisions
      count = (n + most - 1) / most;
      base = n / count;
      longer = n % count;
    }
  }
  [[nodiscard]] std::size_t longest() const { return base + (longer > 0 ? 1 : 0); }
  [[nodiscard]] std::size_t operator[](std::size_t i) const { return base + (i < longer ? 1 : 0); }
  [[nodiscard]] std::size_t begin(std::size_t i) const {
    return i * base + (i < longer ? i : longer);
  }
};

/// The sizes as the loops want them.
///
/// If threads share a product (team.h), each runs it with its own `share`: the sizes are the whole
/// call's, so that all choose the same way, and each loop then leaves out the rows or tiles of the
/// others. A loop has the same shares in each block of the inner dimension, so nobody waits between
/// blocks.
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
  /// kMaxLanes sums for each strip of rows of the result; null: not wanted. Strips do not depend on
  /// the shares.
  double* squares = nullptr;
  bool has_squares = false;  ///< of the whole product, also where `squares` is null in a block
  const GemmFactors* more;
  std::size_t more_count;
  unsigned share = 0, shares = 1;

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
        more(g.more),
        more_count(static_cast<std::size_t>(g.more_count)) {}

  /// This share of `count` rows, strips or tiles.
  [[nodiscard]] Range part_of(std::size_t count, std::size_t unit = 1) const {
    return {count, unit, share, shares};
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
