// Evaluating scopes: no dropout and no noise in operations and builders, the same numbers twice,
// and no trace in the training around them.

#include "dynet/evaluating.h"

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dynet/beam.h"
#include "dynet/birnn.h"
#include "dynet/deep-lstm.h"
#include "dynet/expr.h"
#include "dynet/expr/gradient.h"
#include "dynet/ext/add_node.h"
#include "dynet/fast-lstm.h"
#include "dynet/gru.h"
#include "dynet/inference.h"
#include "dynet/lstm.h"
#include "dynet/training.h"
#include "dynet/transformer.h"
#include "dynet/tree-builders.h"

#include "testing/errors.h"
#include "user_ops/linear.h"

namespace dynet {
namespace {

using Floats = std::vector<float>;
using Make = std::function<Expression(const Expression&)>;

Floats numbers_of(const Expression& e) { return as_vector(e.value()); }
Expression some_input(ComputationGraph& cg, unsigned rows, float start = 0.5F, unsigned batch = 1) {
  Floats numbers(std::size_t{rows} * batch);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = start + 0.25F * static_cast<float>(i % 7);
  }
  return input(cg, Dim({rows}, batch), numbers);
}

// ---- operations

std::vector<std::pair<std::string, Make>> operations() {
  return {{"dropout", [](const Expression& x) { return dropout(x, 0.5F); }},
          {"dropout_dim", [](const Expression& x) { return dropout_dim(x, 0, 0.5F); }},
          {"dropout_batch", [](const Expression& x) { return dropout_batch(x, 0.5F); }},
          {"block_dropout", [](const Expression& x) { return block_dropout(x, 0.5F); }},
          {"noise", [](const Expression& x) { return noise(x, 0.5F); }},
          {"an operation of a program",
           [](const Expression& x) { return ext::add_node(user::Dropout{0.5F}, x); }}};
}

TEST(Evaluating, OperationsReturnTheirArgument) {
  for (const auto& [name, make] : operations()) {
    ComputationGraph cg;
    const Expression x = some_input(cg, 40, 0.5F, 3);
    const std::size_t nodes = cg.nodes.size();
    {
      const Evaluating scope;
      EXPECT_EQ(make(x).i, x.i) << name;
      EXPECT_EQ(cg.nodes.size(), nodes) << name;
    }
    const Expression y = make(x);
    EXPECT_NE(y.i, x.i) << name;
    // A block is whole in every second case.
    bool differs = numbers_of(y) != numbers_of(x);
    for (int k = 0; k < 30 && !differs; ++k) {
      differs = numbers_of(make(x)) != numbers_of(x);
    }
    EXPECT_TRUE(differs) << name;
  }
}

TEST(Evaluating, WrongCallsAreRefusedAsOutside) {
  ComputationGraph cg;
  const Expression x = some_input(cg, 4);
  Expression gone;
  {
    ComputationGraph other;
    gone = some_input(other, 4);
  }
  const std::vector<std::function<void()>> calls{
      [&] { dropout(x, 1.5F); },         [&] { dropout(x, -0.5F); },
      [&] { dropout_dim(x, 3, 0.5F); },  [&] { dropout_dim(x, 0, 2.0F); },
      [&] { dropout_batch(x, 1.5F); },   [&] { block_dropout(x, 1.5F); },
      [&] { noise(x, -1.0F); },          [&] { dropout(gone, 0.5F); },
      [&] { noise(Expression(), 0.5F); }};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string outside = testing::text_of_error<std::exception>(calls[i]);
    const Evaluating scope;
    EXPECT_EQ(testing::text_of_error<std::exception>(calls[i]), outside) << i;
    EXPECT_NE(outside, "nothing was thrown") << i;
  }
  EXPECT_THROW(
      {
        const Evaluating scope;
        dropout(x, 1.5F);
      },
      errors::ValueError);
  EXPECT_THROW(
      {
        const Evaluating scope;
        dropout_dim(x, 3, 0.5F);
      },
      errors::ShapeError);
  EXPECT_EQ(numbers_of(x).size(), 4U);  // the graph is usable
}

TEST(Evaluating, ThePlaceOfTheNodeCounts) {
  ComputationGraph cg;
  const Expression x = some_input(cg, 40);
  const Expression before = dropout(x, 0.5F);
  Expression within;
  {
    const Evaluating scope;
    within = tanh(dropout(x, 0.5F));
    EXPECT_NE(numbers_of(before), numbers_of(x));
  }
  EXPECT_EQ(numbers_of(within), numbers_of(tanh(x)));
  EXPECT_NE(numbers_of(dropout(x, 0.5F)), numbers_of(x));
}

