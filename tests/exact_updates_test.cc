// Exact sparse updates through graphs and files, against dense ones.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/io.h"
#include "dynet/training.h"

#include "support/far_device.h"
#include "testing/device.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

constexpr unsigned kRows = 30;
constexpr unsigned kSize = 4;

/// A model whose loss reads some rows of a table and, now and then, the whole table.
struct Model {
  explicit Model(LookupUpdates how) : trainer(parameters, 0.01F) {
    reset_rng(1);
    weight = parameters.add_parameters({1, kSize});
    table = parameters.add_lookup_parameters(kRows, {kSize});
    trainer.set_lookup_updates(how);
  }
  double train(int step) {
    ComputationGraph cg;
    const Expression w = parameter(cg, weight);
    std::vector<Expression> losses;
    for (const int row : {step % 3, step % 7, step % 40 == 0 ? 29 : 1}) {
      const Expression x = lookup(cg, table, static_cast<unsigned>(row));
      losses.push_back(square(w * x - 0.1F * static_cast<float>(row)));
    }
    losses.push_back(sum_batches(square(w * lookup(cg, table, std::vector<unsigned>{4, 5, 4}))));
    if (step % 90 == 89) {
      losses.push_back(0.01F * sum_elems(square(parameter(cg, table))));
    } else if (step % 90 > 80) {
      losses.push_back(0.01F * sum_elems(square(const_parameter(cg, table))));
    }
    const Expression loss = sum(losses);
    const double value = as_double_vector(cg.forward(loss))[0];
    cg.backward(loss);
    trainer.update();
    return value;
  }
  std::vector<double> values() { return as_double_vector(table.get_storage().all_values); }

  ParameterCollection parameters;
  Parameter weight;
  LookupParameter table;
  AdamTrainer trainer;
};

/// Everything in double.
class ExactUpdates : public ::testing::Test {
 private:
  testing::DefaultDevice scope_{testing::test_device("CPU:double")};
};

void expect_near(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tolerance::kMissedUpdates * std::max(std::fabs(want[i]), 0.01))
        << i;
  }
}

TEST_F(ExactUpdates, GraphsSeeTheSame) {
  Model exact(LookupUpdates::kExact);
  Model dense(LookupUpdates::kDense);
  Model sparse(LookupUpdates::kSparse);
  double difference = 0.0;
  for (int i = 0; i < 1000; ++i) {
    const double want = dense.train(i);
    ASSERT_NEAR(exact.train(i), want, tolerance::kMissedUpdates * std::max(1.0, want)) << i;
    difference = std::max(difference, std::fabs(sparse.train(i) - want));
  }
  EXPECT_GT(difference, 1e-3);
  expect_near(exact.values(), dense.values());
}

TEST_F(ExactUpdates, FilesHoldTheSame) {
  const std::string file = "exact_updates_test.model";
  Model exact(LookupUpdates::kExact);
  Model dense(LookupUpdates::kDense);
  for (int i = 0; i < 50; ++i) {
    exact.train(i);
    dense.train(i);
  }
  save_dynet_model(file, &exact.parameters);
  Model loaded(LookupUpdates::kExact);
  load_dynet_model(file, &loaded.parameters);
  expect_near(loaded.values(), dense.values());

  // Into a table that lags: its missed updates are not added to the loaded values.
  Model lagging(LookupUpdates::kExact);
  Model other(LookupUpdates::kDense);
  for (int i = 0; i < 20; ++i) {
    lagging.train(i);
    other.train(i);
  }
  for (Model* m : {&lagging, &other}) {
    load_dynet_model(file, &m->parameters);
    for (int i = 20; i < 40; ++i) {
      m->train(i);
    }
  }
  expect_near(lagging.values(), other.values());
  (void)std::remove(file.c_str());
}

TEST_F(ExactUpdates, AGraphThatIsRunAgainSeesTheUpdate) {
  Model exact(LookupUpdates::kExact);
  Model dense(LookupUpdates::kDense);
  for (Model* m : {&exact, &dense}) {
    for (int i = 0; i < 41; ++i) {
      m->train(i);
    }
  }
  ComputationGraph cg;
  const Expression a = lookup(cg, exact.table, 29U);
  const Expression b = lookup(cg, dense.table, 29U);
  for (int i = 41; i < 60; ++i) {
    cg.invalidate();
    expect_near(as_double_vector(cg.forward(a)), as_double_vector(cg.forward(b)));
    exact.train(i);
    dense.train(i);
  }
}

}  // namespace
}  // namespace dynet
