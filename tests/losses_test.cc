// Training with batching on and off from one seed: the first 200 losses of a tree LSTM.

#include <gtest/gtest.h>

#include <cmath>

#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/training.h"
#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "testing/device.h"
#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

constexpr int kSteps = 200;
constexpr unsigned kWords = 30;

/// A tree LSTM with a loss at every node, on random binary trees.
class TreeModel {
 public:
  TreeModel()
      : tree_(8, 8, model),
        words_(model.add_lookup_parameters(kWords, {8})),
        classifier_(model.add_parameters({5, 8})) {}

  ParameterCollection model;

  double step(int number, bool batching, Trainer& trainer) {
    Random random(static_cast<std::uint64_t>(number) + 1);
    ComputationGraph cg(batching);
    tree_.new_graph(cg);
    const Expression w = parameter(cg, classifier_);
    std::vector<TreeState> open;
    std::vector<Expression> losses;
    const auto add_loss = [&](const Expression& h) {
      losses.push_back(pickneglogsoftmax(w * h, random.below(5)));
    };
    const unsigned length = 2 + random.below(10);
    for (unsigned i = 0; i < length; ++i) {
      open.push_back(tree_.add_input(lookup(cg, words_, random.below(kWords))));
      add_loss(open.back().h);
    }
    while (open.size() > 1) {
      const unsigned at = random.below(static_cast<unsigned>(open.size()) - 1);
      open[at] = tree_.add_input(open[at], open[at + 1]);
      add_loss(open[at].h);
      open.erase(open.begin() + at + 1);
    }
    const Expression loss = sum(losses);
    const double value = numbers(cg.forward(loss))[0];
    cg.backward(loss);
    trainer.update();
    return value;
  }

 private:
  BinaryTreeLSTMBuilder tree_;
  LookupParameter words_;
  Parameter classifier_;
};

template <class MakeTrainer>
std::vector<double> losses(Device* device, bool batching, MakeTrainer make_trainer) {
  const testing::DefaultDevice scope(device);
  reset_rng(17);
  TreeModel model;
  auto trainer = make_trainer(model.model);
  std::vector<double> all;
  all.reserve(kSteps);
  for (int i = 0; i < kSteps; ++i) {
    all.push_back(model.step(i, batching, trainer));
  }
  return all;
}

void expect_close(const std::vector<double>& a, const std::vector<double>& b, double relative) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], relative * std::fabs(b[i])) << "step " << i;
  }
}

TEST(Losses, SgdInFloat) {
  const auto sgd = [](ParameterCollection& m) { return SimpleSGDTrainer(m, 0.05F); };
  const std::vector<double> off = losses(float_device(), false, sgd);
  expect_close(losses(float_device(), true, sgd), off, tolerance::kTrainedInFloat);
  EXPECT_EQ(losses(float_device(), false, sgd), off);  // repeatable
}

TEST(Losses, AdamInDouble) {
  const auto adam = [](ParameterCollection& m) { return AdamTrainer(m, 0.01F); };
  const std::vector<double> off = losses(double_device(), false, adam);
  expect_close(losses(double_device(), true, adam), off, tolerance::kTrainedInDouble);
}

}  // namespace
}  // namespace dynet::testing