TEST(Evaluating, ScopesNestAndEndWithExceptions) {
  EXPECT_FALSE(Evaluating::is_on());
  const auto interrupted = [] {
    const Evaluating outer;
    {
      const Evaluating inner;
      EXPECT_TRUE(Evaluating::is_on());
    }
    EXPECT_TRUE(Evaluating::is_on());
    throw std::runtime_error("in the middle");
  };
  EXPECT_THROW(interrupted(), std::runtime_error);
  EXPECT_FALSE(Evaluating::is_on());
}

TEST(Evaluating, OtherThreadsAreOutside) {
  const Evaluating scope;
  bool is_on = true;
  Floats dropped;
  std::thread([&] {
    is_on = Evaluating::is_on();
    ComputationGraph cg;
    dropped = numbers_of(dropout(some_input(cg, 5), 1.0F));
  }).join();
  EXPECT_FALSE(is_on);
  EXPECT_EQ(dropped, Floats(5, 0.0F));
  EXPECT_TRUE(Evaluating::is_on());
}

TEST(Evaluating, RandomNumbersThatAProgramAsksForStay) {
  ComputationGraph cg;
  const Evaluating scope;
  EXPECT_NE(numbers_of(random_normal(cg, {20})), Floats(20, 0.0F));
  EXPECT_NE(numbers_of(random_normal(cg, {20})), numbers_of(random_normal(cg, {20})));
  EXPECT_NE(numbers_of(random_uniform(cg, {20}, 0.0F, 1.0F)),
            numbers_of(random_uniform(cg, {20}, 0.0F, 1.0F)));
  const Expression mask = random_bernoulli(cg, {60}, 0.5F);
  EXPECT_NE(numbers_of(mask), Floats(60, 1.0F));
}

/// The mask of a node is part of its gradient, wherever the gradient is asked for.
TEST(Evaluating, GradientsOfOlderNodesHaveTheirMasks) {
  ComputationGraph cg;
  const Expression x = some_input(cg, 40);
  const Expression y = dropout(x, 0.5F);
  const Expression loss = sum_elems(y);
  const Evaluating scope;
  const Expression dx = gradient(loss, {x})[0];
  const Floats slopes = numbers_of(dx);
  const Floats xs = numbers_of(x);
  const Floats ys = numbers_of(y);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    EXPECT_EQ(slopes[i], ys[i] == 0.0F ? 0.0F : 2.0F) << i;
  }
  // The next random node has numbers of its own: nothing was taken back.
  EXPECT_NE(numbers_of(random_bernoulli(cg, {40}, 0.5F, 2.0F)), slopes);
  cg.backward(loss, true);
  EXPECT_EQ(as_vector(x.gradient()), slopes);
}

// ---- builders

/// Outputs of two sequences of three steps, in a new graph.
template <class Builder>
std::vector<Floats> two_sequences(Builder& rnn) {
  ComputationGraph cg;
  rnn.new_graph(cg);
  std::vector<Floats> all;
  for (int sequence = 0; sequence < 2; ++sequence) {
    rnn.start_new_sequence();
    for (int t = 0; t < 3; ++t) {
      all.push_back(numbers_of(rnn.add_input(some_input(cg, 12, 0.1F * static_cast<float>(t)))));
    }
  }
  return all;
}

template <class Builder>
struct EvaluatedRecurrence : ::testing::Test {};
using Recurrent = ::testing::Types<SimpleRNNBuilder, GRUBuilder, VanillaLSTMBuilder,
                                   SparseLSTMBuilder, CompactVanillaLSTMBuilder, CoupledLSTMBuilder,
                                   FastLSTMBuilder, DeepLSTMBuilder>;
TYPED_TEST_SUITE(EvaluatedRecurrence, Recurrent);

TYPED_TEST(EvaluatedRecurrence, HasNoDropout) {
  ParameterCollection model;
  TypeParam rnn(2, 12, 16, model);
  const std::vector<Floats> plain = two_sequences(rnn);
  rnn.set_dropout(0.5F);
  {
    const Evaluating scope;
    EXPECT_EQ(two_sequences(rnn), plain);
    EXPECT_EQ(two_sequences(rnn), plain);
  }
  EXPECT_NE(two_sequences(rnn), plain);
}

/// Steps before, within and after a scope, in one sequence.
TYPED_TEST(EvaluatedRecurrence, IsDecidedStepByStep) {
  ParameterCollection model;
  TypeParam rnn(1, 12, 16, model);
  rnn.set_dropout(0.5F);
  ComputationGraph cg;
  rnn.new_graph(cg);
  rnn.start_new_sequence();
  const Expression x = some_input(cg, 12);
  rnn.add_input(x);
  const RNNPointer first = rnn.state();
  const auto masks = rnn.masks;
  Expression within;
  {
    const Evaluating scope;
    within = rnn.add_input(first, x);
  }
  const Floats after = numbers_of(rnn.add_input(first, x));
  ASSERT_EQ(rnn.masks.size(), masks.size());
  for (std::size_t layer = 0; layer < masks.size(); ++layer) {
    for (std::size_t i = 0; i < masks[layer].size(); ++i) {
      EXPECT_EQ(rnn.masks[layer][i].i, masks[layer][i].i);
    }
  }
  rnn.disable_dropout();
  EXPECT_EQ(numbers_of(within), numbers_of(rnn.add_input(first, x)));
  EXPECT_NE(numbers_of(within), after);
}

