// exp, log and their relatives on vectors of floats, compiled once per target.
//
// The coefficients come from src/kernels/fit_math.py; simd_math_test.cc checks every bound stated
// here on every target. Denormal arguments count as 0 and denormal results are 0, whatever the
// mode.

#if defined(DYNET_KERNELS_SIMD_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_MATH_INL_H
#undef DYNET_KERNELS_SIMD_MATH_INL_H
#else
#define DYNET_KERNELS_SIMD_MATH_INL_H
#endif

#include <cstdint>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// a < b ? a : b, and a > b ? a : b: b if either is NaN. Min and Max of Highway say nothing about
/// NaN: of x86 they are these; on Arm they take the number.
template <class V>
HWY_INLINE V lesser(V a, V b) {
#if HWY_ARCH_X86
  return hn::Min(a, b);
#else
  return hn::IfThenElse(hn::Lt(a, b), a, b);
#endif
}
template <class V>
HWY_INLINE V greater(V a, V b) {
#if HWY_ARCH_X86
  return hn::Max(a, b);
#else
  return hn::IfThenElse(hn::Gt(a, b), a, b);
#endif
}

/// c_0 + x * (c_1 + x * (... + x * c_last))
template <class V>
HWY_INLINE V polynomial(V /*x*/, V c_last) {
  return c_last;
}
template <class V, class... Rest>
HWY_INLINE V polynomial(V x, V c_0, Rest... rest) {
  return hn::MulAdd(polynomial(x, rest...), x, c_0);
}

namespace detail {
// ln 2 in two parts: the first has so few bits that its product with a whole number is exact.
inline constexpr float kLn2High = 0.693359375F;
inline constexpr float kLn2Low = -2.12194440e-4F;
inline constexpr float kLog2E = 1.44269504F;
inline constexpr float kExpTop = 88.7228317F;      // the last x with a finite exp(x)
inline constexpr float kExpBottom = -87.3365402F;  // the first x with a normal exp(x)
/// Added to a number below 2^22, it leaves the rounded number in the lowest bits.
inline constexpr float kRounder = 12582912.0F;

/// x = n * ln 2 + r. `n` is returned shifted by kRounder.
template <class D, class V>
HWY_INLINE V split_by_ln2(D d, V x, V& r) {
  const V rounder = hn::Set(d, kRounder);
  const V shifted = hn::MulAdd(x, hn::Set(d, kLog2E), rounder);
  const V n = hn::Sub(shifted, rounder);
  r = hn::NegMulAdd(n, hn::Set(d, kLn2High), x);
  r = hn::NegMulAdd(n, hn::Set(d, kLn2Low), r);
  return shifted;
}
/// y * 2^n, for results that are normal numbers.
template <class D, class V>
HWY_INLINE V scale_by(D d, V y, V shifted_n) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d, hn::Add(hn::BitCast(di, y), hn::ShiftLeft<23>(hn::BitCast(di, shifted_n))));
}
}  // namespace detail

/// Max error 2 ulp on [-87.33, 88.72]; below: 0; above: inf; NaN stays NaN.
template <class D, class V>
HWY_INLINE V exp(D d, V x) {
  V r;
  const V n = detail::split_by_ln2(d, x, r);
  const V p =
      polynomial(r, hn::Set(d, 0.49999994F), hn::Set(d, 0.166665196F), hn::Set(d, 0.0416683964F),
                 hn::Set(d, 0.00836879667F), hn::Set(d, 0.00138144335F));
  const V y = hn::Add(hn::MulAdd(hn::Mul(r, r), p, r), hn::Set(d, 1.0F));
  const V inside =
      hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, detail::kExpBottom)), detail::scale_by(d, y, n));
  const V outside = hn::Add(x, hn::Set(d, std::numeric_limits<float>::infinity()));
  return hn::IfThenElse(hn::Le(x, hn::Set(d, detail::kExpTop)), inside, outside);
}

