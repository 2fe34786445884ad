// Functions of whole sequences equal the same functions step by step.

#include "dynet/sequence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "testing/tolerance.h"

namespace dynet {
namespace {

using Floats = std::vector<float>;
using Indices = std::vector<unsigned>;

Floats value_of(const Expression& e) { return as_vector(e.value()); }

class SequenceTest : public testing::Test {
 protected:
  SequenceTest() : table_(model_.add_lookup_parameters(5, {3})) {
    for (unsigned row = 0; row < 5; ++row) {
      const auto x = static_cast<float>(row);
      table_.initialize(row, {x, -x, 0.5F * x * x});
    }
  }
  /// The gradient of row `row` after backward from `loss`.
  Floats gradient(const Expression& loss, unsigned row) {
    loss.pg->backward(loss);
    const Tensor all = table_.get_storage().all_grads;
    const Floats values = as_vector(all);
    const Floats one(values.begin() + 3 * row, values.begin() + 3 * row + 3);
    model_.reset_gradient();
    return one;
  }

  ParameterCollection model_;
  LookupParameter table_;
};

TEST_F(SequenceTest, LookupOfASequence) {
  ComputationGraph cg;
  const std::vector<Expression> xs = lookup_sequence(cg, table_, Indices{4, 0, 4});
  ASSERT_EQ(xs.size(), 3U);
  EXPECT_EQ(value_of(xs[0]), (Floats{4, -4, 8}));
  EXPECT_EQ(value_of(xs[1]), (Floats{0, 0, 0}));
  EXPECT_EQ(xs[2].dim(), Dim({3}));
  EXPECT_TRUE(lookup_sequence(cg, table_, Indices{}).empty());
}

TEST_F(SequenceTest, LookupOfABatchOfSequences) {
  ComputationGraph cg;
  const std::vector<Expression> xs =
      lookup_sequence(cg, table_, std::vector<Indices>{{1, 2}, {3, 3}});
  ASSERT_EQ(xs.size(), 2U);
  EXPECT_EQ(xs[0].dim(), Dim({3}, 2));
  EXPECT_EQ(value_of(xs[0]), (Floats{1, -1, 0.5F, 2, -2, 2}));
  EXPECT_EQ(value_of(xs[1]), (Floats{3, -3, 4.5F, 3, -3, 4.5F}));
}

TEST_F(SequenceTest, LossIsTheSumOfTheSteps) {
  ComputationGraph cg;
  const std::vector<Expression> xs = lookup_sequence(cg, table_, Indices{4, 1, 2});
  const Indices labels = {2, 0, 1};
  std::vector<Expression> losses;
  for (std::size_t t = 0; t < xs.size(); ++t) {
    losses.push_back(pickneglogsoftmax(xs[t], labels[t]));
  }
  const Expression by_steps = sum(losses);
  const Expression whole = sequence_loss(concatenate_to_batch(xs), labels);
  EXPECT_EQ(whole.dim(), Dim({1}));
  EXPECT_NEAR(as_scalar(whole.value()), as_scalar(by_steps.value()), tolerance::kSumsInFloat);
  const Floats wanted = gradient(by_steps, 4);
  const Floats found = gradient(whole, 4);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(found[i], wanted[i], tolerance::kFewInFloat);
  }
}

TEST_F(SequenceTest, StepsWithoutALabelHaveNoLoss) {
  ComputationGraph cg;
  const std::vector<Expression> xs =
      lookup_sequence(cg, table_, std::vector<Indices>{{1, 2}, {3, 4}});
  const Expression whole = sequence_loss(concatenate_to_batch(xs), {0, 1, kNoLabel, 2});
  const Expression one = sequence_loss(lookup(cg, table_, 1), {0});
  const Expression two = sequence_loss(lookup(cg, table_, 2), {1});
  const Expression four = sequence_loss(lookup(cg, table_, 4), {2});
  const Expression others = one + two + four;
  EXPECT_NEAR(as_scalar(whole.value()), as_scalar(others.value()), tolerance::kSumsInFloat);
  EXPECT_EQ(gradient(whole, 3), (Floats{0, 0, 0}));
  EXPECT_NE(gradient(whole, 4), (Floats{0, 0, 0}));
  const Expression none = sequence_loss(lookup(cg, table_, 1), {kNoLabel});
  EXPECT_EQ(as_scalar(none.value()), 0.0F);
}

TEST_F(SequenceTest, NaNInAStepWithoutALabelDoesNotCount) {
  ComputationGraph cg;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Expression padded = input(cg, Dim({3}, 2), {1, 2, 3, nan, nan, nan});
  const Expression one = lookup(cg, table_, 1);
  const Expression loss = sequence_loss(concatenate_to_batch({one, padded}), {0, 2, kNoLabel});
  const Expression own =
      sequence_loss(one, {0}) + sequence_loss(input(cg, Dim({3}), {1, 2, 3}), {2});
  EXPECT_NEAR(as_scalar(loss.value()), as_scalar(own.value()), tolerance::kSumsInFloat);
  EXPECT_EQ(as_scalar(sequence_loss(input(cg, Dim({3, 1}), {1, 2, 3}), {kNoLabel}).value()), 0.0F);
  for (const float g : gradient(loss, 1)) {
    EXPECT_FALSE(std::isnan(g));
  }
}

TEST_F(SequenceTest, StepsMayBeColumns) {
  ComputationGraph cg;
  const std::vector<Expression> xs = lookup_sequence(cg, table_, Indices{4, 1, 2, 3});
  const std::vector<Indices> lists{{2, 0, 1, 1}, {2, kNoLabel, 1, 1}};
  for (const Indices& labels : lists) {
    const Expression batch = sequence_loss(concatenate_to_batch(xs), labels);
    const Expression columns = sequence_loss(concatenate_cols(xs), labels);
    EXPECT_EQ(columns.dim(), Dim({1}));
    EXPECT_EQ(as_scalar(columns.value()), as_scalar(batch.value()));
    const Expression two =
        concatenate_to_batch({concatenate_cols({xs[0], xs[1]}), concatenate_cols({xs[2], xs[3]})});
    EXPECT_EQ(as_scalar(sequence_loss(two, labels).value()), as_scalar(batch.value()));
    EXPECT_EQ(gradient(columns, 4), gradient(batch, 4));
  }
  const std::size_t nodes = cg.nodes.size();
  const Expression matrix = concatenate_cols(xs);
  EXPECT_THROW(sequence_loss(matrix, {0, 1, 2}), errors::ValueError);
  EXPECT_THROW(sequence_loss(matrix, {0, 1, 2, 3}), errors::IndexError);
  EXPECT_EQ(cg.nodes.size(), nodes + 1) << "errors leave no nodes";
}

TEST_F(SequenceTest, MistakesAreNamed) {
  ComputationGraph cg;
  const Expression scores = concatenate_to_batch(lookup_sequence(cg, table_, Indices{4, 1}));
  try {
    sequence_loss(scores, {1});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::invalid_argument& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("sequence_loss: 1 labels for the scores of 2 steps"), std::string::npos);
    EXPECT_NE(text.find("sequence_test.cc"), std::string::npos);
  }
  EXPECT_THROW(sequence_loss(scores, {1, 3}), errors::IndexError);
  EXPECT_THROW(sequence_loss(scores, {kNoLabel, 3}), errors::IndexError);
  EXPECT_THROW(lookup_sequence(cg, table_, Indices{0, 5}), errors::IndexError);
}

}  // namespace
}  // namespace dynet
