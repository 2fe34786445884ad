#include "dynet/rnn.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "dynet/lstm.h"

#include "test_support.h"

namespace dynet {
namespace {

using builder_tests::affine;
using builder_tests::expect_near;
using builder_tests::map;
using builder_tests::names_of;
using builder_tests::Numbers;
using builder_tests::numbers_of;
using builder_tests::sample_input;
using builder_tests::set_values;

double tanh_of(double x) { return std::tanh(x); }

TEST(RnnStateMachine, SaysWhatCameTooEarly) {
  RNNStateMachine sm;
  EXPECT_THROW(sm.transition(RNNOp::start_new_sequence), StateError);
  EXPECT_THROW(sm.transition(RNNOp::add_input), std::invalid_argument);
  sm.transition(RNNOp::new_graph);
  try {
    sm.transition(RNNOp::add_input);
    FAIL();
  } catch (const StateError& e) {
    EXPECT_EQ(std::string(e.what()),
              "RNNBuilder: add_input in state GRAPH_READY (want start_new_sequence first)");
  }
  EXPECT_EQ(sm.state(), GRAPH_READY);
  sm.transition(RNNOp::start_new_sequence);
  sm.transition(RNNOp::add_input);
  sm.transition(RNNOp::start_new_sequence);
  sm.transition(RNNOp::new_graph);
  EXPECT_EQ(sm.state(), GRAPH_READY);
}

TEST(SimpleRnn, NamesShapesAndOrderOfParameters) {
  ParameterCollection model;
  SimpleRNNBuilder rnn(2, 3, 4, model, true);
  const SimpleRNNBuilder second(1, 3, 4, model);
  EXPECT_EQ(names_of(model),
            (std::vector<std::string>{
                "/simple-rnn-builder/_0", "/simple-rnn-builder/_1", "/simple-rnn-builder/_2",
                "/simple-rnn-builder/_3", "/simple-rnn-builder/_4", "/simple-rnn-builder/_5",
                "/simple-rnn-builder/_6", "/simple-rnn-builder/_7", "/simple-rnn-builder_1/_0",
                "/simple-rnn-builder_1/_1", "/simple-rnn-builder_1/_2"}));
  EXPECT_EQ(rnn.params[0][0].dim(), Dim({4, 3}));
  EXPECT_EQ(rnn.params[0][1].dim(), Dim({4, 4}));
  EXPECT_EQ(rnn.params[0][2].dim(), Dim({4}));
  EXPECT_EQ(rnn.params[0][3].dim(), Dim({4, 4}));
  EXPECT_EQ(rnn.params[1][0].dim(), Dim({4, 4}));
  EXPECT_EQ(rnn.get_parameter_collection().size(), 8U);
  EXPECT_EQ(numbers_of(rnn.params[0][2]), Numbers(4, 0.0));
  EXPECT_EQ(rnn.num_h0_components(), 2U);
}

/// Two layers by hand: hidden states after x from `before` (empty: none).
std::vector<Numbers> simple_step(const SimpleRNNBuilder& rnn, const Numbers& x,
                                 const std::vector<Numbers>& before, const Numbers* aux = nullptr) {
  std::vector<Numbers> h;
  Numbers in = x;
  for (std::size_t layer = 0; layer < rnn.params.size(); ++layer) {
    const auto& p = rnn.params[layer];
    std::vector<std::pair<const Parameter*, Numbers>> terms{{&p[0], in}};
    if (!before.empty()) {
      terms.emplace_back(&p[1], before[layer]);
    }
    if (aux != nullptr) {
      terms.emplace_back(&p[3], *aux);
    }
    in = map(affine(numbers_of(p[2]), terms), tanh_of);
    h.push_back(in);
  }
  return h;
}

class SimpleRnnValues : public testing::Test {
 protected:
  SimpleRnnValues() : rnn(2, 3, 4, model, true) { set_values(model); }
  Expression in(const Numbers& x) {
    return input(cg, {static_cast<unsigned>(x.size())}, std::vector<float>(x.begin(), x.end()));
  }
  static Numbers sample(double start, std::size_t n = 3) {
    const auto v = sample_input(n, start);
    return {v.begin(), v.end()};
  }
  ParameterCollection model;
  SimpleRNNBuilder rnn;
  ComputationGraph cg;
};

TEST_F(SimpleRnnValues, FollowsTheFormulaWithAndWithoutInitialState) {
  rnn.new_graph(cg);
  rnn.start_new_sequence();
  const auto h1 = simple_step(rnn, sample(0), {});
  const auto h2 = simple_step(rnn, sample(1), h1);
  expect_near(numbers_of(rnn.add_input(in(sample(0)))), h1[1]);
  expect_near(numbers_of(rnn.add_input(in(sample(1)))), h2[1]);
  expect_near(numbers_of(rnn.final_h()[0]), h2[0]);
  expect_near(numbers_of(rnn.get_h(0)[1]), h1[1]);

  const std::vector<Numbers> h0{sample(5, 4), sample(6, 4)};
  rnn.start_new_sequence({in(h0[0]), in(h0[1])});
  expect_near(numbers_of(rnn.back()), h0[1]);
  EXPECT_EQ(rnn.get_h(-1).size(), 2U);
  expect_near(numbers_of(rnn.add_input(in(sample(2)))), simple_step(rnn, sample(2), h0)[1]);
}

TEST_F(SimpleRnnValues, AuxiliaryInputGoesToEveryLayer) {
  rnn.new_graph(cg);
  rnn.start_new_sequence();
  const Numbers aux = sample(3, 4);
  const auto h1 = simple_step(rnn, sample(0), {}, &aux);
  expect_near(numbers_of(rnn.add_auxiliary_input(in(sample(0)), in(aux))), h1[1]);
  EXPECT_EQ(rnn.state(), -1);
  const auto h2 = simple_step(rnn, sample(1), h1, &aux);
  expect_near(numbers_of(rnn.add_auxiliary_input(in(sample(1)), in(aux))), h2[1]);
  // Steps keep their indices: the next ordinary one is number 2.
  expect_near(numbers_of(rnn.add_input(1, in(sample(2)))), simple_step(rnn, sample(2), h2)[1]);
  EXPECT_EQ(rnn.state(), 2);
  SimpleRNNBuilder plain(1, 3, 4, model);
  plain.new_graph(cg);
  plain.start_new_sequence();
  EXPECT_THROW(plain.add_auxiliary_input(in(sample(0)), in(aux)), StateError);
}

TEST_F(SimpleRnnValues, StepsFormATree) {
  rnn.new_graph(cg);
  rnn.start_new_sequence();
  EXPECT_THROW(rnn.rewind_one_step(), StateError);
  rnn.add_input(in(sample(0)));
  const RNNPointer root = rnn.state();
  rnn.add_input(in(sample(1)));
  rnn.add_input(root, in(sample(2)));
  EXPECT_EQ(rnn.state(), 2);
  EXPECT_EQ(rnn.get_head(2), root);
  const auto h0 = simple_step(rnn, sample(0), {});
  const auto h2 = simple_step(rnn, sample(2), h0);
  expect_near(numbers_of(rnn.back()), h2[1]);
  rnn.rewind_one_step();
  EXPECT_EQ(rnn.state(), root);
  expect_near(numbers_of(rnn.back()), h0[1]);
  expect_near(numbers_of(rnn.final_h()[1]), h2[1]);  // of the step added last
  rnn.rewind_one_step();
  EXPECT_EQ(rnn.state(), -1);
  EXPECT_THROW(static_cast<void>(rnn.back()), StateError);
  EXPECT_THROW(static_cast<void>(rnn.get_h(3)), IndexError);
  EXPECT_THROW(static_cast<void>(rnn.get_h(-2)), IndexError);
  EXPECT_THROW(static_cast<void>(rnn.get_head(-1)), IndexError);
  EXPECT_THROW(rnn.add_input(3, in(sample(0))), IndexError);
  EXPECT_TRUE(rnn.get_h(-1).empty());
}

TEST(RnnBuilder, TransduceIsAddInputStepByStep) {
  ParameterCollection model;
  VanillaLSTMBuilder builder(2, 3, 4, model);
  set_values(model);
  ComputationGraph cg;
  builder.new_graph(cg);
  std::vector<Expression> xs;
  for (int t = 0; t < 3; ++t) {
    xs.push_back(input(cg, {3}, sample_input(3, t)));
  }
  builder.start_new_sequence();
  std::vector<Expression> by_steps;
  for (const Expression& x : xs) {
    by_steps.push_back(builder.add_input(x));
  }
  builder.start_new_sequence();
  const std::vector<Expression> first = builder.transduce({xs[0]});
  const std::vector<Expression> rest = builder.transduce({xs[1], xs[2]});  // goes on
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(numbers_of(first[0]), numbers_of(by_steps[0]));
  EXPECT_EQ(numbers_of(rest[0]), numbers_of(by_steps[1]));
  EXPECT_EQ(numbers_of(rest[1]), numbers_of(by_steps[2]));
  EXPECT_EQ(builder.state(), 2);
  EXPECT_TRUE(builder.transduce({}).empty());
  try {
    builder.transduce({xs[0], by_steps[0]});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("rnn_test.cc"), std::string::npos) << e.what();
  }
}

TEST_F(SimpleRnnValues, SetHAppendsAStep) {
  rnn.new_graph(cg);
  rnn.start_new_sequence();
  const std::vector<Numbers> given{sample(4, 4), sample(5, 4)};
  expect_near(numbers_of(rnn.set_h(-1, {in(given[0]), in(given[1])})), given[1]);
  expect_near(numbers_of(rnn.add_input(in(sample(0)))), simple_step(rnn, sample(0), given)[1]);
  EXPECT_THROW(rnn.set_h(0, {}), ValueError);
  EXPECT_THROW(rnn.set_s(0, {in(given[0])}), ValueError);
  EXPECT_EQ(rnn.state(), 1);  // a call that failed changed nothing
  EXPECT_THROW(rnn.start_new_sequence({in(given[0])}), ValueError);
  EXPECT_EQ(rnn.state(), 1);
}

TEST_F(SimpleRnnValues, WrongInputNamesTheCallersLineAndLeavesTheBuilderUsable) {
  rnn.new_graph(cg);
  rnn.start_new_sequence();
  rnn.add_input(in(sample(0)));
  try {
    rnn.add_input(in(sample(0, 5)));
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("rnn_test.cc"), std::string::npos) << e.what();
  }
  EXPECT_EQ(rnn.state(), 0);
  const auto h1 = simple_step(rnn, sample(0), {});
  expect_near(numbers_of(rnn.add_input(in(sample(1)))), simple_step(rnn, sample(1), h1)[1]);
}

