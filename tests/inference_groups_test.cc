// The groups of a plan in an inference scope: the groups of training, and in plans with many
// results a bounded number more.

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dynet/birnn.h"
#include "dynet/deep-lstm.h"
#include "dynet/expr.h"
#include "dynet/fast-lstm.h"
#include "dynet/gru.h"
#include "dynet/inference.h"
#include "dynet/lstm.h"
#include "dynet/transformer.h"
#include "dynet/tree-builders.h"

#include "execute/executor.h"
#include "schedule/shorten.h"
#include "support/observe.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Expressions = std::vector<Expression>;

constexpr unsigned kUnits = 32;  // sequences, trees, rows that are computed together
constexpr unsigned kSize = 64;

struct Counts final : execute::Hook {
  void after_plan(const std::vector<graph::NodeId>& /*nodes*/,
                  const schedule::Plan& plan) override {
    groups += plan.groups.size();
    bound += plan.bound;
  }
  std::size_t groups = 0, bound = 0;
};

/// The results of a program, made in a new graph.
using Program = std::function<Expressions(ComputationGraph& cg)>;

struct Computed {
  std::size_t groups, bound;
  float value;
};
Computed compute(const Program& program, bool in_scope) {
  Counts counts;
  ComputationGraph cg;
  testing::observe(cg, &counts);
  Expressions norms;
  for (const Expression& result : program(cg)) {
    norms.push_back(squared_norm(result));
  }
  const Expression all = sum(norms);
  std::unique_ptr<InferenceScope> scope;
  if (in_scope) {
    scope = std::make_unique<InferenceScope>();
  }
  const float value = as_scalar(cg.forward(all));
  testing::observe(cg, nullptr);
  return {counts.groups, counts.bound, value};
}

void expect_groups_of_training(const Program& program) {
  const Computed training = compute(program, false);
  const Computed inference = compute(program, true);
  EXPECT_EQ(inference.groups, training.groups);
  EXPECT_EQ(inference.bound, training.bound);
  EXPECT_GT(training.groups, 1U);
  EXPECT_NEAR(inference.value / training.value, 1.0F, tolerance::kSumsInFloat);
}

/// Inputs of a sequence of `length` vectors.
Expressions inputs(ComputationGraph& cg, unsigned sequence, unsigned length) {
  Expressions xs;
  for (unsigned t = 0; t < length; ++t) {
    std::vector<float> numbers(kSize);
    for (unsigned i = 0; i < kSize; ++i) {
      numbers[i] = static_cast<float>((i * 7 + t * 13 + sequence * 5) % 11) / 11.0F - 0.5F;
    }
    xs.push_back(input(cg, {kSize}, numbers));
  }
  return xs;
}

/// The last output of each of `kUnits` sequences of unlike lengths.
template <class Builder>
Expressions read(ComputationGraph& cg, Builder& builder, unsigned least) {
  builder.new_graph(cg);
  Expressions last;
  for (unsigned s = 0; s < kUnits; ++s) {
    builder.start_new_sequence();
    last.push_back(builder.transduce(inputs(cg, s, least + s % 3)).back());
  }
  return last;
}

template <class Builder>
class GroupsOfRecurrences : public ::testing::Test {};
using Builders = ::testing::Types<SimpleRNNBuilder, GRUBuilder, VanillaLSTMBuilder,
                                  SparseLSTMBuilder, CompactVanillaLSTMBuilder, CoupledLSTMBuilder,
                                  FastLSTMBuilder, DeepLSTMBuilder>;
TYPED_TEST_SUITE(GroupsOfRecurrences, Builders);

TYPED_TEST(GroupsOfRecurrences, AreTheGroupsOfTraining) {
  ParameterCollection model;
  TypeParam builder(2, kSize, kSize, model);
  for (const unsigned least : {1U, 4U}) {
    SCOPED_TRACE(least);
    expect_groups_of_training([&](ComputationGraph& cg) { return read(cg, builder, least); });
  }
}

/// Requests ask for one step of each of many sequences.
TYPED_TEST(GroupsOfRecurrences, AStepOfManySequencesHasTheGroupsOfTraining) {
  ParameterCollection model;
  TypeParam builder(1, kSize, kSize, model);
  expect_groups_of_training([&](ComputationGraph& cg) {
    builder.new_graph(cg);
    Expressions last;
    for (unsigned s = 0; s < kUnits; ++s) {
      builder.start_new_sequence();
      last.push_back(builder.add_input(inputs(cg, s, 1)[0]));
    }
    return last;
  });
}

TEST(InferenceGroups, BothDirectionsOfAReader) {
  ParameterCollection model;
  BiRNNBuilder<VanillaLSTMBuilder> reader(1, kSize, kSize, model);
  expect_groups_of_training([&](ComputationGraph& cg) {
    reader.new_graph(cg);
    Expressions all;
    for (unsigned s = 0; s < kUnits; ++s) {
      for (const Expression& h : reader.transduce(inputs(cg, s, 3 + s % 5))) {
        all.push_back(h);
      }
    }
    return all;
  });
}

