// Sines, powers, the gamma function and their relatives on vectors of floats, compiled once per
// target.
//
// The coefficients come from src/kernels/fit_math.py; simd_functions_test.cc checks every bound
// stated here on every target. Denormal arguments count as 0, as in simd_math-inl.h.

#if defined(DYNET_KERNELS_SIMD_FUNCTIONS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_FUNCTIONS_INL_H
#undef DYNET_KERNELS_SIMD_FUNCTIONS_INL_H
#else
#define DYNET_KERNELS_SIMD_FUNCTIONS_INL_H
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "kernels/simd_math-inl.h"
#include "kernels/simd_memory-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

// ---- sines --------------------------------------------------------------------------------------

namespace detail {
inline constexpr float kTwoOverPi = 0.636619772F;
inline constexpr float kPi = 3.14159265F;
/// pi / 2 in parts of 11 bits, whose products with a number of quarters below 2^13 are exact, and
/// the rest.
inline constexpr float kHalfPi[5] = {1.5703125F, 0x1.FB4p-12F, 0x1.444p-24F, 0x1.68Cp-39F,
                                     6.12323426e-17F};
/// Larger angles have 2^13 quarters or more.
inline constexpr float kLargeAngle = 12800.0F;

/// Sine and cosine of an angle of at most kLargeAngle, without whole quarters, and the number of
/// quarters.
template <class D>
struct Angle {
  using V = hn::Vec<D>;
  using Quarters = hn::Vec<hn::RebindToSigned<D>>;
  V sine, cosine;
  Quarters quarters;

  HWY_INLINE Angle(D d, V x) {
    const V rounder = hn::Set(d, kRounder);
    const V shifted = hn::MulAdd(x, hn::Set(d, kTwoOverPi), rounder);
    const V n = hn::Sub(shifted, rounder);
    V r = x;
    for (const float part : kHalfPi) {
      r = hn::NegMulAdd(n, hn::Set(d, part), r);
    }
    const V z = hn::Mul(r, r);
    sine = hn::MulAdd(hn::Mul(r, z),
                      polynomial(z, hn::Set(d, -0.166666552F), hn::Set(d, 0.0083321603F),
                                 hn::Set(d, -0.000195151981F)),
                      r);
    cosine = hn::MulAdd(hn::Mul(z, z),
                        polynomial(z, hn::Set(d, 0.0416666456F), hn::Set(d, -0.00138873153F),
                                   hn::Set(d, 2.44330604e-05F)),
                        hn::NegMulAdd(hn::Set(d, 0.5F), z, hn::Set(d, 1.0F)));
    quarters = hn::BitCast(hn::RebindToSigned<D>(), shifted);
  }
  /// Where a number of quarters is odd.
  [[nodiscard]] static HWY_INLINE auto is_odd(D d, Quarters n) {
    const auto one = hn::Set(hn::RebindToSigned<D>(), 1);
    return hn::RebindMask(d, hn::Eq(hn::And(n, one), one));
  }
  /// The sine of the whole angle and `more` quarters.
  [[nodiscard]] HWY_INLINE V sine_with(D d, std::int32_t more) const {
    const hn::RebindToSigned<D> di;
    const Quarters all = hn::Add(quarters, hn::Set(di, more));
    const V sign = hn::BitCast(d, hn::ShiftLeft<30>(hn::And(all, hn::Set(di, 2))));
    return hn::Xor(hn::IfThenElse(is_odd(d, all), cosine, sine), sign);
  }
};

/// f of each lane, by the C library in double: slow, and right for angles of any size.
template <class D, class V>
HWY_NOINLINE V lane_by_lane(D d, V x, double (*f)(double)) {
  alignas(64) float lanes[kMaxLanes];
  hn::Store(x, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    lanes[i] = static_cast<float>(f(static_cast<double>(lanes[i])));
  }
  return hn::Load(d, lanes);
}
/// y, and f in the lanes of large angles; the other lanes do not depend on them.
template <class D, class V>
HWY_INLINE V or_large(D d, V x, V y, double (*f)(double)) {
  const auto is_large = hn::Gt(hn::Abs(x), hn::Set(d, kLargeAngle));
  if (HWY_LIKELY(hn::AllFalse(d, is_large))) {
    return y;
  }
  return hn::IfThenElse(is_large, lane_by_lane(d, x, f), y);
}
}  // namespace detail