TEST_F(SimpleRnnValues, CopyShares) {
  SimpleRNNBuilder other(2, 3, 4, model, true);
  other.copy(rnn);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(other.params[1][i].p, rnn.params[1][i].p);
  }
  SimpleRNNBuilder smaller(1, 3, 4, model, true);
  EXPECT_THROW(smaller.copy(rnn), ValueError);
  SimpleRNNBuilder narrower(2, 3, 5, model, true);
  EXPECT_THROW(narrower.copy(rnn), ValueError);
  const VanillaLSTMBuilder lstm(2, 3, 4, model);
  EXPECT_THROW(other.copy(lstm), ValueError);
}

TEST_F(SimpleRnnValues, OneDropoutMaskASequence) {
  rnn.set_dropout(0.5F);
  EXPECT_THROW(rnn.set_dropout(1.5F), ValueError);
  EXPECT_THROW(rnn.set_dropout(0.1F, -0.1F), std::invalid_argument);
  rnn.new_graph(cg);
  rnn.start_new_sequence();
  rnn.add_input(in(sample(0)));
  const Expression mask = rnn.masks[0][0];
  const std::size_t before = cg.nodes.size();
  rnn.add_input(in(sample(1)));
  EXPECT_EQ(rnn.masks[0][0].i, mask.i);
  // input, and in each layer: mask, recurrent mask, affine, tanh
  EXPECT_EQ(cg.nodes.size() - before, 1U + 2U * 4U);
  for (const double m : numbers_of(mask)) {
    EXPECT_TRUE(m == 0.0 || m == 2.0) << m;
  }
  rnn.start_new_sequence();
  rnn.add_input(in(sample(0)));
  EXPECT_NE(rnn.masks[0][0].i, mask.i);
  rnn.disable_dropout();
  rnn.start_new_sequence();
  expect_near(numbers_of(rnn.add_input(in(sample(0)))), simple_step(rnn, sample(0), {})[1]);
}