TEST(Evaluating, ASequenceThatBeginsWithinDrawsItsMasksOutside) {
  ParameterCollection model;
  VanillaLSTMBuilder lstm(1, 12, 16, model);
  lstm.set_dropout(0.5F);
  ComputationGraph cg;
  lstm.new_graph(cg);
  {
    const Evaluating scope;
    const std::size_t nodes = cg.nodes.size();
    lstm.start_new_sequence();
    lstm.set_dropout_masks(2);
    EXPECT_EQ(cg.nodes.size(), nodes);
    EXPECT_FALSE(lstm.dropout_masks_valid);
    // Other numbers of examples, which the masks of a sequence would not allow.
    EXPECT_EQ(lstm.add_input(-1, some_input(cg, 12, 0.5F, 2)).dim().bd, 2U);
    EXPECT_EQ(lstm.add_input(-1, some_input(cg, 12, 0.5F, 5)).dim().bd, 5U);
  }
  EXPECT_EQ(lstm.add_input(some_input(cg, 12, 0.5F, 5)).dim().bd, 5U);
  ASSERT_TRUE(lstm.dropout_masks_valid);
  EXPECT_EQ(lstm.masks[0][0].dim(), Dim({12}, 5));
}

TEST(Evaluating, WeightsHaveNoNoise) {
  ParameterCollection model;
  CompactVanillaLSTMBuilder lstm(2, 12, 16, model);
  const std::vector<Floats> plain = two_sequences(lstm);
  lstm.set_weightnoise(0.3F);
  {
    const Evaluating scope;
    EXPECT_EQ(two_sequences(lstm), plain);
  }
  EXPECT_NE(two_sequences(lstm), plain);

  ComputationGraph cg;
  lstm.new_graph(cg);
  const Expression x = some_input(cg, 12);
  lstm.start_new_sequence();
  const Floats noisy = numbers_of(lstm.add_input(x));
  EXPECT_NE(noisy, plain[0]);
  {
    const Evaluating scope;
    EXPECT_NE(numbers_of(lstm.add_input(-1, x)), noisy);
  }
  EXPECT_EQ(numbers_of(lstm.add_input(-1, x)), noisy) << "the noise of the sequence has changed";
  {
    const Evaluating scope;
    lstm.start_new_sequence();
    lstm.add_input(x);
  }
  const Floats late = numbers_of(lstm.add_input(-1, x));
  EXPECT_NE(late, noisy);
  EXPECT_EQ(numbers_of(lstm.add_input(-1, x)), late);
  lstm.set_weightnoise(0.0F);
  EXPECT_EQ(numbers_of(lstm.add_input(-1, x)), late) << "it holds from the next sequence on";
  lstm.start_new_sequence();
  EXPECT_NE(numbers_of(lstm.add_input(-1, x)), late);
}

/// The values of a network with and without dropout; `run` sets the rate and computes.
void expect_evaluated(const std::function<Floats(float rate)>& run) {
  const Floats plain = run(0.0F);
  EXPECT_NE(run(0.5F), plain);
  const Evaluating scope;
  EXPECT_EQ(run(0.5F), plain);
  EXPECT_EQ(run(0.5F), plain);
}

TEST(Evaluating, CellsThatPeepholesSee) {
  ParameterCollection model;
  CoupledLSTMBuilder lstm(1, 12, 16, model);
  expect_evaluated([&](float rate) {
    lstm.set_dropout(0.0F, 0.0F, rate);
    return two_sequences(lstm)[2];
  });
}

template <class Builder, class... Branches>
void expect_evaluated_tree(Branches... branches) {
  ParameterCollection model;
  Builder tree(branches..., 2, 12, 12, model);
  expect_evaluated([&](float rate) {
    tree.set_dropout(rate);
    ComputationGraph cg;
    tree.new_graph(cg);
    tree.start_new_sequence();
    tree.add_input(0, {}, some_input(cg, 12, 0.1F));
    tree.add_input(1, {}, some_input(cg, 12, 0.2F));
    return numbers_of(tree.add_input(2, {0, 1}, some_input(cg, 12, 0.3F)));
  });
}
TEST(Evaluating, Trees) {
  expect_evaluated_tree<NaryTreeLSTMBuilder>(2U);
  expect_evaluated_tree<ChildSumTreeLSTMBuilder>();
  expect_evaluated_tree<TreeGRUBuilder>();
  expect_evaluated_tree<UnidirectionalTreeLSTMBuilder>();
  expect_evaluated_tree<BidirectionalTreeLSTMBuilder>();
}

