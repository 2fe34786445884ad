#include "dynet/lstm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <stdexcept>

#include "test_support.h"

namespace dynet {
namespace {

using builder_tests::affine;
using builder_tests::expect_near;
using builder_tests::names_of;
using builder_tests::Numbers;
using builder_tests::numbers_of;
using builder_tests::sample_input;
using builder_tests::set_values;
using builder_tests::sigma;

struct State {
  Numbers c;
  Numbers h;
};
using Layers = std::vector<State>;  ///< empty: no state

Numbers sample(double start, std::size_t n = 3) {
  const auto v = sample_input(n, start);
  return {v.begin(), v.end()};
}

/// LN(x; g, b) with the population deviation.
Numbers layer_norm(const Numbers& x, const Parameter& gain, const Parameter& bias) {
  double mean = 0.0;
  double square = 0.0;
  for (const double v : x) {
    mean += v / static_cast<double>(x.size());
  }
  for (const double v : x) {
    square += (v - mean) * (v - mean) / static_cast<double>(x.size());
  }
  const Numbers g = numbers_of(gain);
  const Numbers b = numbers_of(bias);
  Numbers y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    y.push_back(g[i] * (x[i] - mean) / (std::sqrt(square) + 1e-8) + b[i]);
  }
  return y;
}

Layers vanilla_step(const VanillaLSTMBuilder& lstm, const Numbers& x, const Layers& before) {
  const std::size_t n = lstm.hid;
  Layers now;
  Numbers in = x;
  for (std::size_t layer = 0; layer < lstm.layers; ++layer) {
    const auto& p = lstm.params[layer];
    Numbers a = numbers_of(p[2]);
    const auto add = [&](const Parameter& w, const Numbers& v, std::size_t norm) {
      Numbers y = affine(Numbers(4 * n, 0.0), {{&w, v}});
      if (lstm.ln_lstm) {
        y = layer_norm(y, lstm.ln_params[layer][norm], lstm.ln_params[layer][norm + 1]);
      }
      for (std::size_t i = 0; i < 4 * n; ++i) {
        a[i] += y[i];
      }
    };
    add(p[0], in, 2);
    if (!before.empty()) {
      add(p[1], before[layer].h, 0);
    }
    State s;
    for (std::size_t i = 0; i < n; ++i) {
      const double old = before.empty() ? 0.0 : before[layer].c[i];
      s.c.push_back(sigma(a[n + i] + static_cast<double>(lstm.forget_bias)) * old +
                    sigma(a[i]) * std::tanh(a[3 * n + i]));
    }
    const Numbers shown =
        lstm.ln_lstm ? layer_norm(s.c, lstm.ln_params[layer][4], lstm.ln_params[layer][5]) : s.c;
    for (std::size_t i = 0; i < n; ++i) {
      s.h.push_back(sigma(a[2 * n + i]) * std::tanh(shown[i]));
    }
    in = s.h;
    now.push_back(s);
  }
  return now;
}

Layers coupled_step(const CoupledLSTMBuilder& lstm, const Numbers& x, const Layers& before) {
  Layers now;
  Numbers in = x;
  for (std::size_t layer = 0; layer < lstm.layers; ++layer) {
    const auto& p = lstm.params[layer];
    const bool first = before.empty();
    Numbers i = affine(numbers_of(p[3]), {{&p[0], in}});
    Numbers g = affine(numbers_of(p[10]), {{&p[8], in}});
    Numbers o = affine(numbers_of(p[7]), {{&p[4], in}});
    if (!first) {
      i = affine(i, {{&p[1], before[layer].h}, {&p[2], before[layer].c}});
      g = affine(g, {{&p[9], before[layer].h}});
      o = affine(o, {{&p[5], before[layer].h}});
    }
    State s;
    for (std::size_t k = 0; k < lstm.hid; ++k) {
      const double old = first ? 0.0 : before[layer].c[k];
      s.c.push_back((1.0 - sigma(i[k])) * old + sigma(i[k]) * std::tanh(g[k]));
    }
    o = affine(o, {{&p[6], s.c}});
    for (std::size_t k = 0; k < lstm.hid; ++k) {
      s.h.push_back(sigma(o[k]) * std::tanh(s.c[k]));
    }
    in = s.h;
    now.push_back(s);
  }
  return now;
}

Layers step(const VanillaLSTMBuilder& b, const Numbers& x, const Layers& before) {
  return vanilla_step(b, x, before);
}
Layers step(const CoupledLSTMBuilder& b, const Numbers& x, const Layers& before) {
  return coupled_step(b, x, before);
}

template <class Builder>
class Lstm : public testing::Test {
 protected:
  Lstm() : lstm(2, 3, 4, model) { set_values(model); }
  Expression in(const Numbers& x) {
    return input(cg, {static_cast<unsigned>(x.size())}, std::vector<float>(x.begin(), x.end()));
  }
  void start() {
    lstm.new_graph(cg);
    lstm.start_new_sequence();
  }
  ParameterCollection model;
  Builder lstm;
  ComputationGraph cg;
};
using Builders = testing::Types<VanillaLSTMBuilder, CoupledLSTMBuilder>;
TYPED_TEST_SUITE(Lstm, Builders);

TYPED_TEST(Lstm, FollowsTheFormula) {
  this->start();
  const Layers s1 = step(this->lstm, sample(0), {});
  const Layers s2 = step(this->lstm, sample(1), s1);
  expect_near(numbers_of(this->lstm.add_input(this->in(sample(0)))), s1[1].h);
  expect_near(numbers_of(this->lstm.add_input(this->in(sample(1)))), s2[1].h);
  const auto s = this->lstm.final_s();
  ASSERT_EQ(s.size(), 4U);
  expect_near(numbers_of(s[0]), s2[0].c);
  expect_near(numbers_of(s[1]), s2[1].c);
  expect_near(numbers_of(s[2]), s2[0].h);
  expect_near(numbers_of(s[3]), s2[1].h);
  expect_near(numbers_of(this->lstm.get_s(0)[1]), s1[1].c);
  expect_near(numbers_of(this->lstm.get_h(0)[0]), s1[0].h);
}

TYPED_TEST(Lstm, TakesAnInitialState) {
  this->start();
  const Layers s0{{sample(2, 4), sample(3, 4)}, {sample(4, 4), sample(5, 4)}};
  this->lstm.start_new_sequence(
      {this->in(s0[0].c), this->in(s0[1].c), this->in(s0[0].h), this->in(s0[1].h)});
  expect_near(numbers_of(this->lstm.back()), s0[1].h);
  expect_near(numbers_of(this->lstm.final_s()[1]), s0[1].c);
  expect_near(numbers_of(this->lstm.add_input(this->in(sample(0)))),
              step(this->lstm, sample(0), s0)[1].h);
  EXPECT_THROW(this->lstm.start_new_sequence({this->in(s0[0].c)}), ValueError);
}

TYPED_TEST(Lstm, ContinuesAnyStep) {
  this->start();
  EXPECT_THROW(static_cast<void>(this->lstm.back()), StateError);
  EXPECT_TRUE(this->lstm.final_h().empty());
  const Layers s1 = step(this->lstm, sample(0), {});
  this->lstm.add_input(this->in(sample(0)));
  this->lstm.add_input(this->in(sample(1)));
  expect_near(numbers_of(this->lstm.add_input(0, this->in(sample(2)))),
              step(this->lstm, sample(2), s1)[1].h);
  expect_near(numbers_of(this->lstm.add_input(-1, this->in(sample(2)))),
              step(this->lstm, sample(2), {})[1].h);
  this->lstm.rewind_one_step();
  EXPECT_EQ(this->lstm.state(), -1);
}

TYPED_TEST(Lstm, SetHKeepsTheCellsOfTheStepItFollows) {
  this->start();
  const Layers s1 = step(this->lstm, sample(0), {});
  this->lstm.add_input(this->in(sample(0)));
  this->lstm.add_input(this->in(sample(1)));  // not the predecessor below
  const Numbers h[2] = {sample(6, 4), sample(7, 4)};
  expect_near(numbers_of(this->lstm.set_h(0, {this->in(h[0]), this->in(h[1])})), h[1]);
  expect_near(numbers_of(this->lstm.add_input(this->in(sample(2)))),
              step(this->lstm, sample(2), {{s1[0].c, h[0]}, {s1[1].c, h[1]}})[1].h);
  this->lstm.set_h(-1, {this->in(h[0]), this->in(h[1])});
  EXPECT_EQ(numbers_of(this->lstm.final_s()[0]), Numbers(4, 0.0));
  EXPECT_THROW(this->lstm.set_h(0, {}), ValueError);
}

TYPED_TEST(Lstm, SetSTakesCellsOrAll) {
  this->start();
  const Layers s1 = step(this->lstm, sample(0), {});
  this->lstm.add_input(this->in(sample(0)));
  const Numbers c[2] = {sample(8, 4), sample(9, 4)};
  expect_near(numbers_of(this->lstm.set_s(0, {this->in(c[0]), this->in(c[1])})), s1[1].h);
  expect_near(numbers_of(this->lstm.add_input(this->in(sample(2)))),
              step(this->lstm, sample(2), {{c[0], s1[0].h}, {c[1], s1[1].h}})[1].h);
  const Numbers h[2] = {sample(6, 4), sample(7, 4)};
  this->lstm.set_s(0, {this->in(c[0]), this->in(c[1]), this->in(h[0]), this->in(h[1])});
  expect_near(numbers_of(this->lstm.add_input(this->in(sample(2)))),
              step(this->lstm, sample(2), {{c[0], h[0]}, {c[1], h[1]}})[1].h);
  EXPECT_THROW(this->lstm.set_s(0, {this->in(c[0]), this->in(c[1]), this->in(h[0])}), ValueError);
}

TYPED_TEST(Lstm, CopySharesParameters) {
  TypeParam other(2, 3, 4, this->model);
  other.copy(this->lstm);
  this->start();
  other.new_graph(this->cg);
  other.start_new_sequence();
  EXPECT_EQ(other.params[0][0].p, this->lstm.params[0][0].p);
  EXPECT_EQ(numbers_of(other.add_input(this->in(sample(0)))),
            numbers_of(this->lstm.add_input(this->in(sample(0)))));
  EXPECT_THROW(TypeParam(1, 3, 4, this->model).copy(this->lstm), ValueError);
  EXPECT_THROW(TypeParam(2, 3, 5, this->model).copy(this->lstm), ValueError);
}

TYPED_TEST(Lstm, MasksAreSharedByTheStepsOfASequence) {
  this->lstm.set_dropout(0.5F);
  this->start();
  const Expression first = this->lstm.add_input(this->in(sample(0)));
  const auto masks = this->lstm.masks;
  this->lstm.add_input(this->in(sample(0)));
  ASSERT_EQ(masks.size(), 2U);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    for (std::size_t i = 0; i < masks[layer].size(); ++i) {
      EXPECT_EQ(masks[layer][i].i, this->lstm.masks[layer][i].i);
      for (const double m : numbers_of(masks[layer][i])) {
        EXPECT_TRUE(m == 0.0 || m == 2.0);
      }
    }
  }
  EXPECT_EQ(masks[0][0].dim(), Dim({3}));
  EXPECT_EQ(masks[1][0].dim(), Dim({4}));
  // The same input from the same state through the same masks.
  EXPECT_EQ(numbers_of(this->lstm.add_input(-1, this->in(sample(0)))), numbers_of(first));
  this->lstm.start_new_sequence();
  this->lstm.add_input(this->in(sample(0)));
  EXPECT_NE(masks[0][0].i, this->lstm.masks[0][0].i);
  EXPECT_THROW(this->lstm.set_dropout(2.0F), std::invalid_argument);
}

