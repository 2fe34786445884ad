#pragma once

// Sums of many numbers.
//
// A float has 24 bits: each addition loses up to half of the sum's last place, and from 2^24 on an
// added 1 is lost altogether. So no loop of the float device adds more than kMostTerms numbers one
// after the other in floats. The float sum then moves to a sum in double, or in two floats of which
// the second has the rounding errors, and the next numbers begin a new float sum. In products the
// limit is kMostSteps, and kLongInner in all. Example: 1000 numbers are 16 float sums of at most 64
// terms.
//
// Bound: the error of a sum of up to 10^6 terms is at most 1e-5 of the sum of the terms' absolute
// values, on every target, beside the rounding of the terms themselves. The bound equals 160
// roundings of 2^-24; no result has more on its way.

#include <cstdint>

namespace dynet::kernels {

inline constexpr std::int64_t kMostTerms = 64;
/// Terms of the inner dimension of a product: in registers, and in one walk.
inline constexpr std::int64_t kMostSteps = 96;
inline constexpr std::int64_t kLongInner = 2048;

}  // namespace dynet::kernels