/// Max error 3 ulp on all x, however large; infinite x: NaN; NaN stays NaN.
template <class D, class V>
HWY_INLINE V sin(D d, V x) {
  return detail::or_large(d, x, detail::Angle<D>(d, x).sine_with(d, 0),
                          [](double a) { return std::sin(a); });
}
/// Max error 3 ulp on all x, however large; infinite x: NaN; NaN stays NaN.
template <class D, class V>
HWY_INLINE V cos(D d, V x) {
  return detail::or_large(d, x, detail::Angle<D>(d, x).sine_with(d, 1),
                          [](double a) { return std::cos(a); });
}
/// Max error 4 ulp on all x, however large; infinite x: NaN; NaN stays NaN.
template <class D, class V>
HWY_INLINE V tan(D d, V x) {
  const detail::Angle<D> angle(d, x);
  const auto is_odd = detail::Angle<D>::is_odd(d, angle.quarters);
  const V y = hn::Div(hn::IfThenElse(is_odd, angle.cosine, angle.sine),
                      hn::IfThenElse(is_odd, hn::Neg(angle.sine), angle.cosine));
  return detail::or_large(d, x, y, [](double a) { return std::tan(a); });
}

namespace detail {
/// asin(x) for x from -0.5 to 0.5.
template <class D, class V>
HWY_INLINE V small_asin(D d, V x) {
  const V z = hn::Mul(x, x);
  const V p =
      polynomial(z, hn::Set(d, 0.166667521F), hn::Set(d, 0.0749529749F), hn::Set(d, 0.0454703756F),
                 hn::Set(d, 0.0241795164F), hn::Set(d, 0.0421663076F));
  return hn::MulAdd(hn::Mul(x, z), p, x);
}
}  // namespace detail

/// Max error 3 ulp from -1 to 1; elsewhere NaN.
template <class D, class V>
HWY_INLINE V asin(D d, V x) {
  const V a = hn::Abs(x);
  const V half = hn::Set(d, 0.5F);
  const auto is_far = hn::Gt(a, half);
  // pi/2 - 2 asin(sqrt((1 - a) / 2)), in which 1 - a is exact.
  const V t = hn::Sqrt(hn::NegMulAdd(half, a, half));
  const V p = detail::small_asin(d, hn::IfThenElse(is_far, t, a));
  const V far = hn::NegMulAdd(hn::Set(d, 2.0F), p, hn::Set(d, detail::kPi / 2.0F));
  return hn::CopySign(hn::IfThenElse(is_far, far, p), x);
}
/// Max error 3 ulp from -1 to 1; elsewhere NaN.
template <class D, class V>
HWY_INLINE V acos(D d, V x) {
  const V a = hn::Abs(x);
  const V half = hn::Set(d, 0.5F);
  const auto is_far = hn::Gt(a, half);
  const V t = hn::Sqrt(hn::NegMulAdd(half, a, half));
  const V p = detail::small_asin(d, hn::IfThenElse(is_far, t, x));
  const V twice = hn::Add(p, p);
  const V right =
      hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Set(d, detail::kPi), twice), twice);
  return hn::IfThenElse(is_far, right, hn::Sub(hn::Set(d, detail::kPi / 2.0F), p));
}
/// Max error 3 ulp on all x; NaN stays NaN.
template <class D, class V>
HWY_INLINE V atan(D d, V x) {
  const V a = hn::Abs(x);
  const V one = hn::Set(d, 1.0F);
  const auto is_far = hn::Gt(a, one);
  const V u = hn::IfThenElse(is_far, hn::Div(one, a), a);
  const V z = hn::Mul(u, u);
  const V p =
      polynomial(z, hn::Set(d, -0.333331525F), hn::Set(d, 0.199937731F), hn::Set(d, -0.142110556F),
                 hn::Set(d, 0.106660046F), hn::Set(d, -0.0755221397F), hn::Set(d, 0.0432118624F),
                 hn::Set(d, -0.0163679272F), hn::Set(d, 0.00292069209F));
  const V y = hn::MulAdd(hn::Mul(u, z), p, u);
  return hn::CopySign(hn::IfThenElse(is_far, hn::Sub(hn::Set(d, detail::kPi / 2.0F), y), y), x);
}

