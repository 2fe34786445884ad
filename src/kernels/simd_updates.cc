// The passes of optimisers over rows of numbers: each reads and writes every number once.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "float_loops.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_updates.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd_memory-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE FloatVector set(double value) { return hn::Set(FloatTag(), static_cast<float>(value)); }

/// The root of what is not negative: within 0.8 units in the last place from 2^-100 on, of 14 bits
/// below, where denormals may be flushed. With AVX3 by a step of Newton: divisions and roots share
/// a slow unit, for which a pass over arrays in L2 would wait.
HWY_INLINE FloatVector root(FloatVector x) {
#if HWY_TARGET == HWY_AVX3
  const FloatTag d;
  const hn::RebindToUnsigned<FloatTag> bits;
  const auto inverse = hn::ApproximateReciprocalSqrt(x);
  const auto first = hn::Mul(x, inverse);
  const auto rest = hn::NegMulAdd(first, first, x);
  const auto second = hn::MulAdd(rest, hn::Mul(inverse, hn::Set(d, 0.5F)), first);
  // The inverses of zero, denormals and infinity may make NaNs; they stay what they are.
  const auto is_normal =
      hn::Lt(hn::Sub(hn::BitCast(bits, x), hn::Set(bits, 0x00800000U)), hn::Set(bits, 0x7F000000U));
  return hn::IfThenElse(hn::RebindMask(d, is_normal), second, x);
#else
  return hn::Sqrt(x);
#endif
}

// A rule changes its state, vectors of the numbers in `state`, by one vector of each array in
// `read`.

struct SgdRule {
  FloatVector rate, keep;
  HWY_INLINE void operator()(const FloatVector (&read)[1], FloatVector (&state)[1]) const {
    state[0] = hn::NegMulAdd(rate, read[0], hn::Mul(keep, state[0]));
  }
};

struct MomentumRule {
  FloatVector rate, momentum, gain, keep;
  HWY_INLINE void operator()(const FloatVector (&read)[1], FloatVector (&state)[2]) const {
    state[1] = hn::NegMulAdd(rate, read[0], hn::Mul(momentum, state[1]));
    state[0] = hn::Mul(keep, hn::MulAdd(gain, state[1], state[0]));
  }
};

struct AdamRule {
  FloatVector scale, beta_1, beta_2, rest_1, rest_2, rate, epsilon, keep;
  explicit AdamRule(const ext::AdamStep& s)
      : scale(set(s.gradient_scale)),
        beta_1(set(s.beta_1)),
        beta_2(set(s.beta_2)),
        rest_1(set(1.0 - s.beta_1)),
        rest_2(set(1.0 - s.beta_2)),
        rate(set(s.rate)),
        epsilon(set(s.epsilon)),
        keep(set(s.keep)) {}
  HWY_INLINE void moments(FloatVector gradient, FloatVector& m, FloatVector& v) const {
    const auto g = hn::Mul(gradient, scale);
    m = hn::MulAdd(beta_1, m, hn::Mul(rest_1, g));
    v = hn::MulAdd(beta_2, v, hn::Mul(hn::Mul(rest_2, g), g));
  }
  HWY_INLINE FloatVector moved(FloatVector w, FloatVector m, FloatVector v) const {
    return hn::Mul(keep, hn::Sub(w, hn::Div(hn::Mul(rate, m), hn::Add(root(v), epsilon))));
  }
  HWY_INLINE void operator()(const FloatVector (&read)[1], FloatVector (&state)[3]) const {
    moments(read[0], state[1], state[2]);
    state[0] = moved(state[0], state[1], state[2]);
  }
};

struct AmsgradRule {
  AdamRule adam;
  HWY_INLINE void operator()(const FloatVector (&read)[1], FloatVector (&state)[4]) const {
    adam.moments(read[0], state[1], state[2]);
    state[3] = hn::Max(state[3], state[2]);
    state[0] = adam.moved(state[0], state[1], state[3]);
  }
};

struct AdamCatchUpRule {
  FloatVector total, root, variance, skew, epsilon;
  HWY_INLINE void operator()(const FloatVector (&read)[2], FloatVector (&state)[1]) const {
    // Where v is 0 and epsilon too, so is m; the least normal number keeps 0/0 out.
    const auto s = hn::Max(hn::Add(hn::Sqrt(read[1]), root), set(0x1p-126));
    const auto inverse = hn::Div(set(1.0), s);
    const auto r = hn::Mul(epsilon, inverse);
    const auto series = hn::MulAdd(hn::Mul(r, r), hn::NegMulAdd(r, skew, variance), set(1.0));
    state[0] = hn::MulAdd(hn::Mul(total, hn::Mul(read[0], inverse)), series, state[0]);
  }
};

template <std::size_t kReads, std::size_t kStates, class Rule>
HWY_INLINE void run(const Rule& rule, const float* const (&read)[kReads],
                    float* const (&state)[kStates], std::int64_t count) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto n = static_cast<std::size_t>(count);
  FloatVector r[kReads];
  FloatVector s[kStates];
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (std::size_t k = 0; k < kReads; ++k) {
      r[k] = hn::LoadU(d, read[k] + i);
    }
    for (std::size_t k = 0; k < kStates; ++k) {
      s[k] = hn::LoadU(d, state[k] + i);
    }
    rule(r, s);
    for (std::size_t k = 0; k < kStates; ++k) {
      hn::StoreU(s[k], d, state[k] + i);
    }
  }
  if (i < n) {
    const std::size_t part = n - i;
    for (std::size_t k = 0; k < kReads; ++k) {
      r[k] = load_part(d, read[k] + i, part);
    }
    for (std::size_t k = 0; k < kStates; ++k) {
      s[k] = load_part(d, state[k] + i, part);
    }
    rule(r, s);
    for (std::size_t k = 0; k < kStates; ++k) {
      store_part(s[k], d, state[k] + i, part);
    }
  }
}

void sgd(float rate, float keep, float* w, const float* g, std::int64_t n) {
  run(SgdRule{hn::Set(FloatTag(), rate), hn::Set(FloatTag(), keep)}, {g}, {w}, n);
}
void momentum(const ext::MomentumStep& s, float* w, const float* g, float* v, std::int64_t n) {
  run(MomentumRule{set(s.rate * s.gradient_scale), set(s.momentum), set(s.gain), set(s.keep)}, {g},
      {w, v}, n);
}
void adam(const ext::AdamStep& s, float* w, const float* g, float* m, float* v, std::int64_t n) {
  run(AdamRule(s), {g}, {w, m, v}, n);
}
void amsgrad(const ext::AdamStep& s, float* w, const float* g, float* m, float* v, float* largest,
             std::int64_t n) {
  run(AmsgradRule{AdamRule(s)}, {g}, {w, m, v, largest}, n);
}
void adam_catch_up(const ext::AdamCatchUp& s, const float* m, const float* v, float* w,
                   std::int64_t n) {
  run(AdamCatchUpRule{set(s.total), set(s.epsilon * s.root), set(s.variance), set(s.skew),
                      set(s.epsilon)},
      {m, v}, {w}, n);
}

}  // namespace

void fill_update_loops(FloatLoops& loops) {
  loops.sgd = sgd;
  loops.momentum = momentum;
  loops.adam = adam;
  loops.amsgrad = amsgrad;
  loops.adam_catch_up = adam_catch_up;
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet::kernels {
HWY_EXPORT(fill_update_loops);
void choose_update_loops(FloatLoops& loops) { DYNET_FOR_TARGET(fill_update_loops)(loops); }
}  // namespace dynet::kernels
#endif