TYPED_TEST(Lstm, RunsMinibatches) {
  this->start();
  const std::vector<float> both = sample_input(6, 0.0);
  const Expression x = input(this->cg, Dim({3}, 2), both);
  const Expression top = this->lstm.add_input(x);
  this->lstm.add_input(x);
  EXPECT_EQ(top.dim(), Dim({4}, 2));
  const Layers second = step(this->lstm, Numbers(both.begin() + 3, both.end()), {});
  const Numbers got = numbers_of(top);
  expect_near(Numbers(got.begin() + 4, got.end()), second[1].h);
}

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

TEST(VanillaLstm, ForgetBiasAndLayerNormalisation) {
  ParameterCollection model;
  VanillaLSTMBuilder lstm(2, 3, 4, model, true, 0.25F);
  set_values(model);
  ComputationGraph cg;
  lstm.new_graph(cg);
  lstm.start_new_sequence();
  Layers s;
  for (int t = 0; t < 3; ++t) {
    s = vanilla_step(lstm, sample(t), s);
    expect_near(numbers_of(lstm.add_input(input(cg, {3}, sample_input(3, t)))), s[1].h);
  }
  VanillaLSTMBuilder other(2, 3, 4, model, true);
  other.copy(lstm);
  EXPECT_EQ(other.ln_params[1][5].p, lstm.ln_params[1][5].p);
  VanillaLSTMBuilder plain(2, 3, 4, model);
  EXPECT_THROW(plain.copy(lstm), ValueError);
  CoupledLSTMBuilder coupled(2, 3, 4, model);
  EXPECT_THROW(coupled.copy(lstm), ValueError);
}