TEST(InferenceGroups, Trees) {
  ParameterCollection model;
  BinaryTreeLSTMBuilder lstm(kSize, kSize, model);
  TreeRNNBuilder rnn(kSize, model);
  for (BinaryTreeBuilder* const builder :
       {static_cast<BinaryTreeBuilder*>(&lstm), static_cast<BinaryTreeBuilder*>(&rnn)}) {
    expect_groups_of_training([&](ComputationGraph& cg) {
      builder->new_graph(cg);
      Expressions tops;
      for (unsigned s = 0; s < kUnits; ++s) {  // ((0 1) (2 3)), and from the left
        const bool is_balanced = s % 2 == 0;
        const std::vector<int> left = is_balanced ? std::vector{-1, -1, 0, -1, -1, 3, 2}
                                                  : std::vector{-1, -1, 0, -1, 2, -1, 4};
        const std::vector<int> right = is_balanced ? std::vector{-1, -1, 1, -1, -1, 4, 5}
                                                   : std::vector{-1, -1, 1, -1, 3, -1, 5};
        tops.push_back(builder->transduce(inputs(cg, s, 4), left, right).back());
      }
      return tops;
    });
  }
}

TEST(InferenceGroups, Transformers) {
  ParameterCollection model;
  const TransformerEncoderBuilder encoder(2, kSize, 4, 2 * kSize, model);
  expect_groups_of_training([&](ComputationGraph& cg) {
    TransformerEncoderBuilder mine(encoder);
    mine.new_graph(cg);
    Expressions encoded;
    for (unsigned s = 0; s < kUnits; ++s) {
      encoded.push_back(mine.encode(concatenate_cols(inputs(cg, s, 3 + s % 3))));
    }
    return encoded;
  });
}

/// Programs without a builder.
struct Plain : ::testing::Test {
  ParameterCollection model;
  Parameter w = model.add_parameters({kSize, kSize});
  Parameter u = model.add_parameters({4 * kSize, kSize});
  Parameter b = model.add_parameters({4 * kSize});
  Parameter bias = model.add_parameters({kSize});
};

TEST_F(Plain, LayersOverRows) {
  expect_groups_of_training([&](ComputationGraph& cg) {
    Expressions all;
    for (unsigned s = 0; s < 4 * kUnits; ++s) {
      Expression x = inputs(cg, s, 1)[0];
      for (int layer = 0; layer < 3; ++layer) {
        x = tanh(affine_transform({parameter(cg, bias), parameter(cg, w), x}));
      }
      all.push_back(log_softmax(x));
    }
    return all;
  });
}

TEST_F(Plain, GatesByHand) {
  expect_groups_of_training([&](ComputationGraph& cg) {
    Expressions all;
    for (unsigned s = 0; s < kUnits; ++s) {
      Expression h = zeros(cg, {kSize});
      Expression c = h;
      for (const Expression& x : inputs(cg, s, 2 + s % 4)) {
        const Expression gates =
            affine_transform({parameter(cg, b), parameter(cg, u), x, parameter(cg, u), h});
        const auto gate = [&](unsigned k) { return pick_range(gates, k * kSize, (k + 1) * kSize); };
        c = cmult(logistic(gate(0)), c) + cmult(logistic(gate(1)), tanh(gate(2)));
        h = cmult(logistic(gate(3)), tanh(c));
      }
      all.push_back(h);
    }
    return all;
  });
}

TEST_F(Plain, AttentionByHand) {
  expect_groups_of_training([&](ComputationGraph& cg) {
    Expressions all;
    for (unsigned s = 0; s < kUnits; ++s) {
      const Expression memory = concatenate_cols(inputs(cg, s, 5));
      Expression query = inputs(cg, s + 1, 1)[0];
      for (int step = 0; step < 3; ++step) {
        const Expression weights = softmax(transpose(memory) * (parameter(cg, w) * query));
        query = tanh(memory * weights + query);
      }
      all.push_back(query);
    }
    return all;
  });
}

/// A plan with more results than stay whole: pieces are large, so there are few more groups.
TEST(InferenceGroups, OfManyResultsAreAFewMore) {
  constexpr unsigned kRows = 256;
  ParameterCollection model;
  VanillaLSTMBuilder lstm(1, kSize, kRows, model);
  for (const unsigned steps : {20U, 60U}) {
    const Program program = [&](ComputationGraph& cg) { return read(cg, lstm, steps); };
    const Computed training = compute(program, false);
    const Computed inference = compute(program, true);
    std::printf("%u steps: %zu groups in training, %zu in an inference scope\n", steps,
                training.groups, inference.groups);
    EXPECT_LE(inference.groups, training.groups + 4 * std::size_t{schedule::Shortener::kShare});
    EXPECT_NEAR(inference.value / training.value, 1.0F, tolerance::kSumsInFloat);
  }
}

}  // namespace
}  // namespace dynet