TEST(Evaluating, BothDirections) {
  ParameterCollection model;
  BiRNNBuilder<VanillaLSTMBuilder> reader(2, 12, 16, model);
  expect_evaluated([&](float rate) {
    reader.set_dropout(rate);
    ComputationGraph cg;
    reader.new_graph(cg);
    const Expression x = some_input(cg, 12);
    reader.transduce({x, tanh(x), x});
    return numbers_of(reader.back());
  });
}

TEST(Evaluating, Transformers) {
  ParameterCollection model;
  TransformerEncoderBuilder encoder(2, 12, 3, 24, model);
  TransformerDecoderBuilder decoder(2, 12, 3, 24, model);
  expect_evaluated([&](float rate) {
    encoder.set_dropout(rate);
    decoder.set_dropout(rate);
    ComputationGraph cg;
    encoder.new_graph(cg);
    decoder.new_graph(cg);
    const Expression x = reshape(some_input(cg, 36), {12, 3});
    const TransformerState state =
        decoder.add_input(decoder.start(encoder.encode(x)), some_input(cg, 12));
    return numbers_of(state.output);
  });
}

// ---- training around it

/// The parameters after three updates; `evaluate` is called between them.
std::vector<Floats> trained(const std::function<void(VanillaLSTMBuilder&)>& evaluate) {
  reset_rng(7);
  ParameterCollection model;
  VanillaLSTMBuilder lstm(1, 12, 16, model);
  lstm.set_dropout(0.3F);
  SimpleSGDTrainer trainer(model, 0.1F);
  for (int k = 0; k < 3; ++k) {
    ComputationGraph cg;
    lstm.new_graph(cg);
    lstm.start_new_sequence();
    lstm.add_input(some_input(cg, 12));
    cg.backward(squared_norm(dropout(lstm.add_input(some_input(cg, 12)), 0.5F)));
    trainer.update();
    evaluate(lstm);
  }
  std::vector<Floats> all;
  for (const auto& p : model.parameters_list()) {
    all.push_back(as_vector(p->values));
  }
  return all;
}

TEST(Evaluating, TrainingDrawsTheSameNumbersWithAnEvaluationInBetween) {
  const auto nothing = [](VanillaLSTMBuilder& /*lstm*/) {};
  const auto evaluate = [](VanillaLSTMBuilder& lstm) {
    ComputationGraph cg;
    lstm.new_graph(cg);
    lstm.start_new_sequence();
    lstm.set_dropout_masks();
    numbers_of(dropout(noise(lstm.add_input(some_input(cg, 12)), 0.1F), 0.5F));
  };
  const auto evaluate_in_scope = [&](VanillaLSTMBuilder& lstm) {
    const Evaluating scope;
    evaluate(lstm);
  };
  const auto plain = trained(nothing);
  EXPECT_EQ(trained(evaluate_in_scope), plain);
  EXPECT_NE(trained(evaluate), plain) << "the test sees no difference";
}

TEST(Evaluating, BeamSearchIsAScope) {
  ComputationGraph cg;
  std::vector<bool> seen;
  const auto step = [&](int state, unsigned /*word*/) {
    seen.push_back(Evaluating::is_on());
    const Expression x = input(cg, {3}, {-1.0F, -2.0F, -3.0F});
    EXPECT_EQ(dropout(x, 0.5F).i, x.i);
    return std::make_pair(state + 1, x);
  };
  BeamOptions options;
  options.max_length = 2;
  EXPECT_FALSE(beam_search(cg, 0, 1, 2, step, options).empty());
  EXPECT_FALSE(seen.empty());
  EXPECT_EQ(seen, std::vector<bool>(seen.size(), true));
  EXPECT_FALSE(Evaluating::is_on());
  const auto failing = [&](int /*state*/, unsigned /*word*/) -> std::pair<int, Expression> {
    throw std::runtime_error("in a step");
  };
  EXPECT_THROW(beam_search(cg, 0, 1, 2, failing, options), std::runtime_error);
  EXPECT_FALSE(Evaluating::is_on());
}

TEST(Evaluating, InAnInferenceScope) {
  ParameterCollection model;
  GRUBuilder gru(1, 12, 16, model);
  const std::vector<Floats> plain = two_sequences(gru);
  gru.set_dropout(0.5F);
  const InferenceScope no_gradients;
  EXPECT_NE(two_sequences(gru), plain);
  const Evaluating scope;
  EXPECT_EQ(two_sequences(gru), plain);
}

}  // namespace
}  // namespace dynet
