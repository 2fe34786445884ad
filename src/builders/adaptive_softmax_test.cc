#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dynet/adaptive-softmax.h"

#include "softmax_oracle.h"

namespace dynet {
namespace {

using builder_tests::choice;
using builder_tests::expect_near;
using builder_tests::names_of;
using builder_tests::Numbers;
using builder_tests::numbers_of;
using builder_tests::sample_input;
using builder_tests::set_values;

constexpr unsigned kRep = 8;
constexpr unsigned kWords = 10;

/// Words 0 to 2 at the top, 3 to 5 and 6 to 9 in clusters of 4 and 2 numbers.
class AdaptiveSoftmax : public ::testing::Test {
 protected:
  AdaptiveSoftmax() { set_values(model); }
  /// ln p of all words.
  [[nodiscard]] Numbers by_hand(const std::vector<float>& x) const {
    const Numbers in(x.begin(), x.end());
    const Numbers top = choice(model, 0, in);
    Numbers logs(top.begin(), top.begin() + 3);
    for (std::size_t cluster = 0; cluster < 2; ++cluster) {
      const auto& p = model.parameters_list();
      Numbers narrow(cluster == 0 ? 4 : 2, 0.0);
      builder_tests::add_product(numbers_of(p[2 + 3 * cluster]->values), in, narrow);
      for (const double log : choice(model, 3 + 3 * cluster, narrow)) {
        logs.push_back(top[3 + cluster] + log);
      }
    }
    return logs;
  }

