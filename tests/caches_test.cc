// Caches between steps (interned shapes and keys, workspaces, assembled calls, a graph's list of
// storages) must not answer for an object that has changed since.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "dynet/devices.h"
#include "dynet/expr.h"
#include "dynet/globals.h"
#include "dynet/init.h"
#include "dynet/training.h"

#include "support/far_device.h"
#include "testing/device.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Floats = std::vector<float>;

/// loss = sum (w x)^2 for w full of `value`, x full of ones: rows * (cols * value)^2.
float loss_of(const Parameter& w, bool batching) {
  ComputationGraph cg(batching);
  const Expression x = ones(cg, {w.dim().cols()});
  const Expression loss = squared_norm(parameter(cg, w) * x);
  const float value = as_scalar(loss.value());
  cg.backward(loss);
  return value;
}

class Caches : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Batching, Caches, ::testing::Bool());

/// Storages come and go at the same addresses, with other sizes.
TEST_P(Caches, AParameterOfAnotherSizeInTheSamePlace) {
  for (unsigned round = 0; round < 60; ++round) {
    const unsigned rows = 1 + round % 5;
    const unsigned columns = 1 + round % 7;
    auto model = std::make_unique<ParameterCollection>();
    const Parameter w = model->add_parameters({rows, columns}, ParameterInitConst(0.5F));
    const float each = 0.5F * static_cast<float>(columns);
    EXPECT_FLOAT_EQ(loss_of(w, GetParam()), static_cast<float>(rows) * each * each);
    const Floats g = as_vector(w.get_storage().g);
    ASSERT_EQ(g.size(), std::size_t{rows} * columns);
    for (const float v : g) {
      EXPECT_FLOAT_EQ(v, 2.0F * each);
    }
  }
}

TEST_P(Caches, AParameterFrozenAndThawedBetweenPasses) {
  ParameterCollection model;
  Parameter w = model.add_parameters({2, 2}, ParameterInitConst(1.0F));
  ComputationGraph cg(GetParam());
  const Expression loss = squared_norm(parameter(cg, w) * ones(cg, {2}));
  const auto gradient = [&] {
    model.reset_gradient();
    cg.forward(loss);
    cg.backward(loss);
    return as_vector(w.get_storage().g)[0];
  };
  EXPECT_EQ(gradient(), 4.0F);
  w.set_updated(false);
  EXPECT_EQ(gradient(), 0.0F);
  w.set_updated(true);
  EXPECT_EQ(gradient(), 4.0F);
}

TEST_P(Caches, PolicyChangedInTheMiddleOfAGraph) {
  ParameterCollection model;
  Parameter w = model.add_parameters({3, 3}, ParameterInitConst(0.25F));
  const auto numbers = [&](bool switches) {
    model.reset_gradient();
    ComputationGraph cg(GetParam());
    std::vector<Expression> losses;
    Expression h = ones(cg, {3});
    for (int t = 0; t < 6; ++t) {
      h = tanh(affine_transform({h, parameter(cg, w), ones(cg, {3}), parameter(cg, w), h}));
      losses.push_back(squared_norm(h));
      if (switches) {
        static_cast<void>(losses.back().value());
        cg.set_batching(!cg.batching());
      }
    }
    const Expression loss = sum(losses);
    Floats all = as_vector(loss.value());
    cg.backward(loss);
    const Floats g = as_vector(w.get_storage().g);
    all.insert(all.end(), g.begin(), g.end());
    return all;
  };
  const Floats plain = numbers(false);
  const Floats switched = numbers(true);
  ASSERT_EQ(plain.size(), switched.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_NEAR(plain[i], switched[i],
                tolerance::kSumsInFloat * std::max(1.0F, std::abs(plain[i])));
  }
}

/// Workspaces go from graph to graph; the numbers of one device must not be read as the other's.
TEST_P(Caches, DevicesTakeTurns) {
  Device* const devices[] = {testing::test_device("CPU"), testing::test_device("CPU:double")};
  for (int round = 0; round < 6; ++round) {
    const testing::DefaultDevice scope(devices[round % 2]);
    ParameterCollection model;
    const Parameter w = model.add_parameters({2, 3}, ParameterInitConst(2.0F));
    EXPECT_EQ(loss_of(w, GetParam()), 72.0F) << default_device->name;
    SimpleSGDTrainer trainer(model, 0.125F);
    trainer.clipping_enabled = false;
    trainer.update();  // dw = 2 * 6 * 1
    EXPECT_EQ(loss_of(w, GetParam()), 2.0F * (3 * 0.5F) * (3 * 0.5F));
  }
}

/// The calls assembled by forward serve backward too: they must be the calls of the last forward.
TEST_P(Caches, PayloadChangedBehindPointersBetweenPasses) {
  ParameterCollection model;
  LookupParameter table =
      model.add_lookup_parameters(3, {2}, ParameterInitFromVector({1, 2, 3, 4, 5, 6}));
  std::vector<unsigned> rows{0, 1};
  std::vector<unsigned> labels{0, 1};
  Floats weights{1.0F, 10.0F};
  ComputationGraph cg(GetParam());
  const Expression picked = pick(lookup(cg, table, &rows), &labels);
  const Expression loss = sum_batches(picked * input(cg, Dim({1}, 2), &weights));
  const auto gradient = [&] {
    model.reset_gradient();
    cg.forward(loss);
    cg.backward(loss);
    return as_vector(table.get_storage().all_grads);
  };
  EXPECT_EQ(as_scalar(loss.value()), 1.0F + 40.0F);
  EXPECT_EQ(gradient(), (Floats{1, 0, 0, 10, 0, 0}));
  rows = {2, 2};
  labels = {1, 1};
  weights = {2.0F, 3.0F};
  EXPECT_EQ(gradient(), (Floats{0, 0, 0, 0, 0, 5}));
}

/// A graph that is filled again after `clear` has the same node numbers and other contents.
TEST_P(Caches, AGraphFilledAnew) {
  ComputationGraph cg(GetParam());
  for (int round = 0; round < 20; ++round) {
    cg.clear();
    const unsigned n = 1 + static_cast<unsigned>(round) % 4;
    const Expression x = input(cg, {n}, Floats(n, 2.0F));
    const Expression y = round % 2 == 0 ? square(x) : exp(x * 0.0F);
    const Expression loss = sum_elems(y);
    EXPECT_FLOAT_EQ(as_scalar(loss.value()),
                    static_cast<float>(n) * (round % 2 == 0 ? 4.0F : 1.0F));
    cg.backward(loss, true);
    EXPECT_FLOAT_EQ(as_vector(x.gradient())[0], round % 2 == 0 ? 4.0F : 0.0F);
  }
}

}  // namespace
}  // namespace dynet
