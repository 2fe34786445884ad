// Gradients of gradients at the guards of rules: at equal arguments, 0 and 1. A guard is written
// for a number, and its result has to have the slope of the neighbours, too.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/expr.h"
#include "dynet/expr/gradient.h"

#include "support/gradient_program.h"
#include "support/samples.h"
#include "testing/cases.h"
#include "testing/device.h"
#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

/// The direction in which an element moves: all elements of a source to the same side, so that at a
/// kink all are on one side of it, and none by as much as the next, so that none stay equal.
double direction_of(std::size_t source, std::size_t element) {
  constexpr double kDirections[] = {1.0, -0.5, 0.75, -0.25};
  constexpr double kElements[] = {1.0, 0.625, 0.875, 0.75, 0.5};
  return kDirections[source % std::size(kDirections)] *
         kElements[(element + 2 * source) % std::size(kElements)];
}

/// The gradients of the loss by backward, with the sources moved.
Numbers gradients_at(const Program& program, double step) {
  Program other = program;
  for (std::size_t k = 0; k < other.sources.size(); ++k) {
    for (std::size_t i = 0; i < other.sources[k].data.size(); ++i) {
      other.sources[k].data[i] += static_cast<float>(step * direction_of(k, i));
    }
  }
  GradientProgram live(other, true);
  return live.backward(live.loss());
}

/// The sum of these gradients, weighted as GradientProgram::sum_of does.
double moved(const Program& program, double step) {
  const Numbers gradients = gradients_at(program, step);
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

/// True if the gradient jumps at the point: the operation has a kink, and the gradient is one of
/// several that are right.
bool has_kink(const Program& program, double step) {
  const Numbers at = gradients_at(program, 0.0);
  for (const double side : {step, -step}) {
    const Numbers beside = gradients_at(program, side);
    for (std::size_t k = 0; k < at.size(); ++k) {
      for (std::size_t i = 0; i < at[k].size(); ++i) {
        if (!(std::abs(at[k][i] - beside[k][i]) <= 64.0 * step * (1.0 + std::abs(at[k][i])))) {
          return true;
        }
      }
    }
  }
  return false;
}

/// The slope of `moved` on one side of the point (`step` above or below 0): a parabola through
/// three neighbours, without the point itself.
double slope_beside(const Program& program, double step) {
  return (-5.0 * moved(program, step) + 8.0 * moved(program, 2.0 * step) -
          3.0 * moved(program, 3.0 * step)) /
         (2.0 * step);
}

/// The slope at the point, by the gradient of the gradient.
double slope_at(const Program& program) {
  GradientProgram live(program, true);
  const Expression sum = live.sum_of(gradient(live.loss(), live.leaves()));
  const Numbers second = live.backward(sum);
  double slope = 0.0;
  std::size_t leaf = 0;
  std::vector<bool> is_done(program.sources.size(), false);  // nodes of a parameter share one
  for (const Step& step : program.steps) {
    if (step.sample != nullptr) {
      continue;
    }
    const auto source = static_cast<std::size_t>(step.source);
    for (std::size_t i = 0; i < second[leaf].size() && !is_done[source]; ++i) {
      slope += direction_of(source, i) * second[leaf][i];
    }
    is_done[source] = true;
    ++leaf;
  }
  return slope;
}

/// The numbers that the elements of a source are set to.
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

/// Describes the fault at this point; empty if there is none. At a kink of the operation the second
/// gradient has to be a number. Elsewhere it has to lie between the slopes of both sides, which
/// differ if the gradient has a kink.
std::string wrong_slope(const Program& program) {
  constexpr double kStep = 0x1p-16;
  for (const std::vector<double>& g : gradients_at(program, 0.0)) {
    if (!std::all_of(g.begin(), g.end(), [](double x) { return std::isfinite(x); })) {
      return "";  // outside of the domain, or at a pole
    }
  }
  const double at = slope_at(program);
  const auto [least, most] =
      std::minmax({slope_beside(program, kStep), slope_beside(program, -kStep)});
  if (has_kink(program, kStep) || !std::isfinite(least) || !std::isfinite(most)) {
    return std::isfinite(at) ? "" : std::to_string(at);
  }
  return compare({at}, {std::clamp(at, least, most)}, tolerance::kDifferences);
}

/// The operations whose second gradient at 0 is not the slope of the neighbours by their formulas:
/// x^a with a between 1 and 2 has an infinite one, and cosine_similarity is the product over 1e-16
/// for vectors shorter than 1e-8.
bool is_singular_at_0(const Sample& sample) {
  const std::string_view name = sample.record->info->name;
  return name == "pow_scalar" || name == "cosine_similarity";
}

/// The operations that have gradients in nodes, and a gradient that is one.
std::vector<const Sample*> differentiable_twice() {
  std::vector<const Sample*> all = operation_samples();
  std::erase_if(all, [](const Sample* s) {
    return s->record->gradient == nullptr || s->record->surrogate_gradient;
  });
  return all;
}

class SecondGradient : public ::testing::TestWithParam<const Sample*> {};
INSTANTIATE_TEST_SUITE_P(EveryOp, SecondGradient, ::testing::ValuesIn(differentiable_twice()),
                         [](const auto& p) { return test_name(*p.param, p.index); });

TEST_P(SecondGradient, IsThatOfTheNeighboursAtEqualValues0And1) {
  Program program = cases_of(*GetParam())[0].program;
  for (const Fill& fill : kFills) {
    bool has_0 = false;
    for (std::size_t k = 0; k < program.sources.size(); ++k) {
      std::vector<float>& data = program.sources[k].data;
      for (std::size_t i = 0; i < data.size(); ++i) {
        data[i] = fill.of(k, i);
        has_0 = has_0 || data[i] == 0.0F;
      }
    }
    if (!has_0 || !is_singular_at_0(*GetParam())) {
      EXPECT_EQ(wrong_slope(program), "") << GetParam()->text() << " at " << fill.name;
    }
  }
}

/// d2/dx2 and d2/dxdy of the loss of one element.
struct Second {
  double xx, xy;
};
Second second_of_log_loss(float x_at, float y_at) {
  const DefaultDevice scope(double_device());
  ComputationGraph graph;  // takes its numbers from the default device of this moment
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
  // The gradient is 0 at the corners, as in DyNet 2.1; its slope is the slope of the neighbours.
  EXPECT_EQ(second_of_log_loss(1.0F, 1.0F).xx, 1.0);
  EXPECT_EQ(second_of_log_loss(0.0F, 0.0F).xx, 1.0);
}

}  // namespace
}  // namespace dynet::testing
