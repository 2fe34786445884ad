#pragma once

// Whether counts of draws fit to probabilities.

#include <cmath>
#include <cstddef>
#include <vector>

namespace dynet::testing {

/// Chi squared with k degrees of freedom is above this with probability 1e-5 (Wilson and Hilferty).
inline double chi_squared_level(double k) {
  const double t = 1.0 - 2.0 / (9.0 * k) + 4.265 * std::sqrt(2.0 / (9.0 * k));
  return k * t * t * t;
}

/// Chi squared of how often each of some outcomes came in n draws.
inline double chi_squared(const std::vector<double>& counts,
                          const std::vector<double>& probabilities, double n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double wanted = n * probabilities[i];
    sum += (counts[i] - wanted) * (counts[i] - wanted) / wanted;
  }
  return sum;
}

}  // namespace dynet::testing
