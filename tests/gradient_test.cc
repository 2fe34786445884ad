// Gradients as nodes (dynet/expr/gradient.h): of every operation that has its backward in
// operations, by its examples, against backward and against differences of it.

#include "dynet/expr/gradient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "dynet/expr.h"
#include "dynet/ext/add_node.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/param-init.h"

#include "support/gradient_program.h"
#include "support/samples.h"
#include "testing/cases.h"
#include "testing/program.h"
#include "testing/sanitized.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

Numbers values_of(const std::vector<Expression>& all) {
  Numbers values;
  for (const Expression& e : all) {
    values.push_back(numbers(e.value()));
  }
  return values;
}

std::string compare_all(const Numbers& a, const Numbers& b, double bound) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string wrong = compare(a[i], b[i], bound);
    if (!wrong.empty()) {
      return "leaf " + std::to_string(i) + ": " + wrong;
    }
  }
  return "";
}

/// The sum of the gradients by backward, weighted as sum_of does, with all numbers of the program
/// moved by `step` in a direction.
double moved(const Program& program, double step) {
  Program other = program;
  Draw draw(9);
  for (Source& s : other.sources) {
    for (float& x : s.data) {
      x += static_cast<float>(step * (draw.random.below(2) == 0 ? 1.0 : -0.5));
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
/// The slope in the direction of `moved`.
double slope(const Program& program, const Numbers& gradients) {
  Draw draw(9);
  std::vector<std::vector<double>> by_source;
  for (const Source& s : program.sources) {
    std::vector<double> direction;
    direction.reserve(s.data.size());
    for (std::size_t i = 0; i < s.data.size(); ++i) {
      direction.push_back(draw.random.below(2) == 0 ? 1.0 : -0.5);
    }
    by_source.push_back(direction);
  }
  double sum = 0.0;
  std::size_t leaf = 0;
  for (const Step& step : program.steps) {
    if (step.sample != nullptr) {
      continue;
    }
    std::vector<double>& direction = by_source[static_cast<std::size_t>(step.source)];
    for (std::size_t i = 0; i < direction.size(); ++i) {
      sum += direction[i] * gradients[leaf][i];
    }
    direction.clear();  // another node of a parameter has the same gradient
    ++leaf;
  }
  return sum;
}

/// The slope of `moved`, by central differences with a step (tolerance::kDifferences) and with half
/// of it: combined, their errors of the order of the step's square are gone. (Third derivatives of
/// an inverse are large.)
double difference(const Program& program) {
  constexpr double kStep = 0x1p-17;
  const auto with = [&program](double step) {
    return (moved(program, step) - moved(program, -step)) / (2.0 * step);
  };
  return (4.0 * with(kStep / 2.0) - with(kStep)) / 3.0;
}

/// Is a gradient in it no derivative on purpose?
bool has_surrogate_gradient(const Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(), [](const Step& s) {
    return s.sample != nullptr && s.sample->record->surrogate_gradient;
  });
}

/// The first mistake in the gradients of one program; with_differences also checks gradients of
/// gradients against differences.
std::string wrong_gradients(const Program& program, bool with_differences) {
  GradientProgram live(program, true);
  const std::vector<Expression> g = gradient(live.loss(), live.leaves());
  std::string wrong =
      compare_all(values_of(g), live.backward(live.loss()), tolerance::kLongInDouble);
  if (!wrong.empty()) {
    return "against backward: " + wrong;
  }
  const Expression again = live.sum_of(g);
  const std::vector<Expression> second = gradient(again, live.leaves());
  const Numbers by_backward = live.backward(again);
  wrong = compare_all(values_of(second), by_backward, tolerance::kLongInDouble);
  if (!wrong.empty()) {
    return "of the gradient, against backward: " + wrong;
  }
  if (with_differences && !has_surrogate_gradient(program)) {
    wrong = compare({slope(program, by_backward)}, {difference(program)}, tolerance::kDifferences);
    if (!wrong.empty()) {
      return "of the gradient, against differences: " + wrong;
    }
  }
  GradientProgram alone(program, false);
  const Expression of_alone = alone.sum_of(gradient(alone.loss(), alone.leaves()));
  wrong = compare_all(alone.backward(of_alone), by_backward, tolerance::kLongInDouble);
  return wrong.empty() ? "" : "one by one: " + wrong;
}

class GradientOf : public ::testing::TestWithParam<const Sample*> {};
INSTANTIATE_TEST_SUITE_P(EveryOp, GradientOf, ::testing::ValuesIn(operation_samples()),
                         [](const auto& p) { return test_name(*p.param, p.index); });

TEST_P(GradientOf, AgreesWithBackwardAndDifferences) {
  const Sample& sample = *GetParam();
  if (sample.record->gradient == nullptr) {
    GTEST_SKIP() << "no backward in operations";
  }
  const std::vector<Case> cases = cases_of(sample);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    const std::string wrong = wrong_gradients(c.program, i < trials(cases.size(), std::size_t{1}));
    EXPECT_EQ(wrong, "") << sample.text() << ", " << c.name << "\n" << c.program.text();
  }
}

/// The operations of the list without a backward in operations: an example of each.
std::vector<const Sample*> refused_samples() {
  std::vector<const Sample*> found;
  for (const Sample* s : operation_samples()) {
    const ext::Record& r = *s->record;
    if (r.gradient == nullptr && !r.stops_gradient && !s->inputs.empty() && s->example == 0) {
      found.push_back(s);
    }
  }
  return found;
}

TEST(Gradient, RefusesOperationsByNameAndAddsNothing) {
  const std::vector<const Sample*> refused = refused_samples();
  EXPECT_FALSE(refused.empty());
  for (const Sample* s : refused) {
    const Program program = cases_of(*s)[0].program;
    GradientProgram live(program, true);
    const std::size_t nodes = live.graph().nodes.size();
    try {
      static_cast<void>(gradient(live.loss(), live.leaves()));
      ADD_FAILURE() << s->text();
    } catch (const errors::UsageError& e) {
      const std::string name(s->record->info->name);
      EXPECT_NE(std::string(e.what()).find(name + " has no backward"), std::string::npos)
          << e.what();
    }
    EXPECT_EQ(live.graph().nodes.size(), nodes) << s->text();
    EXPECT_EQ(gradient(live.loss(), {}).size(), 0U) << "nothing is asked of it";
  }
}

std::vector<double> value_of(const Expression& e) { return numbers(e.value()); }
using List = std::vector<double>;

TEST(Gradient, OfAGradientOfAGradient) {
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {0.5F, -1.0F});
  Expression y = sum_elems(square(square(x)));
  for (const List& wanted :
       {List{0.5, -4.0}, List{3.0, 12.0}, List{12.0, -24.0}, List{24.0, 24.0}, List{0.0, 0.0}}) {
    const Expression g = gradient(y, {x})[0];
    EXPECT_EQ(value_of(g), wanted);
    y = sum_elems(g);
  }
}