TEST(RnnBuilder, GraphsThatAreGoneAndConstantParameters) {
  ParameterCollection model;
  SimpleRNNBuilder rnn(1, 2, 2, model);
  EXPECT_THROW(rnn.set_dropout_masks(), StateError);
  {
    ComputationGraph cg;
    rnn.new_graph(cg, false);
    rnn.start_new_sequence();
    const Expression loss = squared_norm(rnn.add_input(ones(cg, {2})));
    cg.backward(loss);
    EXPECT_FALSE(rnn.params[0][0].p->has_grad());
  }
  EXPECT_THROW(rnn.set_dropout_masks(), StaleExpression);
  ComputationGraph cg;
  EXPECT_THROW(rnn.add_input(ones(cg, {2})), StaleExpression);
  rnn.new_graph(cg);
  rnn.start_new_sequence();
  cg.backward(squared_norm(rnn.add_input(ones(cg, {2}))));
  EXPECT_TRUE(rnn.params[0][0].p->has_grad());
}

/// Programs derive from RNNBuilder; `cur` is the new step when add_input_impl runs.
struct Accumulator final : RNNBuilder {
  [[nodiscard]] Expression back() const override { return sums.at(static_cast<std::size_t>(cur)); }
  [[nodiscard]] std::vector<Expression> final_h() const override { return {sums.back()}; }
  [[nodiscard]] std::vector<Expression> get_h(RNNPointer i) const override {
    return {sums.at(static_cast<std::size_t>(i))};
  }
  [[nodiscard]] std::vector<Expression> final_s() const override { return final_h(); }
  [[nodiscard]] std::vector<Expression> get_s(RNNPointer i) const override { return get_h(i); }
  [[nodiscard]] unsigned num_h0_components() const override { return 0; }
  void copy(const RNNBuilder& /*other*/) override {}
  ParameterCollection& get_parameter_collection() override { return none; }
  std::vector<Expression> sums;
  ParameterCollection none;

