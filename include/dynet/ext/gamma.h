#pragma once

// The gamma function for rules (rule.h), as numbers in float or double, on the host and in device
// code.

#include <cmath>
#include <concepts>
#include <limits>

#ifdef __CUDACC__
#define DYNET_DEVICE_FN __host__ __device__
#else
#define DYNET_DEVICE_FN
#endif

namespace dynet::rule {

/// ln |gamma(a)|. The C library's lgamma also writes a global variable, its sign: a race between
/// threads.
template <std::floating_point T>
DYNET_DEVICE_FN T log_gamma(T a) {
#if defined(__GLIBC__) && !defined(__CUDA_ARCH__)
  int sign = 0;
  return static_cast<T>(::lgamma_r(static_cast<double>(a), &sign));
#else
  return std::lgamma(a);
#endif
}

/// The derivative of log_gamma, infinite at whole a <= 0: the series for large numbers, to which
/// small ones are led by digamma(a) = digamma(a + 1) - 1/a, and negative ones by
/// digamma(-a) = digamma(a) + 1/a + pi cot(pi a).
/// Number: the type of the steps between. A float of the host is best computed in double; a device
/// has few units for it.
template <std::floating_point Number = double, std::floating_point T>
DYNET_DEVICE_FN T derivative_of_log_gamma(T x) {
  constexpr auto kPi = static_cast<Number>(3.141592653589793);
  constexpr Number kOne = 1;
  constexpr Number kFarEnough = 10;
  constexpr Number kAllWhole = kOne / std::numeric_limits<Number>::epsilon();
  // Bernoulli's numbers B_2k / 2k, without their signs, which alternate
  constexpr Number kSeries[] = {kOne / 12,  kOne / 120,         kOne / 252, kOne / 240,
                                kOne / 132, 691 * kOne / 32760, kOne / 12};
  const Number a = std::fabs(static_cast<Number>(x));
  Number steps = 0;
  Number t = a;
  while (t < kFarEnough) {
    steps += 1 / t;
    t += 1;
  }
  const Number w = 1 / t;
  const Number z = w * w;
  Number series = 0;
  for (int k = 6; k >= 0; --k) {
    series = z * (kSeries[k] - series);
  }
  const Number y = std::log(t) - w / 2 - series - steps;
  if (!(static_cast<Number>(x) < 0)) {
    return static_cast<T>(y);
  }
  const Number r = a < kAllWhole ? a - std::round(a) : Number{0};
  return static_cast<T>(y + 1 / a + kPi * std::cos(kPi * r) / std::sin(kPi * r));
}

}  // namespace dynet::rule