TEST(Gradient, OfHyperbolicFunctionsAtZero) {
  ComputationGraph graph;
  const Expression x = input(graph, 0.0F);
  Expression sine = sinh(x);
  Expression cosine = cosh(x);
  for (int order = 1; order < 5; ++order) {
    sine = gradient(sine, {x})[0];
    cosine = gradient(cosine, {x})[0];
    EXPECT_EQ(value_of(sine), List{order % 2 == 0 ? 0.0 : 1.0}) << order;
    EXPECT_EQ(value_of(cosine), List{order % 2 == 0 ? 1.0 : 0.0}) << order;
  }
}

TEST(Gradient, IsZeroWhereTheLossDoesNotDepend) {
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {1.0F, 2.0F});
  const Expression y = input(graph, Dim({2}, 2), {1.0F, 2.0F, 3.0F, 4.0F});
  const Expression stopped = sum_elems(square(nobackprop(x)));
  const std::vector<Expression> g = gradient(stopped, {x, y, stopped});
  EXPECT_EQ(value_of(g[0]), (List{0.0, 0.0}));
  EXPECT_EQ(value_of(g[1]), (List{0.0, 0.0, 0.0, 0.0}));
  EXPECT_EQ(g[1].dim(), Dim({2}, 2));
  EXPECT_EQ(value_of(g[2]), List{1.0});
}

