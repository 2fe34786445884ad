#pragma once

// What the tests of builders in whole programs share: numbers, gradients against differences, how
// many calls a graph takes, model files.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/io.h"

#include "support/observe.h"
#include "testing/device.h"
#include "testing/program.h"
#include "testing/temporary_folder.h"
#include "testing/tolerance.h"

namespace dynet::testing {

/// Draws all parameters and tables: numbers at which differences with a step of 2^-17 are exact in
/// float.
inline void draw_values(ParameterCollection& model) {
  Draw draw(7);
  for (const auto& p : model.parameters_list()) {
    p->set_value(draw(static_cast<std::int64_t>(p->size()), -1.0, 1.0));
  }
  for (const auto& table : model.lookup_parameters_list()) {
    for (unsigned row = 0; row < table->rows(); ++row) {
      table->initialize(row, draw(static_cast<std::int64_t>(table->dim.size()), -1.0, 1.0));
    }
  }
}

/// A loss that is built in a graph; the same numbers each time.
using BuildLoss = std::function<Expression(ComputationGraph&)>;

/// Compares elements 0, every, 2 * every, ... of a gradient with differences of the loss, where
/// `set` puts these values in the place of `values`.
inline void compare_gradient(const BuildLoss& loss, const std::string& name,
                             const std::vector<double>& gradient, std::vector<float> values,
                             std::size_t every,
                             const std::function<void(const std::vector<float>&)>& set) {
  constexpr float kStep = 0x1p-17F;  // see tolerance::kDifferences
  const auto at = [&](std::size_t i, float value) {
    values[i] = value;
    set(values);
    ComputationGraph cg(false);
    return as_double_vector(loss(cg).value())[0];
  };
  for (std::size_t i = 0; i < values.size(); i += every) {
    const float x = values[i];
    const double above = at(i, x + kStep);
    const double slope = (above - at(i, x - kStep)) / (2 * double{kStep});
    values[i] = x;
    set(values);
    EXPECT_EQ(compare({gradient[i]}, {slope}, tolerance::kDifferences), "") << name << " at " << i;
  }
}

/// Gradients of all parameters and rows of tables against central differences, on the device in
/// double; about `most` elements of each.
inline void check_gradients(ParameterCollection& model, const BuildLoss& loss,
                            std::size_t most = 10) {
  {
    ComputationGraph cg;
    cg.backward(loss(cg));
  }
  const auto every = [&](std::size_t size) { return 1 + size / most; };
  for (const auto& p : model.parameters_list()) {
    if (p->is_updated()) {
      compare_gradient(loss, p->name,
                       p->has_grad() ? as_double_vector(p->g) : std::vector<double>(p->size(), 0.0),
                       as_vector(p->values), every(p->size()),
                       [&](const std::vector<float>& values) { p->set_value(values); });
    }
  }
  for (const auto& table : model.lookup_parameters_list()) {
    LookupParameterStorage& rows = LookupParameter(table).get_storage();
    for (unsigned row = 0; row < rows.rows(); ++row) {
      compare_gradient(loss, rows.name + " row " + std::to_string(row),
                       as_double_vector(rows.grads[row]), as_vector(rows.values[row]),
                       every(rows.dim.size()),
                       [&](const std::vector<float>& values) { rows.initialize(row, values); });
    }
  }
}

/// Forward calls that compute `e`, but for those of nodes from `end` on.
inline std::size_t calls_for(ComputationGraph& cg, const Expression& e, VariableIndex end) {
  Observed observed;
  observe(cg, &observed);
  static_cast<void>(e.value());
  observe(cg, nullptr);
  return static_cast<std::size_t>(std::count_if(
      observed.calls().begin(), observed.calls().end(),
      [&](const auto& call) { return !call.members.empty() && call.members.front() < end; }));
}

/// A file of a collection, in a folder of its own.
class ModelFile {
 public:
  [[nodiscard]] std::string name() const { return folder_.file("model"); }
  void save(const ParameterCollection& model, const std::string& key = "") const {
    TextFileSaver saver(name());
    saver.save(model, key);
    saver.close();
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace dynet::testing
