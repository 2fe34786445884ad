// Loads and stores of less than a vector, compiled once per target. Nothing past the end is
// touched.

#if defined(DYNET_KERNELS_SIMD_MEMORY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_MEMORY_INL_H
#undef DYNET_KERNELS_SIMD_MEMORY_INL_H
#else
#define DYNET_KERNELS_SIMD_MEMORY_INL_H
#endif

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;

inline constexpr std::size_t kMaxLanes = hn::MaxLanes(FloatTag());

/// Stored numbers are added to this: -0 leaves every number unchanged, the sign of a zero too.
alignas(64) inline constexpr float kNothing[] = {-0.0F, -0.0F, -0.0F, -0.0F, -0.0F, -0.0F,
                                                 -0.0F, -0.0F, -0.0F, -0.0F, -0.0F, -0.0F,
                                                 -0.0F, -0.0F, -0.0F, -0.0F};
static_assert(std::size(kNothing) >= kMaxLanes);

// Defined if the target's masked loads and stores do not touch masked-off memory.
#undef DYNET_MASKED_MEMORY
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define DYNET_MASKED_MEMORY 1
#else
#define DYNET_MASKED_MEMORY 0
#endif

/// The first n lanes from memory, 0 < n <= lanes; the others are 0.
HWY_INLINE FloatVector load_part(FloatTag d, const float* HWY_RESTRICT from, std::size_t n) {
#if DYNET_MASKED_MEMORY
  return hn::MaskedLoad(hn::FirstN(d, n), d, from);
#else
  if (n == hn::Lanes(d)) {
    return hn::LoadU(d, from);
  }
  alignas(64) float lanes[kMaxLanes] = {};
  for (std::size_t i = 0; i < n; ++i) {
    lanes[i] = from[i];
  }
  return hn::Load(d, lanes);
#endif
}

/// The first n lanes to memory, 0 < n <= lanes.
HWY_INLINE void store_part(FloatVector v, FloatTag d, float* HWY_RESTRICT to, std::size_t n) {
#if DYNET_MASKED_MEMORY
  hn::BlendedStore(v, hn::FirstN(d, n), d, to);
#else
  alignas(64) float lanes[kMaxLanes];
  hn::Store(v, d, lanes);
  for (std::size_t i = 0; i < n; ++i) {
    to[i] = lanes[i];
  }
#endif
}

/// Reads a variable by itself. Neighbours just written one by one are slow to read as one vector,
/// into which compilers turn copies: a processor then waits for memory.
template <class T>
HWY_INLINE T read_alone(const T& variable) {
  return *static_cast<const volatile T*>(&variable);
}

/// Stores or adds a whole vector.
HWY_INLINE void put(FloatVector v, FloatTag d, float* HWY_RESTRICT to, bool store) {
  hn::StoreU(store ? v : hn::Add(hn::LoadU(d, to), v), d, to);
}
HWY_INLINE void put_part(FloatVector v, FloatTag d, float* HWY_RESTRICT to, std::size_t n,
                         bool store) {
  store_part(store ? v : hn::Add(load_part(d, to, n), v), d, to, n);
}

/// Four rows of four numbers as columns, in each block of four lanes.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void transpose_four(D d, V r0, V r1, V r2, V r3, V (&column)[4]) {
  const hn::Repartition<std::uint64_t, D> pairs;
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
  column[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
  column[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
  column[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
  column[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
}

/// Adds the lanes to as many doubles in aligned memory.
template <class D>
HWY_INLINE void add_in_double(D d, hn::Vec<D> v, double* HWY_RESTRICT sums) {
  const hn::Half<D> half;
  const hn::Rebind<double, hn::Half<D>> dd;
  const auto add = [&](hn::Vec<hn::Half<D>> part, double* to) HWY_ATTR {
    hn::Store(hn::Add(hn::Load(dd, to), hn::PromoteTo(dd, part)), dd, to);
  };
  add(hn::LowerHalf(half, v), sums);
  add(hn::UpperHalf(half, v), sums + hn::Lanes(d) / 2);
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