TEST(Gradient, OfNodesOnTheWayAndTheirArguments) {
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {1.0F, 2.0F});
  const Expression y = x * 3.0F;
  const std::vector<Expression> g = gradient(sum_elems(cmult(y, x)), {x, y, x});
  EXPECT_EQ(value_of(g[0]), (List{6.0, 12.0}));
  EXPECT_EQ(value_of(g[1]), (List{1.0, 2.0}));
  EXPECT_EQ(g[2].i, g[0].i);
}

TEST(Gradient, SumsTheLossesOfABatch) {
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {1.0F, 2.0F});
  const Expression y = input(graph, Dim({2}, 2), {1.0F, 2.0F, 3.0F, 4.0F});
  const std::vector<Expression> g = gradient(dot_product(x, y), {x, y});
  EXPECT_EQ(value_of(g[0]), (List{4.0, 6.0}));
  EXPECT_EQ(value_of(g[1]), (List{1.0, 2.0, 1.0, 2.0}));
}

/// A parameter stands for all its nodes, whichever is asked for.
TEST(Gradient, OfParametersAndLookups) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({2}, ParameterInitConst(3.0F));
  const LookupParameter table = model.add_lookup_parameters(3, {2}, ParameterInitConst(2.0F));
  ComputationGraph graph;
  const Expression p1 = parameter(graph, p);
  const Expression p2 = parameter(graph, p);
  const Expression fixed = const_parameter(graph, p);
  const Expression row = lookup(graph, table, std::vector<unsigned>{1, 2});
  const Expression loss = sum_elems(cmult(cmult(p1, p2), cmult(fixed, row)));
  const std::vector<Expression> g = gradient(loss, {parameter(graph, p), p1, row, fixed});
  EXPECT_EQ(value_of(g[0]), (List{72.0, 72.0}));
  EXPECT_EQ(value_of(g[1]), (List{72.0, 72.0}));
  EXPECT_EQ(value_of(g[2]), (List{27.0, 27.0, 27.0, 27.0}));
  EXPECT_EQ(value_of(g[3]), (List{36.0, 36.0}));
  graph.backward(sum_batches(loss));
  EXPECT_EQ(numbers(p.get_storage().g), value_of(g[0]));
}

/// Memory behind a pointer is read at every run, by the nodes of the gradient, too.
TEST(Gradient, ReadsPointersAgain) {
  ComputationGraph graph;
  float number = 2.0F;
  unsigned index = 0;
  const Expression x = input(graph, {3}, {1.0F, 2.0F, 3.0F});
  const Expression scaled =
      ext::add_node(ops::MultiplyScalar{}, {x}, ext::NodePayload::of(&number));
  const Expression loss = pick(square(scaled), &index) + pickneglogsoftmax(x, &index);
  const Expression g = gradient(loss, {x})[0];
  for (const auto& [s, i] : {std::pair{2.0F, 0U}, std::pair{3.0F, 2U}}) {
    number = s;
    index = i;
    graph.forward(loss);
    graph.backward(loss, true);
    EXPECT_EQ(compare(value_of(g), numbers(x.gradient()), tolerance::kFewInFloat), "");
  }
}

/// The one mistake that is found late: the added nodes are taken away again.
TEST(Gradient, TakesBackWhatItAdded) {
  ComputationGraph graph;
  const unsigned count = 3;
  const Expression x = input(graph, 1.0F);
  const Expression loss = square(square(poisson_loss(x, &count)));
  const std::size_t nodes = graph.nodes.size();
  EXPECT_THROW(gradient(loss, {x}), errors::UsageError);
  EXPECT_EQ(graph.nodes.size(), nodes);
  graph.backward(loss, true);
  EXPECT_EQ(gradient(poisson_loss(x, 3U), {x}).size(), 1U);
}

TEST(Gradient, AcrossDevices) {
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {1.0F, 2.0F});
  const Expression there = square(to_device(x, double_device()));
  const Expression loss = sum_elems(square(to_device(there, float_device())));
  const std::vector<Expression> g = gradient(loss, {x, there});
  EXPECT_EQ(value_of(g[0]), (List{4.0, 32.0}));
  EXPECT_EQ(g[0].get_device_name(), x.get_device_name());
  EXPECT_EQ(value_of(g[1]), (List{2.0, 8.0}));
  EXPECT_EQ(g[1].get_device_name(), there.get_device_name());
  EXPECT_EQ(value_of(gradient(sum_elems(g[0]), {x})[0]), (List{12.0, 48.0}));
}

