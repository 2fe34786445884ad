#pragma once

// Checks of a loss for tests of builders: gradients against differences, and parameters that are
// neither zero nor alike.

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "dynet/expr.h"

#include "testing/device.h"
#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet::testing {

/// Values of every parameter and table between -1 and 1 times `scale`, biases included: numbers at
/// which differences with a step of 2^-17 are exact in float.
inline void draw_values(ParameterCollection& model, double scale = 1.0) {
  Draw draw(7);
  for (const auto& p : model.parameters_list()) {
    p->set_value(draw(static_cast<std::int64_t>(p->size()), -scale, scale));
  }
  for (const auto& table : model.lookup_parameters_list()) {
    for (unsigned row = 0; row < table->rows(); ++row) {
      table->initialize(row, draw(static_cast<std::int64_t>(table->dim.size()), -scale, scale));
    }
  }
}

/// Builds a loss in a graph; it has the same numbers each time.
using Loss = std::function<Expression(ComputationGraph&)>;

inline double value_without_gradient(const Loss& loss) {
  ComputationGraph cg(false);
  return as_double_vector(loss(cg).value())[0];
}

/// About `most` elements of a gradient against differences of the loss; `set` puts its argument in
/// the place of `values`.
inline void expect_gradient(const Loss& loss, const std::string& name,
                            const std::vector<double>& gradient, std::vector<float> values,
                            std::size_t most,
                            const std::function<void(const std::vector<float>&)>& set) {
  constexpr float kStep = 0x1p-17F;  // see tolerance::kDifferences
  const auto value_at = [&](std::size_t i, float value) {
    values[i] = value;
    set(values);
    return value_without_gradient(loss);
  };
  for (std::size_t i = 0; i < values.size(); i += 1 + values.size() / most) {
    const float v = values[i];
    const float above = v + kStep;
    const float below = v - kStep;
    const double rise = value_at(i, above) - value_at(i, below);
    values[i] = v;
    set(values);
    const double step = static_cast<double>(above) - static_cast<double>(below);
    EXPECT_EQ(compare({gradient[i]}, {rise / step}, tolerance::kDifferences), "")
        << name << " at " << i;
  }
}

/// The numbers of each parameter and row of a table, or about `most` of each: the gradient of the
/// loss against central differences. The model must be on the double device.
inline void expect_gradients(ParameterCollection& model, const Loss& loss,
                             std::size_t most = std::numeric_limits<std::size_t>::max()) {
  model.reset_gradient();
  {
    ComputationGraph cg;
    cg.backward(loss(cg));
  }
  for (const auto& p : model.parameters_list()) {
    if (p->is_updated()) {
      expect_gradient(loss, p->name,
                      p->has_grad() ? as_double_vector(p->g) : std::vector<double>(p->size(), 0.0),
                      as_vector(p->values), most,
                      [&](const std::vector<float>& values) { p->set_value(values); });
    }
  }
  for (const auto& table : model.lookup_parameters_list()) {
    LookupParameterStorage& rows = LookupParameter(table).get_storage();
    for (unsigned row = 0; row < rows.rows(); ++row) {
      expect_gradient(loss, rows.name + " row " + std::to_string(row),
                      as_double_vector(rows.grads[row]), as_vector(rows.values[row]), most,
                      [&](const std::vector<float>& values) { rows.initialize(row, values); });
    }
  }
}

}  // namespace dynet::testing
