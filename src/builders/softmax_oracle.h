#pragma once

// Choices by hand, as loops over doubles, for the tests of softmax builders.

#include <cmath>
#include <cstddef>

#include "test_support.h"

namespace dynet::builder_tests {

inline Numbers scores(const Numbers& w, const Numbers& b, const Numbers& x) {
  Numbers z = b;
  add_product(w, x, z);
  return z;
}
inline Numbers scores(const ParameterStorage& w, const ParameterStorage& b, const Numbers& x) {
  return scores(numbers_of(w.values), numbers_of(b.values), x);
}
inline Numbers log_softmax_of(const Numbers& z) {
  double all = 0.0;
  for (const double v : z) {
    all += std::exp(v);
  }
  return builder_tests::map(z, [&](double v) { return v - std::log(all); });
}
inline double sum_of_probabilities(const Numbers& logs) {
  double all = 0.0;
  for (const double v : logs) {
    all += std::exp(v);
  }
  return all;
}

/// ln p of a choice whose parameters have the numbers n and n + 1.
inline Numbers choice(const ParameterCollection& model, std::size_t n, const Numbers& x) {
  const auto& p = model.parameters_list();
  return log_softmax_of(scores(*p[n], *p[n + 1], x));
}

}  // namespace dynet::builder_tests