// ---- powers -------------------------------------------------------------------------------------

namespace detail {
/// a^y in double, for a >= 0 and numbers that were floats; the error is below 2^-30. If a is 1,
/// infinity to the power of y is 1 too.
template <class D, class V>
HWY_INLINE V power_in_double(D d, V a, V y) {
  const hn::RebindToUnsigned<D> du;
  constexpr double kTwoTo52 = 4503599627370496.0;
  // a = 2^k * m with m from sqrt(1/2) to sqrt(2); ln(m) = 2 atanh(t).
  const auto bits = hn::BitCast(du, a);
  const auto biased = hn::ShiftRight<52>(
      hn::Add(bits, hn::Set(du, std::uint64_t{0x3FF0000000000000 - 0x3FE6A09E667F3BCD})));
  const V k =
      hn::Sub(hn::BitCast(d, hn::Or(biased, hn::Set(du, std::uint64_t{0x4330000000000000}))),
              hn::Set(d, kTwoTo52 + 1023.0));
  const V m = hn::BitCast(
      d, hn::Sub(bits, hn::ShiftLeft<52>(hn::Sub(biased, hn::Set(du, std::uint64_t{1023})))));
  const V one = hn::Set(d, 1.0);
  const V t = hn::Div(hn::Sub(m, one), hn::Add(m, one));
  const V p = polynomial(hn::Mul(t, t), hn::Set(d, 2.8853900817779268),
                         hn::Set(d, 0.96179669392597555), hn::Set(d, 0.57707801635558531),
                         hn::Set(d, 0.41219858311113239), hn::Set(d, 0.3205988979753252),
                         hn::Set(d, 0.26230818925253879), hn::Set(d, 0.22195308321368667));
  V log2 = hn::MulAdd(t, p, k);
  const V far = hn::Set(d, 1e300);
  log2 = hn::IfThenElse(hn::Eq(a, hn::Zero(d)), hn::Neg(far), log2);
  log2 = hn::IfThenElse(hn::Gt(a, hn::Set(d, std::numeric_limits<double>::max())), far, log2);
  const V e = hn::IfThenElseZero(hn::Ne(log2, hn::Zero(d)), hn::Mul(y, log2));
  // 2^e = 2^n * 2^f, clamped to the range of a double.
  const V top = hn::Set(d, 1000.0);
  const V inside = greater(hn::Neg(top), lesser(top, e));
  const V rounder = hn::Set(d, 1.5 * kTwoTo52);
  const V shifted = hn::Add(inside, rounder);
  const V f = hn::Sub(inside, hn::Sub(shifted, rounder));
  const V q = polynomial(f, hn::Set(d, 1.0), hn::Set(d, 0.69314718055994529),
                         hn::Set(d, 0.24022650695910072), hn::Set(d, 0.055504108664821583),
                         hn::Set(d, 0.0096181291076284769), hn::Set(d, 0.0013333558146428443),
                         hn::Set(d, 0.00015403530393381609), hn::Set(d, 1.5252733804059841e-05),
                         hn::Set(d, 1.321548679014431e-06));
  return hn::BitCast(d, hn::Add(hn::BitCast(du, q), hn::ShiftLeft<52>(hn::BitCast(du, shifted))));
}
}  // namespace detail