/// exp(x) - 1. Max error 3 ulp on all x; above 88.72: inf; NaN stays NaN.
template <class D, class V>
HWY_INLINE V expm1(D d, V x) {
  // Below -18 the result is -1.
  const V low = hn::Set(d, -18.0F);
  const V t = hn::IfThenElse(hn::Lt(x, low), low, x);
  V r;
  const V n = detail::split_by_ln2(d, t, r);
  const V p = polynomial(r, hn::Set(d, 0.5F), hn::Set(d, 0.16666542F), hn::Set(d, 0.0416662805F),
                         hn::Set(d, 0.00836665928F), hn::Set(d, 0.00139465812F));
  const V y = hn::MulAdd(hn::Mul(r, r), p, r);
  // 2 * (s * y + (s - 1/2)) with s = 2^(n-1), because 2^128 is no float.
  const V half = hn::Set(d, 0.5F);
  const V s = detail::scale_by(d, half, n);
  const V sum = hn::MulAdd(s, y, hn::Sub(s, half));
  const V outside = hn::Add(x, hn::Set(d, std::numeric_limits<float>::infinity()));
  return hn::IfThenElse(hn::Le(x, hn::Set(d, detail::kExpTop)), hn::Add(sum, sum), outside);
}

/// Max error 3 ulp on all positive normal x; 0: -inf; below 0: NaN; inf: inf; NaN stays NaN.
template <class D, class V>
HWY_INLINE V log(D d, V x) {
  const hn::RebindToSigned<D> di;
  // x = 2^k * m with m from sqrt(1/2) to sqrt(2).
  const auto bits = hn::BitCast(di, x);
  const auto k = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3F3504F3)));
  const V f = hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(k))), hn::Set(d, 1.0F));
  const V exponent = hn::ConvertTo(d, k);
  const V p =
      polynomial(f, hn::Set(d, 0.333333313F), hn::Set(d, -0.250008196F), hn::Set(d, 0.200012267F),
                 hn::Set(d, -0.166233569F), hn::Set(d, 0.142017573F), hn::Set(d, -0.131601825F),
                 hn::Set(d, 0.12761578F), hn::Set(d, -0.0763449818F));
  const V f2 = hn::Mul(f, f);
  V y = hn::Mul(hn::Mul(f2, f), p);
  y = hn::MulAdd(exponent, hn::Set(d, detail::kLn2Low), y);
  y = hn::NegMulAdd(hn::Set(d, 0.5F), f2, y);
  y = hn::MulAdd(exponent, hn::Set(d, detail::kLn2High), hn::Add(f, y));
  const V tiny = hn::Set(d, std::numeric_limits<float>::min());
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const V not_positive = hn::IfThenElse(hn::Gt(x, hn::Neg(tiny)), hn::Neg(infinity),
                                        hn::Set(d, std::numeric_limits<float>::quiet_NaN()));
  y = hn::IfThenElse(hn::Lt(x, tiny), not_positive, y);
  return hn::IfThenElse(hn::Lt(x, infinity), y, x);
}

/// log(1 + x). Max error 4 ulp on x > -1; -1: -inf; below: NaN; inf: inf; NaN stays NaN.
template <class D, class V>
HWY_INLINE V log1p(D d, V x) {
  // The rounding error of 1 + x is added back, divided by the slope (Kahan).
  const V one = hn::Set(d, 1.0F);
  const V u = hn::Add(one, x);
  const V lost = hn::Sub(x, hn::Sub(u, one));
  const V y = log(d, u);
  const V corrected = hn::Add(y, hn::Div(lost, u));
  // 1 + x is 1: the logarithm is x. If y is not finite, the correction is meaningless.
  const V small = hn::IfThenElse(hn::Eq(u, one), x, corrected);
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  return hn::IfThenElse(hn::Lt(hn::Abs(y), infinity), small, y);
}

/// Max error 5 ulp on all x (6 without fused multiply-add); never above 1 in absolute value; NaN
/// stays NaN.
template <class D, class V>
HWY_INLINE V tanh(D d, V x) {
  // In this order of arguments NaN passes. At 8.492 the quotient rounds to 1, with
  // and without fused multiply-add, so it does above.
  const V top = hn::Set(d, 8.492F);
  const V t = greater(hn::Neg(top), lesser(top, x));
  const V u = hn::Mul(t, t);
  const V one = hn::Set(d, 1.0F);
  const V p = polynomial(u, one, hn::Set(d, 0.137053654F), hn::Set(d, 0.00390029559F),
                         hn::Set(d, 2.86579088e-05F), hn::Set(d, 3.21763025e-08F),
                         hn::Set(d, -1.34154285e-11F));
  const V q = polynomial(u, one, hn::Set(d, 0.470386982F), hn::Set(d, 0.0273626335F),
                         hn::Set(d, 0.000399517594F), hn::Set(d, 1.33315029e-06F));
  const V y = hn::Div(hn::Mul(t, p), q);
  return greater(hn::Neg(one), lesser(one, y));
}