  ParameterCollection model;
  AdaptiveSoftmaxBuilder builder{kRep, kWords, {3, 6}, model, 2.0F};
  ComputationGraph cg;
};

TEST_F(AdaptiveSoftmax, LossesAndDistributionFollowTheFormulas) {
  builder.new_graph(cg);
  for (int k = 0; k < 3; ++k) {
    const std::vector<float> x = sample_input(kRep, k);
    const Expression rep = input(cg, {kRep}, x);
    const Numbers want = by_hand(x);
    ASSERT_EQ(want.size(), kWords);
    EXPECT_NEAR(builder_tests::sum_of_probabilities(want), 1.0, tolerance::kFewInFloat);
    expect_near(numbers_of(builder.full_logits(rep)), want);
    expect_near(numbers_of(builder.full_log_distribution(rep)), want);
    for (unsigned word = 0; word < kWords; ++word) {
      const Expression loss = builder.neg_log_softmax(rep, word);
      EXPECT_EQ(loss.dim(), Dim({1}));
      expect_near(numbers_of(loss), {-want[word]});
    }
  }
}

TEST_F(AdaptiveSoftmax, ABatchIsWhatItsExamplesAre) {
  builder.new_graph(cg);
  const std::vector<std::vector<unsigned>> batches{
      {9, 0, 3, 6, 2, 5, 4}, {1, 0}, {4, 5, 3}, {8}, {7, 7, 3}};
  for (const std::vector<unsigned>& batch : batches) {
    std::vector<float> data;
    Numbers losses;
    Numbers logs;
    for (std::size_t e = 0; e < batch.size(); ++e) {
      const std::vector<float> x = sample_input(kRep, 3.0 * static_cast<double>(e));
      data.insert(data.end(), x.begin(), x.end());
      const Numbers all = by_hand(x);
      logs.insert(logs.end(), all.begin(), all.end());
      losses.push_back(-all[batch[e]]);
    }
    const auto size = static_cast<unsigned>(batch.size());
    const Expression rep = input(cg, Dim({kRep}, size), data);
    const Expression loss = builder.neg_log_softmax(rep, batch);
    EXPECT_EQ(loss.dim(), Dim({1}, size));
    expect_near(numbers_of(loss), losses);
    const Expression all = builder.full_logits(rep);
    EXPECT_EQ(all.dim(), Dim({kWords}, size));
    expect_near(numbers_of(all), logs);
    const Expression columns = builder.full_logits(input(cg, Dim({kRep, size}), data));
    EXPECT_EQ(columns.dim(), size == 1 ? Dim({kWords}) : Dim({kWords, size}));
    expect_near(numbers_of(columns), logs);
  }
}

TEST_F(AdaptiveSoftmax, AsksOnlyTheClustersOfItsWords) {
  builder.new_graph(cg);
  const Expression rep = input(cg, Dim({kRep}, 2), sample_input(std::size_t{2} * kRep, 1.0));
  cg.backward(sum_batches(builder.neg_log_softmax(rep, {1, 7})));
  const auto& p = model.parameters_list();
  for (std::size_t i = 0; i < p.size(); ++i) {
    EXPECT_EQ(p[i]->has_grad(), i < 2 || i >= 5) << i;
  }
}

TEST_F(AdaptiveSoftmax, NamesShapesAndOrderOfParameters) {
  ParameterCollection other;
  const AdaptiveSoftmaxBuilder narrow(8, 20, {2, 5, 10}, other);  // each cluster by 4: 2, 1 (0.5),
                                                                  // 1 numbers
  const std::vector<Dim> wanted{{5, 8}, {5}, {2, 8}, {3, 2},  {3}, {1, 8},
                                {5, 1}, {5}, {1, 8}, {10, 1}, {10}};
  ASSERT_EQ(other.parameters_list().size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(other.parameters_list()[i]->dim, wanted[i]) << i;
    EXPECT_EQ(names_of(other)[i], "/adaptive-softmax-builder/_" + std::to_string(i));
  }
  EXPECT_EQ(numbers_of(other.parameters_list()[1]->values), Numbers(5, 0.0));
  const AdaptiveSoftmaxBuilder without(8, 20, {2}, other, 4.0F, false);
  EXPECT_EQ(other.parameters_list().size(), wanted.size() + 3);
}

TEST_F(AdaptiveSoftmax, ErrorsOfCalls) {
  const auto make = [&](const std::vector<unsigned>& cutoffs, float div_value = 4.0F) {
    AdaptiveSoftmaxBuilder(kRep, kWords, cutoffs, model, div_value);
  };
  const std::size_t before = model.parameters_list().size();
  EXPECT_THROW(make({}), errors::ValueError);
  EXPECT_THROW(make({0}), errors::ValueError);
  EXPECT_THROW(make({3, 3}), errors::ValueError);
  EXPECT_THROW(make({3, 2}), errors::ValueError);
  EXPECT_THROW(make({kWords}), errors::ValueError);
  EXPECT_THROW(make({3}, 0.5F), errors::ValueError);
  const auto text_of = [&](const std::vector<unsigned>& cutoffs) {
    try {
      make(cutoffs);
    } catch (const errors::ValueError& e) {
      return std::string(e.message());
    }
    return std::string();
  };
  const std::string classes = std::to_string(kWords);
  EXPECT_EQ(text_of({3, 5, 5}),
            "AdaptiveSoftmaxBuilder: cutoff 2 is 5; want more than 5, the one before it, and less "
            "than " +
                classes + ", the number of classes");
  EXPECT_EQ(text_of({0}), "AdaptiveSoftmaxBuilder: cutoff 0 is 0; want more than 0 and less than " +
                              classes + ", the number of classes");
  EXPECT_EQ(model.parameters_list().size(), before);
  const Expression rep = ones(cg, {kRep});
  EXPECT_THROW(builder.neg_log_softmax(rep, 1), errors::StateError);
  builder.new_graph(cg);
  EXPECT_THROW(builder.neg_log_softmax(rep, kWords), errors::IndexError);
  EXPECT_THROW(builder.neg_log_softmax(rep, {1, 2}), errors::ValueError);
  EXPECT_THROW(builder.neg_log_softmax(ones(cg, {kRep + 1}), 1), errors::ShapeError);
  EXPECT_THROW(builder.sample(ones(cg, Dim({kRep}, 2))), errors::ShapeError);
  ComputationGraph other;
  EXPECT_THROW(builder.full_logits(ones(other, {kRep})), errors::GraphError);
  AdaptiveSoftmaxBuilder empty;
  empty.new_graph(cg);
  EXPECT_THROW(empty.full_logits(rep), errors::StateError);
  EXPECT_THROW(empty.neg_log_softmax(rep, 0), errors::StateError);
  builder.new_graph(cg, false);
  cg.backward(builder.neg_log_softmax(rep, 9));
  for (const auto& p : model.parameters_list()) {
    EXPECT_FALSE(p->has_grad());
  }
}

}  // namespace
}  // namespace dynet
