#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "dynet/sampled-softmax.h"

#include "softmax_oracle.h"

namespace dynet {
namespace {

using builder_tests::expect_near;
using builder_tests::Numbers;
using builder_tests::numbers_of;
using builder_tests::sample_input;
using builder_tests::sigma;

constexpr unsigned kRep = 4;
const std::vector<double> kCounts{9, 5, 5, 2, 1, 1};

// ---- noise

TEST(NoiseDistribution, Probabilities) {
  const NoiseDistribution noise({1, 16, 81}, 0.75);
  ASSERT_EQ(noise.size(), 3U);
  for (unsigned word = 0; word < 3; ++word) {
    const double wanted = word == 0 ? 1.0 / 36 : word == 1 ? 8.0 / 36 : 27.0 / 36;
    EXPECT_NEAR(std::exp(noise.log_probability(word)), wanted, tolerance::kSameInDouble);
  }
  EXPECT_NEAR(NoiseDistribution({1, 16, 81}, 0.0).log_probability(2), -std::log(3.0),
              tolerance::kSameInDouble);
}

TEST(NoiseDistribution, Errors) {
  EXPECT_THROW(NoiseDistribution(std::vector<double>{}), errors::ValueError);
  EXPECT_THROW(NoiseDistribution({1, 0}), errors::ValueError);
  EXPECT_THROW(NoiseDistribution({1, -1}), errors::ValueError);
  EXPECT_THROW(NoiseDistribution({1, std::numeric_limits<double>::infinity()}), errors::ValueError);
  EXPECT_THROW(NoiseDistribution({std::numeric_limits<double>::quiet_NaN()}), errors::ValueError);
  EXPECT_THROW(NoiseDistribution({1, 2}, 1.5), errors::ValueError);
  EXPECT_THROW(NoiseDistribution({1, 2}, -0.5), errors::ValueError);
  EXPECT_THROW(static_cast<void>(NoiseDistribution({1, 2}).log_probability(2)), errors::IndexError);
  EXPECT_THROW(static_cast<void>(NoiseDistribution().sample()), errors::StateError);
  EXPECT_EQ(NoiseDistribution({5}).sample(), 0U);
}

// ---- losses

class SampledSoftmax : public ::testing::TestWithParam<SampledLoss> {
 protected:
  SampledSoftmax() {
    for (unsigned word = 0; word < kCounts.size(); ++word) {
      table(0).initialize(word, sample_input(kRep, 0.3 * word));
      table(1).initialize(word, {0.25F * static_cast<float>(word) - 0.5F});
    }
  }
  LookupParameterStorage& table(std::size_t i) const { return *model.lookup_parameters_list()[i]; }
  /// Scores of all words.
  [[nodiscard]] Numbers scores(const Numbers& x) const {
    Numbers all;
    for (unsigned word = 0; word < kCounts.size(); ++word) {
      double score = numbers_of(table(1).values[word])[0];
      const Numbers w = numbers_of(table(0).values[word]);
      for (std::size_t i = 0; i < w.size(); ++i) {
        score += w[i] * x[i];
      }
      all.push_back(score);
    }
    return all;
  }
  /// The loss by its formula.
  [[nodiscard]] double by_hand(const Numbers& x, unsigned word,
                               const std::vector<unsigned>& drawn) const {
    const Numbers s = scores(x);
    const auto k = static_cast<double>(drawn.size());
    const auto q = [&](unsigned w) { return std::exp(noise.log_probability(w)); };
    double loss = 0.0;
    if (GetParam() == SampledLoss::kNce) {
      loss = -std::log(sigma(s[word] - std::log(k * q(word))));
      for (const unsigned w : drawn) {
        loss -= std::log(1.0 - sigma(s[w] - std::log(k * q(w))));
      }
      return loss;
    }
    const bool estimates = GetParam() == SampledLoss::kSampledSoftmax;
    const double own = std::exp(s[word]) / (estimates ? 1.0 : q(word));
    double all = own;
    for (const unsigned w : drawn) {
      all += w == word ? 0.0 : std::exp(s[w]) / q(w) / (estimates ? k : 1.0);
    }
    loss = -std::log(own / all);
    for (const unsigned w : drawn) {
      loss -= estimates || w == word ? 0.0 : std::log(1.0 - std::exp(s[w]) / q(w) / all);
    }
    return loss;
  }

