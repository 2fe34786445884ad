// Sampled losses in whole programs: draws, mean losses, gradients, merging of losses, training.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/sampled-softmax.h"
#include "dynet/training.h"

#include "support/builder_checks.h"
#include "support/chi_squared.h"
#include "support/differences.h"
#include "testing/device.h"

namespace dynet {
namespace {

constexpr unsigned kRep = 3;
const std::vector<double> kCounts{40, 20, 10, 10, 5, 3, 1};
constexpr unsigned kWords = 7;

std::vector<double> probabilities(const NoiseDistribution& noise) {
  std::vector<double> p;
  p.reserve(noise.size());
  for (unsigned word = 0; word < noise.size(); ++word) {
    p.push_back(std::exp(noise.log_probability(word)));
  }
  return p;
}

TEST(Noise, DrawsHaveTheProbabilities) {
  reset_rng(5);
  constexpr int kDraws = 50000;
  for (const double alpha : {1.0, 0.75, 0.0}) {
    const NoiseDistribution noise(kCounts, alpha);
    std::vector<double> counts(kWords, 0.0);
    for (int i = 0; i < kDraws; ++i) {
      counts[noise.sample()] += 1.0;
    }
    std::vector<double> p = probabilities(noise);
    EXPECT_LT(testing::chi_squared(counts, p, kDraws), testing::chi_squared_level(kWords - 1));
    if (alpha > 0.0) {
      std::swap(p[2], p[4]);  // another distribution is seen
      EXPECT_GT(testing::chi_squared(counts, p, kDraws), testing::chi_squared_level(kWords - 1));
    }
  }
}

class SampledLosses : public ::testing::TestWithParam<SampledLoss> {
 protected:
  SampledLosses() { testing::draw_values(model); }