/// x to the power of y. Max error 1 ulp if the result is a normal number; otherwise as std::pow:
/// NaN if x is below 0 and y is no whole number, 1 if y is 0 or x is 1.
template <class D, class V>
HWY_INLINE V pow(D d, V x, V y) {
  const hn::Half<D> dh;
  const hn::Rebind<double, hn::Half<D>> dd;
  const V a = hn::Abs(x);
  const auto low = detail::power_in_double(dd, hn::PromoteTo(dd, hn::LowerHalf(dh, a)),
                                           hn::PromoteTo(dd, hn::LowerHalf(dh, y)));
  const auto high = detail::power_in_double(dd, hn::PromoteTo(dd, hn::UpperHalf(dh, a)),
                                            hn::PromoteTo(dd, hn::UpperHalf(dh, y)));
  const V size = hn::Combine(d, hn::DemoteTo(dh, high), hn::DemoteTo(dh, low));
  const V zero = hn::Zero(d);
  const V one = hn::Set(d, 1.0F);
  const V half = hn::Mul(y, hn::Set(d, 0.5F));
  const auto is_whole = hn::Eq(y, hn::Floor(y));
  const auto is_odd = hn::AndNot(hn::Eq(half, hn::Floor(half)), is_whole);
  const V sign = hn::IfThenElseZero(is_odd, hn::And(x, hn::SignBit(d)));
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto is_negative = hn::And(hn::Lt(x, zero), hn::Lt(a, infinity));
  V z = hn::IfThenElse(hn::AndNot(is_whole, is_negative),
                       hn::Set(d, std::numeric_limits<float>::quiet_NaN()), hn::Xor(size, sign));
  const V sum = hn::Add(x, y);
  z = hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::IsNaN(y)), sum, z);
  return hn::IfThenElse(hn::Or(hn::Eq(y, zero), hn::Eq(x, one)), one, z);
}

// ---- the gamma function -------------------------------------------------------------------------

namespace detail {
/// How far a >= 0 is from the nearest whole number.
template <class D, class V>
HWY_INLINE V from_whole(D d, V a) {
  return hn::IfThenZeroElse(hn::Ge(a, hn::Set(d, 8388608.0F)), hn::Sub(a, hn::Round(a)));
}
}  // namespace detail