  NoiseDistribution noise{kCounts, 0.75};
  ParameterCollection model;
  SampledSoftmaxBuilder builder{kRep, noise, 5, GetParam(), model};
  ComputationGraph cg;
};
INSTANTIATE_TEST_SUITE_P(Losses, SampledSoftmax,
                         ::testing::Values(SampledLoss::kNce, SampledLoss::kSampledSoftmax,
                                           SampledLoss::kBlackOut));

TEST_P(SampledSoftmax, FollowsTheFormula) {
  builder.new_graph(cg);
  const std::vector<float> x = sample_input(kRep, 0.5);
  const Expression rep = input(cg, {kRep}, x);
  const std::vector<std::vector<unsigned>> draws{{0, 3, 1, 0, 5}, {2}, {4, 4}};
  for (const std::vector<unsigned>& drawn : draws) {
    builder.set_noise(drawn);
    for (unsigned word = 0; word < kCounts.size(); ++word) {  // some words are among the drawn ones
      const Expression loss = builder.sampled_loss(rep, word);
      EXPECT_EQ(loss.dim(), Dim({1}));
      EXPECT_EQ(builder.noise(), drawn);
      expect_near(numbers_of(loss), {by_hand({x.begin(), x.end()}, word, drawn)});
    }
  }
}

TEST_P(SampledSoftmax, ABatchIsWhatItsExamplesAre) {
  builder.new_graph(cg);
  const std::vector<unsigned> drawn{0, 3, 1, 0, 5};
  builder.set_noise(drawn);
  const std::vector<unsigned> words{4, 0, 5, 0};
  std::vector<float> data;
  Numbers want;
  for (std::size_t e = 0; e < words.size(); ++e) {
    const std::vector<float> x = sample_input(kRep, static_cast<double>(e));
    data.insert(data.end(), x.begin(), x.end());
    want.push_back(by_hand({x.begin(), x.end()}, words[e], drawn));
  }
  const Expression loss = builder.sampled_loss(input(cg, Dim({kRep}, 4), data), words);
  EXPECT_EQ(loss.dim(), Dim({1}, 4));
  expect_near(numbers_of(loss), want);
}

TEST_P(SampledSoftmax, NoiseIsSharedByTheLossesOfAGraph) {
  builder.new_graph(cg);
  const Expression rep = input(cg, {kRep}, sample_input(kRep, 0.5));
  const Expression first = builder.sampled_loss(rep, 2);
  const std::vector<unsigned> drawn = builder.noise();
  EXPECT_EQ(drawn.size(), 5U);
  EXPECT_EQ(numbers_of(builder.sampled_loss(rep, 2)), numbers_of(first));
  EXPECT_EQ(builder.noise(), drawn);
  const auto others = [&](const auto& change) {
    for (int i = 0; i < 20 && builder.noise() == drawn; ++i) {
      change();
    }
    EXPECT_NE(builder.noise(), drawn);
  };
  others([&] {
    builder.resample();
    builder.sampled_loss(rep, 2);
  });
  builder.set_noise(drawn);
  builder.sampled_loss(rep, 2);
  others([&] {
    ComputationGraph other;
    builder.new_graph(other);
    builder.sampled_loss(ones(other, {kRep}), 2);
  });
}

/// Noise that a thousand tests draw about once.
const std::vector<unsigned> kRareNoise{5, 5, 4, 5, 4};

TEST_P(SampledSoftmax, NoiseThatWasGivenGivesWayToResample) {
  builder.new_graph(cg);
  const Expression rep = ones(cg, {kRep});
  builder.set_noise(kRareNoise);
  builder.resample();
  builder.sampled_loss(rep, 2);
  EXPECT_NE(builder.noise(), kRareNoise);
  builder.set_noise(kRareNoise);
  builder.sampled_loss(rep, 2);
  builder.resample();
  builder.sampled_loss(rep, 2);
  EXPECT_NE(builder.noise(), kRareNoise);
}

TEST_P(SampledSoftmax, NoiseThatWasGivenIsOfItsGraph) {
  EXPECT_THROW(builder.set_noise(kRareNoise), errors::StateError);
  builder.new_graph(cg);
  builder.set_noise(kRareNoise);  // and make no loss in this graph
  ComputationGraph other;
  builder.new_graph(other);
  builder.sampled_loss(ones(other, {kRep}), 2);
  EXPECT_NE(builder.noise(), kRareNoise);
  builder.set_noise(kRareNoise);
  other.clear();
  builder.new_graph(other);
  builder.sampled_loss(ones(other, {kRep}), 2);
  EXPECT_NE(builder.noise(), kRareNoise) << "a graph that was cleared is a new one";
}

TEST_P(SampledSoftmax, NoiseStaysInItsGraph) {
  for (const bool is_given : {true, false}) {
    cg.clear();
    builder.new_graph(cg);
    const Expression rep = ones(cg, {kRep});
    if (is_given) {
      builder.set_noise(kRareNoise);
    }
    cg.checkpoint();
    const Numbers wanted = numbers_of(builder.sampled_loss(rep, 2));
    const std::vector<unsigned> noise_words = builder.noise();
    cg.revert();
    EXPECT_EQ(numbers_of(builder.sampled_loss(rep, 2)), wanted);
    builder.new_graph(cg, false);  // new nodes, but the same words
    EXPECT_EQ(numbers_of(builder.sampled_loss(rep, 2)), wanted);
    EXPECT_EQ(builder.noise(), noise_words);
  }
}

/// Even if reverts remove all nodes from before the noise was given or drawn.
TEST_P(SampledSoftmax, NoiseStaysThroughReverts) {
  for (const bool is_given : {true, false}) {
    for (const bool is_empty : {true, false}) {
      cg.clear();
      builder.new_graph(cg);
      if (!is_empty) {
        ones(cg, {kRep});
      }
      cg.checkpoint();
      const Expression rep = ones(cg, {kRep});
      if (is_given) {
        builder.set_noise(kRareNoise);
      } else {
        builder.sampled_loss(rep, 2);
      }
      const std::vector<unsigned> noise_words = is_given ? kRareNoise : builder.noise();
      for (int i = 0; i < 5; ++i) {  // other words by chance are unlikely
        cg.revert();
        cg.checkpoint();
        builder.new_graph(cg, i % 2 == 1);
        builder.sampled_loss(ones(cg, {kRep}), 2);
        EXPECT_EQ(builder.noise(), noise_words) << is_given << is_empty;
      }
    }
  }
}

TEST_P(SampledSoftmax, ChangesTheRowsItLookedAt) {
  for (const bool update : {false, true}) {
    builder.new_graph(cg, update);
    builder.set_noise({3, 3, 0});
    cg.backward(builder.sampled_loss(input(cg, {kRep}, sample_input(kRep, 0.5)), 5));
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(table(i).has_grad(), update);
      const LookupParameterStorage& rows =
          LookupParameter(model.lookup_parameters_list()[i]).get_storage();
      const std::unordered_set<unsigned> wanted{0, 3, 5};
      EXPECT_EQ(rows.non_zero_grads, update ? wanted : std::unordered_set<unsigned>());
    }
  }
}

TEST_P(SampledSoftmax, ExactLossesAndDistribution) {
  builder.new_graph(cg);
  const std::vector<float> x = sample_input(kRep, 0.5);
  const Numbers want = builder_tests::log_softmax_of(scores({x.begin(), x.end()}));
  const Expression rep = input(cg, {kRep}, x);
  expect_near(numbers_of(builder.full_log_distribution(rep)), want);
  expect_near(numbers_of(builder.full_logits(rep)), scores({x.begin(), x.end()}));
  const Expression columns = builder.full_log_distribution(concatenate_cols({rep, rep}));
  EXPECT_EQ(columns.dim(), Dim({static_cast<unsigned>(want.size()), 2}));
  expect_near(numbers_of(pick(columns, 1, 1)), want);
  for (unsigned word = 0; word < kCounts.size(); ++word) {
    expect_near(numbers_of(builder.neg_log_softmax(rep, word)), {-want[word]});
  }
}

TEST_P(SampledSoftmax, ErrorsOfCalls) {
  const auto make = [&](const NoiseDistribution& q, unsigned k) {
    SampledSoftmaxBuilder(kRep, q, k, GetParam(), model);
  };
  EXPECT_THROW(make(noise, 0), errors::ValueError);
  EXPECT_THROW(make(NoiseDistribution(), 3), errors::ValueError);
  const Expression rep = ones(cg, {kRep});
  EXPECT_THROW(builder.sampled_loss(rep, 1), errors::StateError);
  builder.new_graph(cg);
  EXPECT_THROW(builder.sampled_loss(rep, 6), errors::IndexError);
  EXPECT_THROW(builder.sampled_loss(rep, {1, 2}), errors::ValueError);
  EXPECT_THROW(builder.sampled_loss(ones(cg, {kRep + 1}), 1), errors::ShapeError);
  EXPECT_THROW(builder.set_noise({}), errors::ValueError);
  EXPECT_THROW(builder.set_noise({6}), errors::IndexError);
  ComputationGraph other;
  EXPECT_THROW(builder.sampled_loss(ones(other, {kRep}), 1), errors::GraphError);
  SampledSoftmaxBuilder empty;
  empty.new_graph(cg);
  EXPECT_THROW(empty.sampled_loss(rep, 0), errors::StateError);
  EXPECT_THROW(empty.full_logits(rep), errors::StateError);
  builder.sampled_loss(rep, 1);
}

TEST(SampledSoftmaxLimits, AllWordsDrawnOnceIsTheSoftmax) {
  ParameterCollection model;
  const NoiseDistribution uniform(std::vector<double>(6, 1.0));
  SampledSoftmaxBuilder builder(kRep, uniform, 6, SampledLoss::kSampledSoftmax, model);
  for (unsigned word = 0; word < 6; ++word) {
    model.lookup_parameters_list()[0]->initialize(word, sample_input(kRep, 0.3 * word));
  }
  ComputationGraph cg;
  builder.new_graph(cg);
  builder.set_noise({3, 1, 0, 5, 4, 2});
  const Expression rep = input(cg, {kRep}, sample_input(kRep, 0.5));
  for (unsigned word = 0; word < 6; ++word) {
    expect_near(numbers_of(builder.sampled_loss(rep, word)),
                numbers_of(builder.neg_log_softmax(rep, word)));
  }
}

TEST(SampledSoftmaxParameters, NamesShapesAndOrder) {
  ParameterCollection model;
  const NoiseDistribution noise(kCounts);
  const SampledSoftmaxBuilder with(kRep, noise, 2, SampledLoss::kNce, model);
  const SampledSoftmaxBuilder without(kRep, noise, 2, SampledLoss::kNce, model, false);
  const auto& tables = model.lookup_parameters_list();
  ASSERT_EQ(tables.size(), 3U);
  EXPECT_EQ(tables[0]->name, "/sampled-softmax-builder/_0");
  EXPECT_EQ(tables[1]->name, "/sampled-softmax-builder/_1");
  EXPECT_EQ(tables[2]->name, "/sampled-softmax-builder_1/_0");
  EXPECT_EQ(tables[0]->dim, Dim({kRep}));
  EXPECT_EQ(tables[1]->dim, Dim({1}));
  EXPECT_EQ(tables[1]->rows(), 6U);
  EXPECT_EQ(numbers_of(tables[1]->values[3]), Numbers(1, 0.0));
}

}  // namespace
}  // namespace dynet