 protected:
  void new_graph_impl(ComputationGraph& /*cg*/, bool /*update*/) override {}
  void start_new_sequence_impl(const std::vector<Expression>& /*h_0*/) override { sums.clear(); }
  Expression add_input_impl(int prev, const Expression& x) override {
    sums.push_back(prev < 0 ? x : sums.at(static_cast<std::size_t>(prev)) + x);
    return sums.at(static_cast<std::size_t>(cur));
  }
  Expression set_h_impl(int /*prev*/, const std::vector<Expression>& h_new) override {
    sums.push_back(h_new.at(0));
    return sums.back();
  }
  Expression set_s_impl(int prev, const std::vector<Expression>& s) override {
    return set_h_impl(prev, s);
  }
};

TEST(RnnBuilder, CanBeDerivedFrom) {
  Accumulator sums;
  RNNBuilder& builder = sums;
  ComputationGraph cg;
  builder.new_graph(cg);
  builder.start_new_sequence();
  builder.add_input(input(cg, 1));
  builder.add_input(input(cg, 2));
  EXPECT_EQ(as_scalar(builder.add_input(0, input(cg, 4)).value()), 5.0F);
  builder.rewind_one_step();
  EXPECT_EQ(as_scalar(builder.back().value()), 1.0F);
}

}  // namespace
}  // namespace dynet