TEST(Gradient, ComputesAtOnceWhereTheGraphDoes) {
  ComputationGraph graph;
  graph.set_immediate_compute(true);
  const Expression x = input(graph, {2}, {1.0F, 2.0F});
  EXPECT_EQ(value_of(gradient(squared_norm(x), {x})[0]), (List{2.0, 4.0}));
}

/// The gradient of dropout has the same mask, in any order of computing and in new evaluations.
TEST(Gradient, DrawsWhatDropoutDrew) {
  for (const bool is_immediate : {false, true}) {
    ComputationGraph graph;
    graph.set_immediate_compute(is_immediate);
    const Expression x = input(graph, {64}, std::vector<float>(64, 1.0F));
    const Expression y = dropout(x, 0.5F);
    const Expression other = dropout(x, 0.5F);
    const Expression g = gradient(sum_elems(square(y)), {x})[0];
    const Expression later = dropout(x, 0.5F);
    for (int run = 0; run < 3; ++run) {
      const List mask = value_of(y);  // 0 or 2
      List wanted;
      for (const double m : mask) {
        wanted.push_back(2.0 * m * m);
      }
      EXPECT_EQ(value_of(g), wanted);
      EXPECT_NE(mask, value_of(other));
      EXPECT_NE(mask, value_of(later));
      graph.invalidate();
    }
  }
}

/// Later random nodes draw the same numbers as without a gradient.
TEST(Gradient, LeavesOtherRandomNodesAlone) {
  const auto drawn = [](bool with_gradient) {
    ComputationGraph graph;
    graph.set_random_stream(3);
    const Expression x = input(graph, {32}, std::vector<float>(32, 1.0F));
    const Expression y = dropout(x, 0.5F);
    if (with_gradient) {
      static_cast<void>(gradient(sum_elems(y), {x}));
    }
    return value_of(dropout(x, 0.5F));
  };
  EXPECT_EQ(drawn(true), drawn(false));
}

TEST(Gradient, RefusesOtherArguments) {
  ComputationGraph graph;
  ComputationGraph other;
  const Expression x = input(graph, {2}, {1.0F, 2.0F});
  EXPECT_THROW(gradient(x, {x}), errors::ShapeError);
  EXPECT_THROW(gradient(Expression(), {x}), errors::StaleExpression);
  EXPECT_THROW(gradient(sum_elems(x), {Expression()}), errors::StaleExpression);
  EXPECT_THROW(gradient(sum_elems(x), {input(other, 1.0F)}), errors::GraphError);
}

/// A cell, a product and a softmax in one graph: the second derivatives of a small network.
TEST(Gradient, OfALongShortTermMemory) {
  ParameterCollection model;
  const DefaultDevice scope(double_device());
  Parameter w = model.add_parameters({12, 5}, ParameterInitUniform(1.0F));
  const auto penalty = [&](ComputationGraph& graph, Expression& x) {
    x = input(graph, Dim({2}, 2), {0.5F, -1.0F, 0.25F, 2.0F});
    Expression h = zeros(graph, {3});
    Expression c = zeros(graph, {3});
    for (int t = 0; t < 3; ++t) {
      const auto next = lstm_cell(parameter(graph, w) * concatenate({x, h}), c);
      c = next[0];
      h = next[1];
    }
    const Expression loss = pickneglogsoftmax(h, std::vector<unsigned>{2, 0});
    return sum_batches(squared_norm(gradient(loss, {x})[0]));
  };
  ComputationGraph graph;
  Expression x;
  const Expression loss = penalty(graph, x);
  graph.backward(loss);
  const std::vector<double> by_backward = numbers(w.get_storage().g);
  EXPECT_EQ(compare(value_of(gradient(loss, {parameter(graph, w)})[0]), by_backward,
                    tolerance::kLongInDouble),
            "");
}

}  // namespace
}  // namespace dynet::testing
