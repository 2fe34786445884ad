// A graph that grows for long while values and gradients are asked for takes as long per step at
// its end as at its beginning. Counted, and held against the clock with a wide margin: a cost that
// is proportional to the graph would be 16 times as high.

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>

#include "dynet/expr.h"
#include "dynet/expr/gradient.h"

#include "api/graph_state.h"

namespace dynet {
namespace {

constexpr int kShort = 1500;
constexpr double kWide = 5.0;

/// Clock ticks of processor time per step, which other programs take little of; the best of some
/// tries.
double time_of(const std::function<void(int)>& run, int steps) {
  double best = 1e30;
  for (int i = 0; i < 4; ++i) {
    const std::clock_t begin = std::clock();
    run(steps);
    best = std::min(best, static_cast<double>(std::clock() - begin) / steps);
  }
  return best;
}

/// Other programs may take the machine for a while: one of several tries must be linear.
void expect_linear(const std::function<void(int)>& run) {
  double ratio = 0.0;
  for (int i = 0; i < 4; ++i) {
    ratio = time_of(run, 16 * kShort) / time_of(run, kShort);
    if (ratio < kWide) {
      return;
    }
  }
  ADD_FAILURE() << "a step costs " << ratio << " times as much in a program 16 times as long";
}

class Growing : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Batching, Growing, ::testing::Bool());

struct Weights {
  ParameterCollection model;
  Parameter w = model.add_parameters({4, 4});
  Parameter b = model.add_parameters({4});
};

/// A decoder whose inputs are made before its loop, and which asks for a value in each step.
TEST_P(Growing, AValueInEachStep) {
  Weights m;
  const auto decode = [&](int steps) {
    ComputationGraph cg(GetParam());
    const std::uint64_t before = cg.state().executor.wanted().visits();
    const std::vector<float> data(4, 0.5F);
    std::vector<Expression> inputs;
    inputs.reserve(static_cast<std::size_t>(steps));
    for (int t = 0; t < steps; ++t) {
      inputs.push_back(input(cg, {4}, data));
    }
    const Expression w = parameter(cg, m.w);
    Expression h = parameter(cg, m.b);
    for (const Expression& x : inputs) {
      h = tanh(w * h + x);
      static_cast<void>(h.value());
    }
    EXPECT_LE(cg.state().executor.wanted().visits() - before, cg.nodes.size());
  };
  decode(100);
  expect_linear(decode);
}

/// Each step learns from itself alone.
TEST_P(Growing, ABackwardInEachStep) {
  Weights m;
  const auto learn = [&](int steps) {
    ComputationGraph cg(GetParam());
    const std::uint64_t before = cg.state().executor.path().visits();
    const Expression w = parameter(cg, m.w);
    Expression h = parameter(cg, m.b);
    for (int t = 0; t < steps; ++t) {
      h = tanh(w * nobackprop(h));
      cg.backward(squared_norm(h));
    }
    const std::uint64_t visits = cg.state().executor.path().visits() - before;
    EXPECT_LE(visits, static_cast<std::uint64_t>(6 * steps));
  };
  expect_linear(learn);
}

/// Gradients as nodes, in each step for the value at the begin of the step.
TEST_P(Growing, AGradientAsNodesInEachStep) {
  const auto refine = [&](int steps) {
    ComputationGraph cg(GetParam());
    Expression x = input(cg, {4}, std::vector<float>(4, 0.5F));
    for (int t = 0; t < steps; ++t) {
      x = x - 0.1F * gradient(squared_norm(x), {x})[0];
    }
  };
  expect_linear(refine);
}

/// A node with several results is visited once, and not for each of them.
TEST_P(Growing, ResultsOfOneNodeAreVisitedTogether) {
  ParameterCollection model;
  ComputationGraph cg(GetParam());
  const auto gate = [&] { return parameter(cg, model.add_parameters({4})); };
  const auto [cell, hidden] = coupled_lstm_cell(gate(), gate(), gate());
  const Expression loss = squared_norm(hidden) + squared_norm(cell);
  const std::uint64_t computing = cg.nodes.size() - 1;  // hidden is a projection
  const execute::Executor& executor = cg.state().executor;
  const std::uint64_t wanted = executor.wanted().visits();
  const std::uint64_t path = executor.path().visits();
  cg.forward(loss);
  EXPECT_EQ(executor.wanted().visits() - wanted, computing);
  cg.backward(loss);
  EXPECT_EQ(executor.path().visits() - path, computing);
}

/// Trials are taken back, in a graph that holds many nodes and many parameters.
TEST_P(Growing, ARevertInEachStep) {
  ParameterCollection model;
  std::vector<Parameter> parameters;
  parameters.reserve(std::size_t{16} * kShort);
  for (int i = 0; i < 16 * kShort; ++i) {
    parameters.push_back(model.add_parameters({2}));
  }
  const auto search = [&](int steps) {
    ComputationGraph cg(GetParam());
    Expression h = parameter(cg, parameters[0]);
    for (int t = 0; t < steps; ++t) {
      const Expression p = parameter(cg, parameters[static_cast<std::size_t>(t)]);
      for (int attempt = 0; attempt < 2; ++attempt) {
        cg.checkpoint();
        static_cast<void>(tanh(h + p).value());
        cg.revert();
      }
      h = tanh(h + p);
    }
  };
  expect_linear(search);
}

}  // namespace
}  // namespace dynet
