#include "dynet/lstm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "dynet/evaluating.h"
#include "dynet/except.h"

#include "recurrent_oracle.h"
#include "testing/errors.h"

namespace dynet {
namespace {

using builder_tests::expect_near;
using builder_tests::Layers;
using builder_tests::names_of;
using builder_tests::Numbers;
using builder_tests::numbers_of;
using builder_tests::sample;
using builder_tests::sample_input;
using builder_tests::set_values;
using builder_tests::step;

TEST(VanillaLstm, NamesShapesAndOrderOfParameters) {
  ParameterCollection model;
  const VanillaLSTMBuilder a(2, 3, 4, model);
  const VanillaLSTMBuilder b(1, 3, 4, model, true);
  EXPECT_EQ(names_of(model),
            (std::vector<std::string>{
                "/vanilla-lstm-builder/_0", "/vanilla-lstm-builder/_1", "/vanilla-lstm-builder/_2",
                "/vanilla-lstm-builder/_3", "/vanilla-lstm-builder/_4", "/vanilla-lstm-builder/_5",
                "/vanilla-lstm-builder_1/_0", "/vanilla-lstm-builder_1/_1",
                "/vanilla-lstm-builder_1/_2", "/_0", "/_1", "/_2", "/_3", "/_4", "/_5"}));
  EXPECT_EQ(a.params[0][0].dim(), Dim({16, 3}));
  EXPECT_EQ(a.params[1][0].dim(), Dim({16, 4}));
  EXPECT_EQ(a.params[0][1].dim(), Dim({16, 4}));
  EXPECT_EQ(a.params[0][2].dim(), Dim({16}));
  EXPECT_EQ(numbers_of(a.params[0][2]), Numbers(16, 0.0));
  EXPECT_EQ(numbers_of(b.ln_params[0][0]), Numbers(16, 1.0));
  EXPECT_EQ(b.ln_params[0][4].dim(), Dim({4}));
}

TEST(VanillaLstm, StepsThatAreNotThere) {
  ParameterCollection model;
  VanillaLSTMBuilder lstm(1, 3, 4, model);
  ComputationGraph cg;
  lstm.new_graph(cg);
  lstm.start_new_sequence();
  const auto error = [&] {
    return testing::text_of_error<errors::IndexError>([&] { static_cast<void>(lstm.get_head(7)); });
  };
  EXPECT_EQ(error(), "RNNBuilder: step 7, and there are none yet; want -1, the initial state");
  lstm.add_input(ones(cg, {3}));
  EXPECT_EQ(error(), "RNNBuilder: step 7 of 1; want -1 to 0");
}

// DyNet 2.1 draws masks for cells only together with other masks.
TEST(CoupledLstm, MasksForCellsAlone) {
  ParameterCollection model;
  CoupledLSTMBuilder lstm(1, 3, 4, model);
  set_values(model);
  ComputationGraph cg;
  lstm.new_graph(cg);
  const auto outputs = [&](float rate) {
    lstm.set_dropout(0.0F, 0.0F, rate);
    lstm.start_new_sequence();
    lstm.add_input(input(cg, {3}, sample_input(3, 0)));
    return numbers_of(lstm.add_input(input(cg, {3}, sample_input(3, 1))));
  };
  const Numbers whole = outputs(0.0F);
  EXPECT_FALSE(lstm.dropout_masks_valid);
  EXPECT_NE(outputs(1.0F), whole);
  EXPECT_TRUE(lstm.dropout_masks_valid);
  EXPECT_EQ(numbers_of(lstm.masks[0][2]), Numbers(4, 0.0));
  EXPECT_EQ(numbers_of(lstm.masks[0][0]), Numbers(3, 1.0));
}

/// A first step, which draws the masks, may be tried and taken back.
TEST(VanillaLstm, MasksAfterARevert) {
  ParameterCollection model;
  VanillaLSTMBuilder lstm(2, 3, 4, model);
  set_values(model);
  lstm.set_dropout(0.5F);
  ComputationGraph cg;
  lstm.new_graph(cg);
  const Expression x = input(cg, {3}, sample_input(3, 0));
  lstm.start_new_sequence();
  for (int round = 0; round < 3; ++round) {
    cg.checkpoint();
    EXPECT_EQ(numbers_of(lstm.add_input(-1, x)).size(), 4U);
    cg.revert();
  }
  const Expression first = lstm.add_input(-1, x);
  const Expression mask = lstm.masks[1][0];
  cg.checkpoint();
  EXPECT_EQ(numbers_of(lstm.add_input(x)).size(), 4U);
  cg.revert();
  EXPECT_EQ(numbers_of(first).size(), 4U);
  EXPECT_FALSE(mask.is_stale()) << "it was drawn before the checkpoint";
}

template <class Builder>
void expect_normalised_steps() {
  ParameterCollection model;
  Builder lstm(2, 3, 4, model, true, 0.25F);
  set_values(model);
  ComputationGraph cg;
  lstm.new_graph(cg);
  lstm.start_new_sequence();
  Layers s;
  for (int t = 0; t < 3; ++t) {
    s = step(lstm, sample(t), s);
    expect_near(numbers_of(lstm.add_input(input(cg, {3}, sample_input(3, t)))), s[1].h);
  }
  Builder other(2, 3, 4, model, true);
  other.copy(lstm);
  EXPECT_EQ(other.ln_params[1][5].p, lstm.ln_params[1][5].p);
  Builder plain(2, 3, 4, model);
  const auto error = [](RNNBuilder& to, const RNNBuilder& from) {
    const std::string text = testing::text_of_error<errors::ValueError>([&] { to.copy(from); });
    return text.substr(text.find(": ") + 2);
  };
  EXPECT_EQ(error(plain, lstm),
            "cannot copy a builder with layer normalisation; this one has none");
  EXPECT_EQ(error(other, plain),
            "cannot copy a builder without layer normalisation; this one has it");
  EXPECT_TRUE(plain.ln_params.empty());
  EXPECT_EQ(other.ln_params[1][5].p, lstm.ln_params[1][5].p);
  Builder smaller(1, 3, 4, model, true);
  EXPECT_EQ(error(smaller, lstm), "cannot copy a builder with other layers: 2, not 1");
  CoupledLSTMBuilder coupled(2, 3, 4, model);
  EXPECT_THROW(coupled.copy(lstm), errors::ValueError);
}

TEST(StandardLstms, ForgetBiasAndLayerNormalisation) {
  expect_normalised_steps<VanillaLSTMBuilder>();
  expect_normalised_steps<SparseLSTMBuilder>();
}

TEST(StandardLstms, AreNotCopiedFromEachOther) {
  ParameterCollection model;
  VanillaLSTMBuilder vanilla(1, 3, 4, model);
  CompactVanillaLSTMBuilder compact(1, 3, 4, model);
  const Parameter before = vanilla.params[0][0];
  EXPECT_THROW(vanilla.copy(compact), errors::ValueError);
  EXPECT_THROW(compact.copy(vanilla), errors::ValueError);
  EXPECT_EQ(vanilla.params[0][0].p, before.p);
}

TEST(VanillaLstm, AStepIsOneNodeALayer) {
  ParameterCollection model;
  VanillaLSTMBuilder lstm(1, 3, 4, model);
  ComputationGraph cg;
  lstm.new_graph(cg);
  lstm.start_new_sequence();
  const Expression x = ones(cg, {3});
  lstm.add_input(x);
  const std::size_t before = cg.nodes.size();
  lstm.add_input(x);
  EXPECT_EQ(cg.nodes.size() - before, 2U);  // the cell's two outputs
}

TEST(VanillaLstm, ParameterCountOfTheLanguageModel) {
  ParameterCollection model;
  const VanillaLSTMBuilder lstm(1, 128, 256, model);
  model.add_parameters({10000, 256});
  model.add_parameters({10000});
  EXPECT_EQ(model.parameter_count(), 2964240U);
}

class SparseLstm : public ::testing::Test {
 protected:
  SparseLstm() : lstm(2, 3, 4, model) {}
  static Numbers zeros_of(const Parameter& p) {
    Numbers places;
    const Numbers v = numbers_of(p);
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (v[i] == 0.0) {
        places.push_back(static_cast<double>(i));
      }
    }
    return places;
  }
  Numbers output() {
    ComputationGraph cg;
    lstm.new_graph(cg);
    lstm.start_new_sequence();
    lstm.add_input(input(cg, {3}, sample_input(3, 0)));
    return numbers_of(lstm.add_input(input(cg, {3}, sample_input(3, 1))));
  }
  ParameterCollection model;
  SparseLSTMBuilder lstm;
};

TEST_F(SparseLstm, HoldsTheSmallestElementsOfAllMatricesAtZero) {
  std::vector<Parameter> matrices;
  for (const auto& ps : lstm.params) {
    matrices.insert(matrices.end(), ps.begin(), ps.begin() + 2);
  }
  // Absolute values 1, 2, 3, ... over 48 + 64 + 64 + 64 elements, in shuffled order.
  const std::size_t total = 240;
  std::size_t next = 0;
  for (Parameter& m : matrices) {
    std::vector<float> v(m.dim().size());
    for (float& x : v) {
      const auto size = static_cast<float>((next * 77) % total + 1);
      x = 0.01F * (next % 2 == 0 ? size : -size);
      ++next;
    }
    m.set_value(v);
  }
  lstm.set_sparsity(0.25F);
  std::size_t held = 0;
  for (std::size_t layer = 0; layer < 2; ++layer) {
    for (std::size_t m = 0; m < 2; ++m) {
      const Numbers values = numbers_of(lstm.params[layer][m]);
      const Numbers mask = numbers_of(lstm.params[layer][3 + m]);
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(mask[i], std::abs(values[i]) < 0.605 ? 0.0 : 1.0) << values[i];
        held += mask[i] == 0.0 ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(held, 60U);
}

TEST_F(SparseLstm, WhatIsHeldStaysFirstAndOthersComeBack) {
  const Numbers whole = output();
  lstm.set_sparsity(0.5F);
  const Numbers half = zeros_of(lstm.params[1][4]);
  EXPECT_NE(output(), whole);
  // Held elements count as 0, however large they become.
  lstm.params[1][1].set_value(std::vector<float>(64, 100.0F));
  lstm.set_sparsity(0.5F);
  EXPECT_EQ(zeros_of(lstm.params[1][4]), half);
  lstm.set_sparsity(0.0F);
  EXPECT_TRUE(zeros_of(lstm.params[1][4]).empty());
  lstm.set_sparsity(1.0F);
  EXPECT_EQ(zeros_of(lstm.params[0][3]).size(), 48U);
  for (const float wrong : {-0.1F, 1.5F, 50.0F}) {
    EXPECT_THROW(lstm.set_sparsity(wrong), errors::ValueError);
  }
}

TEST_F(SparseLstm, MasksAndWhatTheyHoldGetNoGradient) {
  lstm.set_sparsity(0.5F);
  ComputationGraph cg;
  lstm.new_graph(cg);
  lstm.start_new_sequence();
  cg.backward(squared_norm(lstm.add_input(ones(cg, {3}))));
  EXPECT_FALSE(lstm.params[0][3].p->has_grad());
  EXPECT_FALSE(lstm.params[0][3].is_updated());
  const Numbers mask = numbers_of(lstm.params[0][3]);
  const Numbers gradient = numbers_of(lstm.params[0][0].p->g);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    moved += gradient[i] != 0.0 ? 1 : 0;
    EXPECT_TRUE(mask[i] != 0.0 || gradient[i] == 0.0) << i;
  }
  EXPECT_GT(moved, 0U);
}

TEST_F(SparseLstm, ItsExpressionsAreTheMaskedMatricesAndTheBiases) {  // as in DyNet 2.2
  lstm.set_sparsity(0.5F);
  ComputationGraph cg;
  lstm.new_graph(cg);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const std::vector<Parameter>& ps = lstm.params[layer];
    const std::vector<Expression>& vars = lstm.param_vars[layer];
    ASSERT_EQ(vars.size(), 3U);
    for (std::size_t m = 0; m < 2; ++m) {
      Numbers masked = numbers_of(ps[m]);
      const Numbers mask = numbers_of(ps[3 + m]);
      std::transform(masked.begin(), masked.end(), mask.begin(), masked.begin(), std::multiplies());
      EXPECT_EQ(numbers_of(vars[m]), masked);
      EXPECT_NE(masked, numbers_of(ps[m]));
    }
    EXPECT_EQ(numbers_of(vars[2]), numbers_of(ps[2]));
  }
}

TEST(CompactLstm, NoiseOnTheMatricesOncePerSequence) {
  ParameterCollection model;
  CompactVanillaLSTMBuilder lstm(1, 3, 4, model);
  set_values(model);
  EXPECT_THROW(lstm.set_weightnoise(-0.5F), errors::ValueError);
  ComputationGraph cg;
  lstm.new_graph(cg);
  const Expression x = input(cg, {3}, sample_input(3, 0));
  const auto two_steps = [&] {
    lstm.start_new_sequence();
    lstm.add_input(x);
    return numbers_of(lstm.add_input(x));
  };
  const Numbers plain = two_steps();
  lstm.set_weightnoise(0.1F);
  const Numbers noisy = two_steps();
  EXPECT_NE(noisy, plain);
  lstm.start_new_sequence();
  const Numbers once = numbers_of(lstm.add_input(x));
  EXPECT_EQ(numbers_of(lstm.add_input(-1, x)), once);  // the same matrices
  EXPECT_NE(two_steps(), noisy);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_LT(std::abs(noisy[i] - plain[i]), 0.5);
  }
  lstm.set_weightnoise(0.0F);
  EXPECT_EQ(two_steps(), plain);
  // Gradients reach the matrices.
  lstm.set_weightnoise(0.1F);
  lstm.start_new_sequence();
  cg.backward(squared_norm(lstm.add_input(x)));
  EXPECT_TRUE(lstm.params[0][0].p->has_grad());
}

