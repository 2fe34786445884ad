// Steps of the recursion over a chain on vectors: a lane has a state, so that sums and maxima over
// its predecessors stay in registers. chain_step.h has the plain code of the same functions.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "chain_step.h"
#include "float_loops.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_chain.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd_math-inl.h"
#include "kernels/simd_memory-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {
namespace {

/// `part` lanes from memory, or all.
HWY_INLINE FloatVector load_lanes(FloatTag d, const float* from, std::size_t part) {
  return part == hn::Lanes(d) ? hn::LoadU(d, from) : load_part(d, from, part);
}
HWY_INLINE void store_lanes(FloatVector v, FloatTag d, float* to, std::size_t part) {
  if (part == hn::Lanes(d)) {
    hn::StoreU(v, d, to);
  } else {
    store_part(v, d, to, part);
  }
}
/// Scores through predecessor k at the states from i on.
template <bool kBand>
HWY_INLINE FloatVector arriving(FloatTag d, const ChainStep<float>& step, std::size_t i,
                                std::int64_t k, std::size_t part) {
  const FloatVector w =
      load_lanes(d, step.w + k * step.states + static_cast<std::int64_t>(i), part);
  if constexpr (kBand) {
    return hn::Add(load_lanes(d, step.a + static_cast<std::int64_t>(i) - k, part), w);
  } else {
    return hn::Add(hn::Set(d, step.a[k]), w);
  }
}
HWY_INLINE FloatVector finite_or_zero(FloatVector v) {
  return hn::IfThenElseZero(hn::IsFinite(v), v);
}

float chain_arrive(const float* before, const float* emissions, const float* end,
                   std::int64_t count, float* a) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto n = static_cast<std::size_t>(count);
  const auto none = hn::Set(d, -std::numeric_limits<float>::infinity());
  FloatVector top = none;
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t part = HWY_MIN(lanes, n - i);
    FloatVector v = hn::Add(load_lanes(d, before + i, part), load_lanes(d, emissions + i, part));
    if (end != nullptr) {
      v = hn::Add(v, load_lanes(d, end + i, part));
    }
    store_lanes(v, d, a + i, part);
    v = part < lanes ? hn::IfThenElse(hn::FirstN(d, part), v, none) : v;
    top = hn::IfThenElse(hn::Gt(v, top), v, top);  // NaN is never above
  }
  const float largest = hn::GetLane(finite_or_zero(hn::MaxOfLanes(d, top)));
  const auto shift = hn::Set(d, largest);
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t part = HWY_MIN(lanes, n - i);
    store_lanes(hn::Sub(load_lanes(d, a + i, part), shift), d, a + i, part);
  }
  return largest;
}

template <bool kBand>
void sum(const ChainStep<float>& step, float* y) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto n = static_cast<std::size_t>(step.states);
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t part = HWY_MIN(lanes, n - i);
    FloatVector top = hn::Set(d, -std::numeric_limits<float>::infinity());
    for (std::int64_t k = 0; k < step.sources; ++k) {
      top = hn::Max(top, arriving<kBand>(d, step, i, k, part));
    }
    top = finite_or_zero(top);  // a NaN that Max lost is in the sum
    FloatVector total = hn::Zero(d);
    for (std::int64_t k = 0; k < step.sources; ++k) {
      total = hn::Add(total, exp(d, hn::Sub(arriving<kBand>(d, step, i, k, part), top)));
    }
    store_lanes(hn::Add(top, log(d, total)), d, y + i, part);
  }
}

template <bool kBand>
void best(const ChainStep<float>& step, float* y) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto n = static_cast<std::size_t>(step.states);
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t part = HWY_MIN(lanes, n - i);
    FloatVector top = hn::Set(d, -std::numeric_limits<float>::infinity());
    for (std::int64_t k = 0; k < step.sources; ++k) {
      const FloatVector v = arriving<kBand>(d, step, i, k, part);
      const auto is_first_nan = hn::AndNot(hn::IsNaN(top), hn::IsNaN(v));
      top = hn::IfThenElse(hn::Or(hn::Gt(v, top), is_first_nan), v, top);
    }
    store_lanes(top, d, y + i, part);
  }
}

template <bool kBand>
void pull(const ChainStep<float>& step, const float* y, const float* dy, float* da, float* dw) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto n = static_cast<std::size_t>(step.states);
  for (std::int64_t k = 0; k < step.sources; ++k) {
    FloatVector total = hn::Zero(d);
    for (std::size_t i = 0; i < n; i += lanes) {
      const std::size_t part = HWY_MIN(lanes, n - i);
      const FloatVector v =
          hn::Sub(arriving<kBand>(d, step, i, k, part), finite_or_zero(load_lanes(d, y + i, part)));
      FloatVector g = hn::Mul(exp(d, v), load_lanes(d, dy + i, part));
      if (part < lanes) {  // 0 times a number in no lane may be NaN
        g = hn::IfThenElseZero(hn::FirstN(d, part), g);
      }
      if constexpr (kBand) {
        float* const to = da + static_cast<std::int64_t>(i) - k;
        store_lanes(hn::Add(load_lanes(d, to, part), g), d, to, part);
      }
      total = hn::Add(total, g);  // compiled away for a band
      if (dw != nullptr) {
        float* const to = dw + k * step.states + static_cast<std::int64_t>(i);
        store_lanes(hn::Add(load_lanes(d, to, part), g), d, to, part);
      }
    }
    if constexpr (!kBand) {
      da[k] += hn::GetLane(hn::SumOfLanes(d, total));
    }
  }
}

void chain_sum(const ChainStep<float>& step, float* y) {
  (step.is_band ? sum<true> : sum<false>)(step, y);
}
void chain_best(const ChainStep<float>& step, float* y) {
  (step.is_band ? best<true> : best<false>)(step, y);
}
void chain_pull(const ChainStep<float>& step, const float* y, const float* dy, float* da,
                float* dw) {
  (step.is_band ? pull<true> : pull<false>)(step, y, dy, da, dw);
}

}  // namespace

void fill_chain_loops(FloatLoops& loops) {
  loops.chain_arrive = chain_arrive;
  loops.chain_sum = chain_sum;
  loops.chain_best = chain_best;
  loops.chain_pull = chain_pull;
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet::kernels {
HWY_EXPORT(fill_chain_loops);
void choose_chain_loops(FloatLoops& loops) { DYNET_FOR_TARGET(fill_chain_loops)(loops); }
}  // namespace dynet::kernels
#endif
