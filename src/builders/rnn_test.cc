#include "dynet/rnn.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "test_support.h"

namespace dynet {
namespace {

using builder_tests::affine;
using builder_tests::expect_near;
using builder_tests::map;
using builder_tests::names_of;
using builder_tests::Numbers;
using builder_tests::numbers_of;
using builder_tests::sample;
using builder_tests::set_values;

double tanh_of(double x) { return std::tanh(x); }

TEST(RnnStateMachine, SaysWhatCameTooEarly) {
  RNNStateMachine sm;
  EXPECT_THROW(sm.transition(RNNOp::start_new_sequence), errors::StateError);
  EXPECT_THROW(sm.transition(RNNOp::add_input), std::invalid_argument);
  sm.transition(RNNOp::new_graph);
  try {
    sm.transition(RNNOp::add_input);
    FAIL();
  } catch (const errors::StateError& e) {
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
  ParameterCollection model;
  SimpleRNNBuilder rnn;
  ComputationGraph cg;
};

TEST_F(SimpleRnnValues, AuxiliaryInputGoesToEveryLayer) {
  rnn.new_graph(cg);
  rnn.start_new_sequence();
  const Numbers aux = sample(3, 4);
  const auto h1 = simple_step(rnn, sample(0), {}, &aux);
  expect_near(numbers_of(rnn.add_auxiliary_input(in(sample(0)), in(aux))), h1[1]);
  EXPECT_EQ(rnn.state(), -1);
  const auto h2 = simple_step(rnn, sample(1), h1, &aux);
  expect_near(numbers_of(rnn.add_auxiliary_input(in(sample(1)), in(aux))), h2[1]);
  // Steps keep their indices: the next ordinary step is number 2.
  expect_near(numbers_of(rnn.add_input(1, in(sample(2)))), simple_step(rnn, sample(2), h2)[1]);
  EXPECT_EQ(rnn.state(), 2);
  SimpleRNNBuilder plain(1, 3, 4, model);
  plain.new_graph(cg);
  plain.start_new_sequence();
  EXPECT_THROW(plain.add_auxiliary_input(in(sample(0)), in(aux)), errors::StateError);
  // A failed step adds nothing, and leaves no trace in the next one.
  EXPECT_THROW(rnn.add_auxiliary_input(in(sample(0)), in(sample(0))), errors::ShapeError);
  expect_near(numbers_of(rnn.add_input(1, in(sample(2)))), simple_step(rnn, sample(2), h2)[1]);
  EXPECT_EQ(rnn.state(), 3);
}

TEST_F(SimpleRnnValues, LagsHaveAMatrixPerLayer) {
  EXPECT_EQ(names_of(model)[7], "/simple-rnn-builder/_7");
  EXPECT_EQ(model.size(), 8U);
  EXPECT_EQ(rnn.params[0][3].dim(), Dim({4, 4}));
  EXPECT_EQ(rnn.params[1][3].dim(), Dim({4, 4}));
}

TEST_F(SimpleRnnValues, OneNodeForAMaskAtEachPlace) {
  rnn.set_dropout(0.5F, 0.25F);
  EXPECT_THROW(rnn.set_dropout(0.1F, -0.1F), std::invalid_argument);
  EXPECT_EQ(rnn.dropout_rate_h, 0.25F);
  rnn.new_graph(cg);
  rnn.start_new_sequence();
  rnn.add_input(in(sample(0)));
  const std::size_t before = cg.nodes.size();
  rnn.add_input(in(sample(1)));
  // input, and in each layer: mask, recurrent mask, cell
  EXPECT_EQ(cg.nodes.size() - before, 1U + 2U * 3U);
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

TEST_F(SimpleRnnValues, ForgetsSteps) {
  rnn.new_graph(cg);
  rnn.start_new_sequence();
  const Expression first = rnn.add_input(in(sample(0)));
  const std::vector<float> wanted = as_vector(rnn.add_input(in(sample(2))).value());
  rnn.add_input(in(sample(1)));
  rnn.forget_after(0);
  EXPECT_EQ(rnn.state(), 0);
  EXPECT_EQ(rnn.back().i, first.i);
  EXPECT_EQ(rnn.h.size(), 1U);
  EXPECT_THROW(static_cast<void>(rnn.get_output(1)), errors::IndexError);
  EXPECT_THROW(rnn.forget_after(1), errors::IndexError);
  EXPECT_EQ(as_vector(rnn.add_input(in(sample(2))).value()), wanted);
  EXPECT_EQ(rnn.state(), 1);
  rnn.forget_after(-1);
  EXPECT_EQ(rnn.state(), -1);
  EXPECT_EQ(as_vector(rnn.add_input(in(sample(0))).value()), as_vector(first.value()));
}

TEST(RnnBuilder, OfAProgramKeepsItsSteps) {
  ComputationGraph cg;
  Accumulator sums;
  sums.new_graph(cg);
  sums.start_new_sequence();
  sums.add_input(input(cg, 1));
  sums.add_input(input(cg, 2));
  sums.forget_after(0);
  EXPECT_EQ(sums.state(), 1);
  EXPECT_EQ(as_scalar(sums.get_output(1).value()), 3.0F);
}

}  // namespace
}  // namespace dynet
