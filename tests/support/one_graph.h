#pragma once

// Functions for fixtures of tests of single calls in one graph.

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/tensor.h"

namespace dynet::testing {

/// A base beside gtest's.
class OneGraph {
 protected:
  using Floats = std::vector<float>;

  static Floats value_of(const Expression& e) { return as_vector(e.value()); }
  /// The gradient of the sum of all numbers of y.
  Floats gradient_of_sum(const Expression& of, const Expression& y) {
    cg.backward(sum_batches(sum_elems(y)), true);
    return as_vector(of.gradient());
  }
  /// Each of these calls is refused, and leaves the graph unchanged.
  template <class E>
  void refuses(const std::vector<std::function<Expression()>>& calls) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const std::size_t nodes = cg.nodes.size();
      EXPECT_THROW(static_cast<void>(calls[i]()), E) << "call " << i;
      EXPECT_EQ(cg.nodes.size(), nodes) << "call " << i;
    }
  }

  ComputationGraph cg;
};

}  // namespace dynet::testing
