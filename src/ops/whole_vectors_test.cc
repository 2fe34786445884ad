// Loops over rows load and store whole vectors wherever there are whole vectors. Parts of vectors
// go element by element on a target without masked memory (SSE4, NEON), which costs 30 times more.
// Nothing is timed: the test counts loads and stores of parts, on the target that every machine
// has.

#define HWY_COMPILE_ONLY_STATIC
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "dynet/ops/common.h"

// clang-format off: before Highway, as the walk over rows is the library's
#include "kernels/simd_targets.h"
// clang-format on
#include "hwy/highway.h"
#include "kernels/simd_elements-inl.h"
#include "kernels/simd_frame-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels::HWY_NAMESPACE {
namespace {
std::int64_t parts = 0;
HWY_INLINE FloatVector counted_load(FloatTag d, const float* from, std::size_t n) {
  parts += n < hn::Lanes(d) ? 1 : 0;
  return load_part(d, from, n);
}
HWY_INLINE void counted_store(FloatVector v, FloatTag d, float* to, std::size_t n) {
  parts += n < hn::Lanes(d) ? 1 : 0;
  store_part(v, d, to, n);
}
}  // namespace
}  // namespace dynet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
// NOLINTBEGIN(readability-identifier-naming): they stand for functions
#define load_part counted_load
#define store_part counted_store
// NOLINTEND(readability-identifier-naming)
#include "kernels/simd_rows-inl.h"
#undef load_part
#undef store_part

namespace dynet::ops {
namespace {

namespace simd = kernels::HWY_NAMESPACE;

/// A softmax of this test alone, because the loops of the library are not counted.
struct CountedSoftmax {
  static constexpr std::array kAlong{rule::Along::kElements};
  std::uint32_t row_axes() const { return 1; }
  constexpr auto value(auto x) const {
    const auto e = over::keep(exp(x - over::max(x)));
    return rule::each(e * (1.0 / over::sum(e)));
  }
  constexpr auto pull(auto /*x*/, auto y, auto dy) const {
    return rule::each(y * (dy - over::sum(y * dy)));
  }
};

/// The number of loads and stores of parts, in forward and backward of `inner * outer` rows.
std::int64_t parts_of(std::int64_t length, std::int64_t inner, std::int64_t outer, bool adds) {
  const auto n = static_cast<std::size_t>(length * inner * outer);
  std::vector<float> x(n, 0.5F), y(n), dy(n, 0.25F), dx(n);
  const auto stream = [&](std::vector<float>& v) {
    ext::RowStream s{};
    s.data = v.data();
    s.step[0] = inner;
    s.row_step = inner > 1 ? 1 : 0;
    s.outer_step = inner * length;
    return s;
  };
  const ext::RowStream in[] = {stream(x), stream(y), stream(dy)};
  ext::RowStream out[] = {stream(y), stream(dx)};
  out[1].adds = adds;
  const double constants[ext::kMaxRowConstants] = {1.0};
  const ext::Rows rows{.length = length, .inner = inner, .outer = outer};
  simd::parts = 0;
  simd::run_rows<rule::ForwardRule, CountedSoftmax>({constants, in, out, rows});
  simd::run_rows<rule::BackwardRule, CountedSoftmax>({constants, in, out + 1, rows});
  EXPECT_FLOAT_EQ(y[0], 1.0F / static_cast<float>(length));
  return simd::parts;
}

TEST(WholeVectors, RowsOfWholeVectorsHaveNoParts) {
  for (const bool adds : {false, true}) {
    EXPECT_EQ(parts_of(128, 1, 100, adds), 0);
    EXPECT_EQ(parts_of(50, 32, 3, adds), 0);  // side by side
  }
}
TEST(WholeVectors, OnlyTheEndOfARowIsAPart) {
  // Two loads forward (the second is kept); two passes over two inputs; for each of the two results
  // one load of the earlier numbers and one store.
  EXPECT_LE(parts_of(130, 1, 1, false), 10);
  EXPECT_GT(parts_of(130, 1, 1, false), 0);
  EXPECT_EQ(parts_of(1030, 1, 1, false), parts_of(130, 1, 1, false));
}

}  // namespace
}  // namespace dynet::ops
