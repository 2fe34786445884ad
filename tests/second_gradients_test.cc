// Gradients of gradients of rules with guards. A guard replaces a number; its replacement must also
// have the slope of the formula around it.

#include <gtest/gtest.h>

#include "dynet/expr.h"
#include "dynet/expr/gradient.h"

#include "testing/device.h"
#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

/// d2/dx2 and d2/dxdy of the loss of one element.
struct Second {
  double xx, xy;
};
Second second_of_log_loss(float x_at, float y_at) {
  const DefaultDevice scope(double_device());
  ComputationGraph graph;  // its numbers have the type of the default device
  const Expression x = input(graph, x_at);
  const Expression y = input(graph, y_at);
  const Expression dx = gradient(binary_log_loss(x, y), {x})[0];
  const std::vector<Expression> of_dx = gradient(dx, {x, y});
  return {numbers(of_dx[0].value())[0], numbers(of_dx[1].value())[0]};
}

TEST(SecondGradientOf, BinaryLogLossWhereItHasGuards) {
  for (const float x : {0.5F, 0.25F}) {
    for (const float y : {0.5F, 0.25F, 0.0F, 1.0F}) {
      const double p = x;
      const double q = 1.0 - p;
      const Second found = second_of_log_loss(x, y);
      EXPECT_EQ(
          compare({found.xx, found.xy}, {y / (p * p) + (1.0 - y) / (q * q), -1.0 / p - 1.0 / q},
                  tolerance::kSameInDouble),
          "")
          << x << ", " << y;
    }
  }
  // The gradient is 0 at the corners, as in DyNet 2.1; its slope is the slope beside them.
  EXPECT_EQ(second_of_log_loss(1.0F, 1.0F).xx, 1.0);
  EXPECT_EQ(second_of_log_loss(0.0F, 0.0F).xx, 1.0);
}

}  // namespace
}  // namespace dynet::testing
