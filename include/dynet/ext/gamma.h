#pragma once

// The gamma function for rules (rule.h), as numbers in float or double, on the host and in device
// code.

#include <cmath>
#include <concepts>

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
template <std::floating_point T>
DYNET_DEVICE_FN T derivative_of_log_gamma(T x) {
  constexpr double kPi = 3.141592653589793;
  constexpr double kFarEnough = 10.0;
  const double a = std::fabs(static_cast<double>(x));
  double steps = 0.0;
  double t = a;
  while (t < kFarEnough) {
    steps += 1.0 / t;
    t += 1.0;
  }
  const double w = 1.0 / t;
  const double z = w * w;
  // Bernoulli's numbers B_2k / 2k
  const double series =
      z * (1.0 / 12 - z * (1.0 / 120 -
                           z * (1.0 / 252 -
                                z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  const double y = std::log(t) - 0.5 * w - series - steps;
  if (!(static_cast<double>(x) < 0.0)) {
    return static_cast<T>(y);
  }
  const double r = a < 0x1p52 ? a - std::round(a) : 0.0;
  return static_cast<T>(y + 1.0 / a + kPi * std::cos(kPi * r) / std::sin(kPi * r));
}

}  // namespace dynet::rule
