#pragma once

// The formulas in double, by hand, for the tests of builders.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "dynet/expr.h"

#include "testing/tolerance.h"

namespace dynet::builder_tests {

using Numbers = std::vector<double>;

inline Numbers numbers_of(const Tensor& t) {
  const std::vector<float> v = as_vector(t);
  return {v.begin(), v.end()};
}
inline Numbers numbers_of(const Expression& e) { return numbers_of(e.value()); }
inline Numbers numbers_of(const Parameter& p) { return numbers_of(p.get_storage().values); }

/// Gives every parameter, biases included, values by a formula: no zeros, no two alike.
inline void set_values(ParameterCollection& model) {
  int k = 0;
  for (const auto& p : model.parameters_list()) {
    std::vector<float> v(p->size());
    for (float& x : v) {
      x = 0.6F * static_cast<float>(std::sin(1.0 + 0.7 * ++k));
    }
    p->set_value(v);
  }
}
inline std::vector<float> sample_input(std::size_t n, double start) {
  std::vector<float> v(n);
  for (float& x : v) {
    x = static_cast<float>(std::cos(start += 1.3));
  }
  return v;
}

/// The numbers of sample_input, in the type of the oracles.
inline Numbers sample(double start, std::size_t n = 3) {
  const auto v = sample_input(n, start);
  return {v.begin(), v.end()};
}

inline double sigma(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// y += W x, W column-major.
inline void add_product(const Numbers& w, const Numbers& x, Numbers& y) {
  ASSERT_EQ(w.size(), x.size() * y.size());
  for (std::size_t col = 0; col < x.size(); ++col) {
    for (std::size_t row = 0; row < y.size(); ++row) {
      y[row] += w[col * y.size() + row] * x[col];
    }
  }
}
inline Numbers affine(const Numbers& b,
                      const std::vector<std::pair<const Parameter*, Numbers>>& terms) {
  Numbers y = b;
  for (const auto& [w, x] : terms) {
    add_product(numbers_of(*w), x, y);
  }
  return y;
}
template <class F>
Numbers map(const Numbers& x, F f) {
  Numbers y;
  for (const double v : x) {
    y.push_back(f(v));
  }
  return y;
}

/// Equal up to float rounding over a few steps.
inline void expect_near(const Numbers& got, const Numbers& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], tolerance::kCellInFloat) << "at " << i;
  }
}

inline std::vector<std::string> names_of(const ParameterCollection& model) {
  std::vector<std::string> names;
  for (const auto& p : model.parameters_list()) {
    names.push_back(p->name);
  }
  return names;
}

}  // namespace dynet::builder_tests