/// 1 / (1 + exp(-x)). Max error 4 ulp on x >= -87.33, so the left tail keeps its relative accuracy;
/// below -88.73: 0; NaN stays NaN.
template <class D, class V>
HWY_INLINE V logistic(D d, V x) {
  const V one = hn::Set(d, 1.0F);
  return hn::Div(one, hn::Add(one, exp(d, hn::Neg(x))));
}

/// Error function. Max error 3 ulp on all x; from 3.92 on it is 1; NaN stays NaN.
template <class D, class V>
HWY_INLINE V erf(D d, V x) {
  const V one = hn::Set(d, 1.0F);
  const V u = hn::Mul(x, x);
  const V near = hn::Mul(
      x, polynomial(u, hn::Set(d, 1.12837911F), hn::Set(d, -0.37612626F), hn::Set(d, 0.112835854F),
                    hn::Set(d, -0.0268538129F), hn::Set(d, 0.00518832821F),
                    hn::Set(d, -0.000801019894F), hn::Set(d, 7.85387747e-05F)));
  // 1 - erfc(t), with erfc(t) = exp(-Q(t)). In this order of arguments NaN passes.
  const V t = lesser(hn::Set(d, 4.0F), hn::Abs(x));
  const V q =
      polynomial(t, hn::Set(d, -0.000188037055F), hn::Set(d, 1.12957835F), hn::Set(d, 0.633219898F),
                 hn::Set(d, 0.108418554F), hn::Set(d, -0.0252082404F), hn::Set(d, 0.00420455635F),
                 hn::Set(d, -0.000441335316F), hn::Set(d, 2.16867629e-05F));
  const V far = hn::CopySign(hn::Sub(one, exp(d, hn::Neg(q))), x);
  return hn::IfThenElse(hn::Lt(hn::Abs(x), one), near, far);
}

/// x to the power of n, a whole number of at least 0 that all lanes share, by squaring: max error
/// 2 n ulp.
template <class D, class V>
HWY_INLINE V power(D d, V x, V n) {
  auto bits = static_cast<std::uint32_t>(hn::GetLane(n));
  V y = hn::Set(d, 1.0F);
  for (;;) {
    if ((bits & 1U) != 0) {
      y = hn::Mul(y, x);
    }
    bits >>= 1U;
    if (bits == 0) {
      return y;
    }
    x = hn::Mul(x, x);
  }
}

/// Cosine and sine of 2 pi u, for u in [0, 1): max absolute error 2e-7.
template <class D, class V>
HWY_INLINE void cos_sin_of_turn(D d, V u, V& cosine, V& sine) {
  const hn::RebindToSigned<D> di;
  const V rounder = hn::Set(d, detail::kRounder);
  const V four_u = hn::Mul(u, hn::Set(d, 4.0F));
  const V shifted = hn::Add(four_u, rounder);
  const V t = hn::Sub(four_u, hn::Sub(shifted, rounder));
  const V t2 = hn::Mul(t, t);
  const V s = hn::Mul(t, polynomial(t2, hn::Set(d, 1.57079637F), hn::Set(d, -0.64596349F),
                                    hn::Set(d, 0.079680033F), hn::Set(d, -0.00460165925F)));
  const V c = hn::MulAdd(t2,
                         polynomial(t2, hn::Set(d, -1.23370051F), hn::Set(d, 0.253669232F),
                                    hn::Set(d, -0.0208601654F), hn::Set(d, 0.000903766544F)),
                         hn::Set(d, 1.0F));
  // Quarter 0: (c, s), 1: (-s, c), 2: (-c, -s), 3: (s, -c).
  const auto quarter = hn::BitCast(di, shifted);
  const auto one = hn::Set(di, 1);
  const auto two = hn::Set(di, 2);
  const auto is_odd = hn::RebindMask(d, hn::Eq(hn::And(quarter, one), one));
  const V cos_sign = hn::BitCast(d, hn::ShiftLeft<30>(hn::And(hn::Add(quarter, one), two)));
  const V sin_sign = hn::BitCast(d, hn::ShiftLeft<30>(hn::And(quarter, two)));
  cosine = hn::Xor(hn::IfThenElse(is_odd, s, c), cos_sign);
  sine = hn::Xor(hn::IfThenElse(is_odd, c, s), sin_sign);
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
