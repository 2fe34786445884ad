#pragma once

// For tests of functions on vectors: numbers to try, and how far a result is from the true one.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace dynet::kernels {

/// Floats from `low` to `high`, every `step`-th in the order of their bits, and the ends.
inline std::vector<float> sample(float low, float high, std::uint32_t step) {
  std::vector<float> x{low, high};
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += step) {
    const auto v = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const bool is_normal = std::fabs(v) >= std::numeric_limits<float>::min() || v == 0.0F;
    if (v >= low && v <= high && is_normal) {
      x.push_back(v);
    }
  }
  return x;
}

/// Units in the last place of a float between a result and the true value.
inline double ulps(float y, double truth) {
  constexpr float kTop = std::numeric_limits<float>::infinity();
  const auto near = static_cast<float>(std::fabs(truth));
  if (static_cast<double>(y) == truth || y == static_cast<float>(truth)) {
    return std::isinf(y) ? 0.0
                         : std::fabs(static_cast<double>(y) - truth) /
                               std::max<double>(std::nextafter(near, kTop) - near, 0x1p-149);
  }
  const double unit = std::max<double>(std::nextafter(near, kTop) - near, 0x1p-149);
  return std::fabs(static_cast<double>(y) - truth) / unit;
}

}  // namespace dynet::kernels
