#pragma once

// What tests of builders do with a loss: gradients against differences, and parameters that are
// neither zero nor alike.

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "dynet/expr.h"

#include "testing/device.h"
#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet::testing {

/// Values of every parameter between -1 and 1 times `scale`, biases included.
inline void draw_values(ParameterCollection& model, double scale = 1.0) {
  Draw draw(7);
  for (const auto& p : model.parameters_list()) {
    p->set_value(draw(static_cast<std::int64_t>(p->size()), -scale, scale));
  }
}

using Loss = std::function<Expression(ComputationGraph&)>;

inline double value_without_gradient(const Loss& loss) {
  ComputationGraph cg(false);
  return as_double_vector(loss(cg).value())[0];
}

/// Each number of each parameter: the gradient of the loss against central differences. The model
/// must be on the double device.
inline void expect_gradients(ParameterCollection& model, const Loss& loss) {
  constexpr float kStep = 0x1p-17F;  // see tolerance::kDifferences
  model.reset_gradient();
  {
    ComputationGraph cg;
    cg.backward(loss(cg));
  }
  for (const auto& p : model.parameters_list()) {
    ASSERT_TRUE(p->has_grad()) << p->name;
    const std::vector<double> gradient = as_double_vector(p->g);
    std::vector<float> values = as_vector(p->values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float v = values[i];
      const float above = v + kStep;
      const float below = v - kStep;
      values[i] = above;
      p->set_value(values);
      const double more = value_without_gradient(loss);
      values[i] = below;
      p->set_value(values);
      const double less = value_without_gradient(loss);
      values[i] = v;
      p->set_value(values);
      const double step = static_cast<double>(above) - static_cast<double>(below);
      EXPECT_EQ(compare({gradient[i]}, {(more - less) / step}, tolerance::kDifferences), "")
          << p->name << " at " << i;
    }
  }
}

}  // namespace dynet::testing
