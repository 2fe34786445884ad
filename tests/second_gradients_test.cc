// Gradients of gradients where rules have guards: at equal arguments, and at 0 and 1. A guard is
// written for a number, and what it gives there has to have the slope of what is around it, too.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/expr/gradient.h"

#include "support/gradient_program.h"
#include "support/samples.h"
#include "testing/cases.h"
#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

/// How a source moves, all its elements by the same: at a kink all of them are on one side.
double direction_of(std::size_t source) {
  constexpr double kDirections[] = {1.0, -0.5, 0.75, -0.25};
  return kDirections[source % std::size(kDirections)];
}

/// The sum of the gradients by backward, weighted as GradientProgram::sum_of does, with the sources
/// moved.
double moved(const Program& program, double step) {
  Program other = program;
  for (std::size_t k = 0; k < other.sources.size(); ++k) {
    for (float& x : other.sources[k].data) {
      x += static_cast<float>(step * direction_of(k));
    }
  }
  GradientProgram live(other, true);
  const Numbers gradients = live.backward(live.loss());
  Draw weights(5);
  double sum = 0.0;
  for (const std::vector<double>& g : gradients) {
    const std::vector<float> c = weights(static_cast<std::int64_t>(g.size()), -1.0, 1.0);
    for (std::size_t i = 0; i < g.size(); ++i) {
      sum += static_cast<double>(c[i]) * g[i];
    }
  }
  return sum;
}

/// The slope of `moved` on one side of the point (`step` above or below 0), without the point
/// itself: a parabola through three neighbours.
double slope_beside(const Program& program, double step) {
  return (-5.0 * moved(program, step) + 8.0 * moved(program, 2.0 * step) -
          3.0 * moved(program, 3.0 * step)) /
         (2.0 * step);
}

/// The same by the gradient of the gradient, at the point.
double slope_at(const Program& program) {
  GradientProgram live(program, true);
  const Expression sum = live.sum_of(gradient(live.loss(), live.leaves()));
  const Numbers second = live.backward(sum);
  double slope = 0.0;
  std::size_t leaf = 0;
  std::vector<bool> is_done(program.sources.size(),
                            false);  // nodes of a parameter share a gradient
  for (const Step& step : program.steps) {
    if (step.sample != nullptr) {
      continue;
    }
    const auto source = static_cast<std::size_t>(step.source);
    for (const double g : second[leaf]) {
      slope += is_done[source] ? 0.0 : direction_of(source) * g;
    }
    is_done[source] = true;
    ++leaf;
  }
  return slope;
}

/// What the elements of a source are set to.
struct Fill {
  const char* name;
  float (*of)(std::size_t source, std::size_t element);
};
constexpr Fill kFills[] = {
    {"0", [](std::size_t, std::size_t) { return 0.0F; }},
    {"1", [](std::size_t, std::size_t) { return 1.0F; }},
    {"0.5", [](std::size_t, std::size_t) { return 0.5F; }},
    {"-1", [](std::size_t, std::size_t) { return -1.0F; }},
    {"0, then 1", [](std::size_t source, std::size_t) { return source % 2 == 0 ? 0.0F : 1.0F; }},
    {"1, then 0", [](std::size_t source, std::size_t) { return source % 2 == 0 ? 1.0F : 0.0F; }},
    {"0.5, then 0", [](std::size_t source, std::size_t) { return source % 2 == 0 ? 0.5F : 0.0F; }},
    {"0.5, then 1", [](std::size_t source, std::size_t) { return source % 2 == 0 ? 0.5F : 1.0F; }},
    {"0, then 0.5", [](std::size_t source, std::size_t) { return source % 2 == 0 ? 0.0F : 0.5F; }},
    {"1, then 0.5", [](std::size_t source, std::size_t) { return source % 2 == 0 ? 1.0F : 0.5F; }},
    {"0.25 and 0.5 equally",
     [](std::size_t, std::size_t element) { return element % 2 == 0 ? 0.25F : 0.5F; }},
};

/// What is wrong at this point. At a kink of the gradient either side's slope is right; where
/// neither has one (the gradient jumps out of its domain, or grows without bound), anything is.
std::string wrong_slope(const Program& program) {
  constexpr double kStep = 0x1p-16;
  constexpr double kUnbounded = 1e4;
  const double at = slope_at(program);
  const double sides[] = {slope_beside(program, kStep), slope_beside(program, -kStep)};
  std::string wrong;
  bool has_slope = false;
  for (const double side : sides) {
    if (!std::isfinite(side) || std::abs(side) > kUnbounded) {
      continue;
    }
    has_slope = true;
    const std::string of_side = compare({at}, {side}, tolerance::kDifferences);
    if (of_side.empty()) {
      return "";
    }
    wrong += of_side + "; ";
  }
  return has_slope ? wrong : "";
}

bool has_surrogate_gradient(const Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(), [](const Step& s) {
    return s.sample != nullptr && s.sample->record->surrogate_gradient;
  });
}

class SecondGradient : public ::testing::TestWithParam<const Sample*> {};
INSTANTIATE_TEST_SUITE_P(EveryOp, SecondGradient, ::testing::ValuesIn(operation_samples()),
                         [](const auto& p) { return test_name(*p.param, p.index); });

TEST_P(SecondGradient, IsThatOfTheNeighboursAtEqualValues0And1) {
  const Sample& sample = *GetParam();
  if (sample.record->gradient == nullptr) {
    GTEST_SKIP() << "no backward in operations";
  }
  const Program whole = cases_of(sample)[0].program;
  if (has_surrogate_gradient(whole)) {
    GTEST_SKIP() << "its gradient is none";
  }
  for (const Fill& fill : kFills) {
    Program program = whole;
    for (std::size_t k = 0; k < program.sources.size(); ++k) {
      std::vector<float>& data = program.sources[k].data;
      for (std::size_t i = 0; i < data.size(); ++i) {
        data[i] = fill.of(k, i);
      }
    }
    EXPECT_EQ(wrong_slope(program), "") << sample.text() << " at " << fill.name;
  }
}

/// d2/dx2 and d2/dxdy of the loss of one element.
struct Second {
  double xx, xy;
};
Second second_of_log_loss(float x_at, float y_at) {
  ComputationGraph graph;
  const DefaultDevice scope(double_device());
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
  // The gradient is 0 at the corners, as in DyNet 2.1; its slope is that of beside them.
  EXPECT_EQ(second_of_log_loss(1.0F, 1.0F).xx, 1.0);
  EXPECT_EQ(second_of_log_loss(0.0F, 0.0F).xx, 1.0);
}

}  // namespace
}  // namespace dynet::testing