/// Logarithm of the absolute value of the gamma function. Max error 8 ulp on x > 0; elsewhere
/// 1e-6 * max(1, |lgamma(x)|), as it has zeros there. Whole x <= 0: inf; infinite x: inf; NaN stays
/// NaN.
template <class D, class V>
HWY_INLINE V log_gamma(D d, V x) {
  const auto num = [d](float v) HWY_ATTR { return hn::Set(d, v); };
  const V a = hn::Abs(x);
  const V one = num(1.0F);
  // Below 4.5: lgamma(t) = (t - 2) P(t - 1.75) for t from 1 to 2.5, and t = a + 1, a, a - 1, a - 2.
  const auto first = hn::Lt(a, num(1.5F));
  const auto second = hn::Lt(a, num(2.5F));
  const auto third = hn::Lt(a, num(3.5F));
  const auto fourth = hn::Lt(a, num(4.5F));
  const V f = hn::Sub(
      a, hn::IfThenElse(
             first, one,
             hn::IfThenElse(second, num(2.0F), hn::IfThenElse(third, num(3.0F), num(4.0F)))));
  const V s = hn::Add(f, num(0.25F));
  const V p = polynomial(s, num(0.337604493F), num(0.360528111F), num(-0.0860913768F),
                         num(0.0302305836F), num(-0.0124688651F), num(0.00559975486F),
                         num(-0.00267634494F), num(0.00133431226F), num(-0.000578185602F),
                         num(0.000252618309F), num(-0.000280029024F), num(0.00017374185F));
  const V below = hn::Sub(a, one);
  V of = hn::IfThenElse(fourth, hn::Mul(below, hn::Sub(below, one)), a);
  of = hn::IfThenElse(third, below, of);
  of = hn::IfThenElse(second, one, of);
  of = hn::IfThenElse(first, a, of);
  const V logarithm = log(d, of);
  const V product = hn::Mul(f, p);
  const V near = hn::Add(product, hn::IfThenElse(first, hn::Neg(logarithm), logarithm));
  // Stirling's series: (a - 1/2) ln a - a + ln(2 pi) / 2 + 1/(12 a) - 1/(360 a^3) + 1/(1260 a^5)
  const V w = hn::Div(one, a);
  const V series =
      polynomial(hn::Mul(w, w), num(1.0F / 12.0F), num(-1.0F / 360.0F), num(1.0F / 1260.0F));
  const V far = hn::MulAdd(hn::Sub(a, num(0.5F)), hn::Sub(logarithm, one),
                           hn::MulAdd(w, series, num(0.418938533F)));
  const V y = hn::IfThenElse(fourth, near, far);
  const auto is_negative = hn::Lt(x, hn::Zero(d));
  if (hn::AllFalse(d, is_negative)) {
    return y;
  }
  // gamma(-a) gamma(a) = -pi / (a sin(pi a)). Below 1.5, ln(a) is on both sides.
  V cosine;
  V sine;
  cos_sin_of_turn(d, hn::Mul(detail::from_whole(d, a), num(0.5F)), cosine, sine);
  const V factor = hn::Mul(hn::IfThenElse(first, one, a), hn::Abs(sine));
  const V left =
      hn::Sub(log(d, hn::Div(num(detail::kPi), factor)), hn::IfThenElse(first, product, y));
  const V infinity = num(std::numeric_limits<float>::infinity());
  const V right = hn::IfThenElse(hn::Eq(sine, hn::Zero(d)), infinity, left);
  return hn::IfThenElse(is_negative, right, y);
}

/// Derivative of log_gamma. Max error 1e-6 * max(1, |digamma(x)|). Whole x <= 0: infinite; inf:
/// inf; NaN stays NaN.
template <class D, class V>
HWY_INLINE V digamma(D d, V x) {
  const auto num = [d](float v) HWY_ATTR { return hn::Set(d, v); };
  const V a = hn::Abs(x);
  const V one = num(1.0F);
  const auto is_small = hn::Lt(a, num(6.0F));
  // digamma(a) = digamma(a + 6) - 1/a - 1/(a + 1) - ... - 1/(a + 5)
  const auto pair = [&](float k) HWY_ATTR {
    const V from = hn::Add(a, num(k));
    const V sum = hn::MulAdd(num(2.0F), a, num(2.0F * k + 1.0F));
    return hn::Div(sum, hn::Mul(from, hn::Add(from, one)));
  };
  const V steps = hn::Add(pair(0.0F), hn::Add(pair(2.0F), pair(4.0F)));
  const V t = hn::IfThenElse(is_small, hn::Add(a, num(6.0F)), a);
  const V w = hn::Div(one, t);
  const V z = hn::Mul(w, w);
  const V series = polynomial(z, num(1.0F / 12.0F), num(-1.0F / 120.0F), num(1.0F / 252.0F));
  V y = hn::NegMulAdd(z, series, hn::NegMulAdd(num(0.5F), w, log(d, t)));
  y = hn::Sub(y, hn::IfThenElseZero(is_small, steps));
  const auto is_negative = hn::Lt(x, hn::Zero(d));
  if (hn::AllFalse(d, is_negative)) {
    return y;
  }
  // digamma(-a) = digamma(a) + 1/a + pi cot(pi a)
  V cosine;
  V sine;
  cos_sin_of_turn(d, hn::Mul(detail::from_whole(d, a), num(0.5F)), cosine, sine);
  const V cotangent = hn::Div(cosine, sine);
  const V left = hn::MulAdd(num(detail::kPi), cotangent, hn::Add(y, hn::Div(one, a)));
  return hn::IfThenElse(is_negative, left, y);
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