  NoiseDistribution noise{kCounts, 0.5};
  ParameterCollection model;
  SampledSoftmaxBuilder builder{kRep, noise, 6, GetParam(), model};
};
INSTANTIATE_TEST_SUITE_P(Losses, SampledLosses,
                         ::testing::Values(SampledLoss::kNce, SampledLoss::kSampledSoftmax,
                                           SampledLoss::kBlackOut));

/// A mean of many draws, and how far it may be from the expectation.
struct Mean {
  double value = 0.0;
  double error = 0.0;  ///< five standard errors: once in two million tests
};
template <class Draw>
Mean mean_of(int draws, const Draw& draw) {
  double sum = 0.0;
  double squares = 0.0;
  for (int i = 0; i < draws; ++i) {
    const double v = draw();
    sum += v;
    squares += v * v;
  }
  const double mean = sum / draws;
  return {mean, 5.0 * std::sqrt((squares / draws - mean * mean) / draws)};
}

/// The mean over noise of f(loss of a word), in a graph that stays.
template <class F>
Mean mean_loss(SampledSoftmaxBuilder& builder, ComputationGraph& cg, const Expression& rep,
               unsigned word, const F& f) {
  return mean_of(20000, [&] {
    cg.checkpoint();
    builder.resample();
    const double loss = as_double_vector(builder.sampled_loss(rep, word).value())[0];
    cg.revert();
    return f(loss);
  });
}

/// e^loss is an unbiased estimate of 1 / p: the sum over all words is.
TEST(SampledSoftmaxOnAverage, TheSumIsUnbiased) {
  reset_rng(7);
  ParameterCollection model;
  SampledSoftmaxBuilder builder(kRep, NoiseDistribution(kCounts, 0.5), 6,
                                SampledLoss::kSampledSoftmax, model);
  testing::draw_values(model);
  ComputationGraph cg;
  builder.new_graph(cg);
  const Expression rep = input(cg, {kRep}, {0.5F, -1.0F, 0.75F});
  for (const unsigned word : {0U, 6U}) {
    const double exact = std::exp(as_double_vector(builder.neg_log_softmax(rep, word).value())[0]);
    const Mean mean = mean_loss(builder, cg, rep, word, [](double loss) { return std::exp(loss); });
    EXPECT_NEAR(mean.value, exact, mean.error) << word;
    EXPECT_LT(mean.error, 0.05 * exact);  // a tenth too much would be seen
  }
}

/// The expectation of NCE is a sum over all words.
TEST(NceOnAverage, IsItsExpectation) {
  reset_rng(7);
  ParameterCollection model;
  const NoiseDistribution noise(kCounts, 0.5);
  SampledSoftmaxBuilder builder(kRep, noise, 6, SampledLoss::kNce, model);
  testing::draw_values(model);
  ComputationGraph cg;
  builder.new_graph(cg);
  const Expression rep = input(cg, {kRep}, {0.5F, -1.0F, 0.75F});
  const std::vector<double> scores = as_double_vector(builder.full_logits(rep).value());
  const std::vector<double> q = probabilities(noise);
  const auto odds = [&](unsigned w) { return std::exp(scores[w]) / (6 * q[w]); };
  double exact = std::log1p(1.0 / odds(3));
  for (unsigned w = 0; w < kWords; ++w) {
    exact += 6 * q[w] * std::log1p(odds(w));
  }
  const Mean mean = mean_loss(builder, cg, rep, 3, [](double loss) { return loss; });
  EXPECT_NEAR(mean.value, exact, mean.error);
  EXPECT_LT(mean.error, 0.05 * exact);
}

TEST_P(SampledLosses, GradientsAgreeWithDifferences) {
  const testing::DefaultDevice scope(testing::double_device());
  ParameterCollection own;
  SampledSoftmaxBuilder of_own(kRep, noise, 6, GetParam(), own);
  const Parameter x = own.add_parameters({kRep});
  const Parameter y = own.add_parameters({kRep});
  testing::draw_values(own);
  testing::expect_gradients(own, [&](ComputationGraph& cg) {
    of_own.new_graph(cg);
    of_own.set_noise({3, 0, 0, 5, 1});
    const Expression one = parameter(cg, x);
    const Expression two = parameter(cg, y);
    const Expression batch = concatenate_to_batch({one, two, one + two});
    return of_own.sampled_loss(one, 0) + 0.5F * of_own.sampled_loss(two, 4) +
           sum_batches(square(of_own.sampled_loss(batch, {6, 3, 2})));
  });
}

TEST_P(SampledLosses, LossesOfWordsMerge) {
  const auto calls = [&](unsigned count) {
    const LookupParameter table = model.add_lookup_parameters(20, {kRep});
    ComputationGraph cg(true);
    builder.new_graph(cg);
    builder.set_noise({0, 0, 1, 2, 6});  // which are some of the words
    std::vector<Expression> losses;
    losses.reserve(count);
    for (unsigned i = 0; i < count; ++i) {
      losses.push_back(builder.sampled_loss(lookup(cg, table, i % 20), i % kWords));
    }
    const Expression all = sum(losses);
    return testing::calls_for(cg, all, all.i + 1);
  };
  EXPECT_LE(calls(28 * kWords), calls(2 * kWords) + 2);
}

TEST_P(SampledLosses, LearnADistribution) {
  reset_rng(9);
  const std::vector<unsigned> corpus{0, 0, 0, 1, 2, 2, 3, 4, 5, 5, 5, 5, 6, 6, 0, 2};
  const auto batch = static_cast<unsigned>(corpus.size());
  // The logarithm of an estimate is too low by about 1 / draws.
  ParameterCollection own;
  SampledSoftmaxBuilder of_own(kRep, noise, 50, GetParam(), own);
  AdamTrainer trainer(own, 0.05F);
  for (int i = 0; i < 1500; ++i) {
    if (i == 750) {
      trainer.learning_rate = 0.005F;
    }
    ComputationGraph cg;
    of_own.new_graph(cg);
    cg.backward(mean_batches(of_own.sampled_loss(ones(cg, Dim({kRep}, batch)), corpus)));
    trainer.update();
  }
  ComputationGraph cg;
  of_own.new_graph(cg);
  const std::vector<double> logs =
      as_double_vector(of_own.full_log_distribution(ones(cg, {kRep})).value());
  double divergence = 0.0;  // of Kullback and Leibler, from the corpus; 0.16 for equal ones
  for (unsigned word = 0; word < kWords; ++word) {
    const double share =
        static_cast<double>(std::count(corpus.begin(), corpus.end(), word)) / batch;
    divergence += share * (std::log(share) - logs[word]);
  }
  EXPECT_LT(divergence, 0.01);
}

}  // namespace
}  // namespace dynet