TEST(CompactLstm, NoiseIsDrawnInNoGraphThatIsGone) {
  ParameterCollection model;
  CompactVanillaLSTMBuilder lstm(1, 3, 4, model);
  lstm.set_weightnoise(0.1F);
  const auto expect_gone = [](const auto& call) {
    try {
      call();
      ADD_FAILURE() << "no error";
    } catch (const errors::StaleExpression& e) {
      EXPECT_NE(std::string(e.what()).find("call new_graph first"), std::string::npos) << e.what();
    }
  };
  lstm.new_graph(*std::make_unique<ComputationGraph>());
  expect_gone([&] { lstm.start_new_sequence(); });
  {
    ComputationGraph cg;
    const Evaluating no_noise;
    lstm.new_graph(cg);
    lstm.start_new_sequence();
  }
  ComputationGraph other;
  expect_gone([&] { lstm.add_input(zeros(other, {3})); });
}

TEST(FastLstm, NothingIsComputedWithItsPeepholes) {
  ParameterCollection model;
  FastLSTMBuilder lstm(1, 3, 4, model);
  ComputationGraph cg;
  lstm.new_graph(cg);
  lstm.start_new_sequence();
  lstm.add_input(ones(cg, {3}));
  cg.backward(squared_norm(lstm.add_input(ones(cg, {3}))));
  for (std::size_t i = 0; i < 11; ++i) {
    EXPECT_EQ(lstm.params[0][i].p->has_grad(), i != 2 && i != 6) << i;
  }
}

TEST(LstmBuilder, IsTheCoupledOneUnlessTheProgramSaysOtherwise) {
#ifdef DYNET_LSTM_VANILLA
  EXPECT_TRUE((std::is_same_v<LSTMBuilder, VanillaLSTMBuilder>));
#else
  EXPECT_TRUE((std::is_same_v<LSTMBuilder, CoupledLSTMBuilder>));
#endif
}

}  // namespace
}  // namespace dynet
