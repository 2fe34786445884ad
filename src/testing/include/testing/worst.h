#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace dynet::testing {

/// The largest of the given errors. NaN is larger than all others and stays; std::max forgets NaN
/// when a number follows, and a test with std::max could then not fail.
class Worst {
 public:
  /// Whether `error` is the largest so far.
  bool add(double error) {
    if (std::isnan(worst_) || error <= worst_) {
      return false;
    }
    worst_ = error;
    return true;
  }
  [[nodiscard]] double get() const { return worst_; }

 private:
  double worst_ = 0.0;
};

/// The distance of two numbers: 0 for equal infinities or two NaN, infinite if only one side is NaN
/// or infinite.
inline double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) {
    return 0.0;
  }
  return std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b)
                                              : std::numeric_limits<double>::infinity();
}

/// How far `found` is from `truth`, relative to max(1, |truth|).
inline double relative_error(double found, double truth) {
  const double size = std::isfinite(truth) ? std::max(1.0, std::fabs(truth)) : 1.0;
  return distance(found, truth) / size;
}

}  // namespace dynet::testing