TEST(VanillaLstm, OneAffineAndOneCellALayer) {
  ParameterCollection model;
  VanillaLSTMBuilder lstm(1, 3, 4, model);
  ComputationGraph cg;
  lstm.new_graph(cg);
  lstm.start_new_sequence();
  const Expression x = ones(cg, {3});
  lstm.add_input(x);
  const std::size_t before = cg.nodes.size();
  lstm.add_input(x);
  EXPECT_EQ(cg.nodes.size() - before, 3U);  // affine_transform and the cell's two outputs
}

TEST(VanillaLstm, ParameterCountOfTheLanguageModel) {
  ParameterCollection model;
  const VanillaLSTMBuilder lstm(1, 128, 256, model);
  model.add_parameters({10000, 256});
  model.add_parameters({10000});
  EXPECT_EQ(model.parameter_count(), 2964240U);
}

TEST(CoupledLstm, NamesShapesAndOrderOfParameters) {
  ParameterCollection model;
  const CoupledLSTMBuilder lstm(2, 3, 4, model);
  EXPECT_EQ(model.size(), 22U);
  EXPECT_EQ(names_of(model)[10], "/lstm-builder/_10");
  const Dim in({4, 3});
  const Dim square({4, 4});
  const Dim bias({4});
  const Dim wanted[] = {in, square, square, bias, in, square, square, bias, in, square, bias};
  for (std::size_t i = 0; i < 11; ++i) {
    EXPECT_EQ(lstm.params[0][i].dim(), wanted[i]) << i;
  }
  EXPECT_EQ(lstm.num_h0_components(), 4U);
}

TEST(CoupledLstm, CellMaskTouchesOnlyThePeepholes) {
  ParameterCollection model;
  CoupledLSTMBuilder lstm(1, 2, 3, model);
  set_values(model);
  ComputationGraph cg;
  lstm.set_dropout(0.0F, 0.0F, 1.0F);  // all peepholes read zeros
  lstm.new_graph(cg);
  lstm.start_new_sequence();
  lstm.add_input(ones(cg, {2}));
  lstm.add_input(ones(cg, {2}));
  CoupledLSTMBuilder no_peepholes = lstm;
  no_peepholes.disable_dropout();
  lstm.params[0][2].set_value(std::vector<float>(9, 0.0F));
  lstm.params[0][6].set_value(std::vector<float>(9, 0.0F));
  const Numbers dropped = numbers_of(lstm.back());
  ComputationGraph plain;
  no_peepholes.new_graph(plain);
  no_peepholes.start_new_sequence();
  no_peepholes.add_input(ones(plain, {2}));
  expect_near(numbers_of(no_peepholes.add_input(ones(plain, {2}))), dropped);
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
