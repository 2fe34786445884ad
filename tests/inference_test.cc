// Inference scopes: the same values in little memory.

#include "dynet/inference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dynet/expr.h"
#include "dynet/lstm.h"
#include "dynet/param-init.h"

#include "api/graph_state.h"
#include "execute/verify.h"
#include "memory/pool.h"
#include "support/observe.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Floats = std::vector<float>;

/// Up to rounding: nodes may run in other groups.
void expect_near(const Floats& a, const Floats& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], b[i], tolerance::kSumsInFloat) << i;
  }
}

struct Inference : ::testing::TestWithParam<bool> {};

/// The last state of an LSTM over `steps` inputs of `batch` examples.
struct Encoder {
  ParameterCollection model;
  VanillaLSTMBuilder lstm;
  unsigned rows;
  unsigned batch;

  Encoder(unsigned hidden, unsigned examples) : rows(hidden), batch(examples) {
    reset_rng(3);  // each has the same weights
    lstm = VanillaLSTMBuilder(1, hidden, hidden, model);
  }
  Expression step(ComputationGraph& cg, int t) {
    Floats numbers(std::size_t{rows} * batch);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] =
          static_cast<float>((i * 7 + static_cast<std::size_t>(t) * 13) % 11) / 11.0F - 0.5F;
    }
    return lstm.add_input(input(cg, Dim({rows}, batch), numbers));
  }
  Expression run(ComputationGraph& cg, int steps) {
    lstm.new_graph(cg);
    lstm.start_new_sequence();
    Expression h;
    for (int t = 0; t < steps; ++t) {
      h = step(cg, t);
    }
    return h;
  }
};

struct Peak {
  std::size_t bytes;  ///< of values
  std::size_t held;   ///< for the values, with memory that the pool takes in advance
  Floats value;
};

Peak measure(bool in_scope, bool batching) {
  Encoder encoder(256, 8);
  ComputationGraph cg(batching);
  execute::Executor& executor = cg.state().executor;
  executor.give_back(0);  // else memory of earlier graphs would be used again
  const Expression h = encoder.run(cg, 200);
  std::unique_ptr<InferenceScope> scope;
  if (in_scope) {
    scope = std::make_unique<InferenceScope>();
  }
  Floats value = as_vector(h.value());
  return {in_scope ? static_cast<std::size_t>(executor.values().layout().bytes())
                   : executor.values().used(),
          executor.values().held(), std::move(value)};
}

TEST_P(Inference, AnLstmTakesATenthOfTheMemory) {
  const Peak within = measure(true, GetParam());
  const Peak outside = measure(false, GetParam());
  std::printf(
      "values of 200 steps of an LSTM, 256 rows, 8 examples, batching %s:\n"
      "  with gradients      %10zu bytes, %10zu held\n"
      "  in an inference scope %8zu bytes, %10zu held\n",
      GetParam() ? "on" : "off", outside.bytes, outside.held, within.bytes, within.held);
  EXPECT_GT(outside.bytes, std::size_t{200} * 8 * 256 * 4 * 10);
  EXPECT_LE(within.bytes * 10, outside.bytes);
  EXPECT_LE(within.held * 10, outside.held);
  expect_near(within.value, outside.value);
}

TEST_P(Inference, ValuesAskedForStay) {
  Encoder encoder(4, 1);
  ComputationGraph cg(GetParam());
  encoder.lstm.new_graph(cg);
  encoder.lstm.start_new_sequence();
  std::vector<Expression> hs;
  hs.reserve(6);
  for (int t = 0; t < 6; ++t) {
    hs.push_back(encoder.step(cg, t));
  }
  Floats plain;
  {
    ComputationGraph other(GetParam());
    plain = as_vector(encoder.run(other, 3).value());
  }
  const InferenceScope scope;
  const Tensor& third = hs[2].value();
  EXPECT_EQ(as_vector(third), plain);
  static_cast<void>(hs[5].value());
  EXPECT_EQ(as_vector(third), plain);  // the memory that was handed out
  EXPECT_EQ(as_vector(hs[2].value()), plain);
}

/// Every node, in an order that asks for dropped values.
TEST_P(Inference, WhatWasDroppedIsComputedAgain) {
  const auto values = [&](bool in_scope) {
    Encoder encoder(3, 2);
    ComputationGraph cg(GetParam());
    cg.set_random_stream(5);
    const Expression h = encoder.run(cg, 5);
    const Expression y = dropout(tanh(dropout(h, 0.5F)), 0.25F);
    std::unique_ptr<InferenceScope> scope;
    if (in_scope) {
      scope = std::make_unique<InferenceScope>();
    }
    Floats all = as_vector(y.value());
    for (VariableIndex n = 0; n < cg.nodes.size(); ++n) {
      const Floats one = as_vector(cg.get_value(n));
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  };
  expect_near(values(true), values(false));
}

/// How many nodes it computes to get the value.
std::size_t computed_for(ComputationGraph& cg, const Expression& e) {
  testing::Observed observed;
  testing::observe(cg, &observed);
  static_cast<void>(e.value());
  testing::observe(cg, nullptr);
  std::set<graph::NodeId> nodes;  // a sum may be computed in two parts
  for (const testing::Observed::Call& call : observed.calls()) {
    nodes.insert(call.members.begin(), call.members.end());
  }
  return nodes.size();
}

/// One result of a node may stay where the other was dropped, whichever it is.
TEST_P(Inference, AResultIsAskedForAfterAnotherOfItsNode) {
  ComputationGraph cg(GetParam());
  const auto gate = [&](float x) { return input(cg, {2}, {x, -x}); };
  const auto node = [&] { return coupled_lstm_cell(gate(0.5F), gate(1.0F), gate(-0.25F)); };
  const auto [cell, hidden] = node();
  const Floats values[] = {as_vector(cell.value()), as_vector(hidden.value())};
  for (const std::size_t first : {0U, 1U}) {
    SCOPED_TRACE(first);
    const InferenceScope scope;
    const auto both = node();
    const Expression after = tanh(both[first]);
    EXPECT_EQ(as_vector(both[first].value()), values[first]);
    EXPECT_EQ(as_vector(both[1 - first].value()), values[1 - first]);
    EXPECT_EQ(as_vector(both[first].value()), values[first]);
    EXPECT_EQ(as_vector(after.value()), as_vector(tanh(both[first]).value()));
  }
}

/// A decoder that asks in each step computes each node once, whatever the recurrence.
TEST_P(Inference, ADecoderComputesNothingTwice) {
  Encoder encoder(4, 1);
  ComputationGraph cg(GetParam());
  encoder.lstm.new_graph(cg);
  encoder.lstm.start_new_sequence();
  const InferenceScope scope;
  for (int t = 0; t < 10; ++t) {
    const Expression scores = softmax(encoder.step(cg, t));
    // input, cell, softmax; in the first step the sum of the gates is a node of its own
    EXPECT_EQ(computed_for(cg, scores), t == 0 ? 4U : 3U) << "step " << t;
  }
}

/// A recurrence whose state has a user when needed again is computed twice at most.
TEST_P(Inference, AWrongGuessCostsOnce) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({4, 4});
  ComputationGraph cg(GetParam());
  const InferenceScope scope;
  Expression h = ones(cg, {4});
  std::size_t all = 0;
  for (int t = 0; t < 30; ++t) {
    h = tanh(parameter(cg, w) * h);
    all += computed_for(cg, sum_elems(h));
  }
  EXPECT_GT(all, std::size_t{30} * 3 + 1);  // or there was no guess
  EXPECT_LE(all, std::size_t{2} * (30 * 3 + 1));
}

TEST_P(Inference, BackwardIsAnError) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({3, 3}, ParameterInitConst(0.5F));
  const auto loss_of = [&](ComputationGraph& cg) {
    return squared_norm(tanh(parameter(cg, w) * ones(cg, {3})));
  };
  ComputationGraph cg(GetParam());
  const Expression loss = loss_of(cg);
  {
    const InferenceScope scope;
    EXPECT_THROW(cg.backward(loss), errors::GraphError);
    static_cast<void>(loss.value());
    EXPECT_THROW(cg.backward(loss), errors::GraphError);
  }
  try {
    cg.backward(loss);
    FAIL() << "values of an inference scope have no gradient";
  } catch (const errors::GraphError& e) {
    EXPECT_NE(std::string(e.what()).find("inference scope"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("matmul"), std::string::npos) << e.what();
  }
  EXPECT_EQ(as_vector(w.get_storage().g), Floats(9, 0.0F));
  cg.invalidate();
  cg.backward(loss);
  const Floats gradient = as_vector(w.get_storage().g);
  model.reset_gradient();
  ComputationGraph fresh(GetParam());
  fresh.backward(loss_of(fresh));
  EXPECT_EQ(gradient, as_vector(w.get_storage().g));
}

/// Values from before the scope keep their gradients.
TEST_P(Inference, AGraphIsUsedWithinAndWithout) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({3, 3}, ParameterInitConst(0.5F));
  ComputationGraph cg(GetParam());
  const Expression h = tanh(parameter(cg, w) * ones(cg, {3}));
  const Expression loss = squared_norm(h);
  const float value = as_scalar(loss.value());
  {
    const InferenceScope scope;
    EXPECT_NEAR(as_scalar(sum_elems(h).value()), 3 * std::tanh(1.5F), tolerance::kSumsInFloat);
  }
  cg.backward(loss);
  EXPECT_EQ(as_scalar(loss.value()), value);
  EXPECT_NE(as_vector(w.get_storage().g)[0], 0.0F);
}

TEST_P(Inference, ScopesNestAndEndWithExceptions) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2}, ParameterInitConst(1.0F));
  ComputationGraph cg(GetParam());
  const Expression loss = squared_norm(parameter(cg, w));
  const auto interrupted = [&] {
    const InferenceScope outer;
    {
      const InferenceScope inner;
    }
    EXPECT_THROW(cg.backward(loss), errors::GraphError);  // still in the outer one
    throw std::runtime_error("in the middle");
  };
  EXPECT_THROW(interrupted(), std::runtime_error);
  cg.backward(loss);
  EXPECT_EQ(as_vector(w.get_storage().g), (Floats{2.0F, 2.0F}));
}

TEST_P(Inference, OtherThreadsAreOutside) {
  ParameterCollection model;
  Parameter w = model.add_parameters({2}, ParameterInitConst(1.0F));
  const InferenceScope scope;
  std::thread([&] {
    ComputationGraph cg(GetParam());
    cg.backward(squared_norm(parameter(cg, w)));
  }).join();
  EXPECT_EQ(as_vector(w.get_storage().g), (Floats{2.0F, 2.0F}));
}

TEST_P(Inference, SeveralGraphs) {
  Encoder encoder(4, 2);
  ComputationGraph a(GetParam());
  ComputationGraph b(GetParam());
  const Expression x = encoder.run(a, 7);
  const Floats plain = as_vector(encoder.run(b, 7).value());
  const InferenceScope scope;
  ComputationGraph c(GetParam());
  const Expression z = encoder.run(c, 7);
  EXPECT_EQ(as_vector(x.value()), plain);
  EXPECT_EQ(as_vector(z.value()), plain);
  EXPECT_EQ(as_vector(x.value()), plain);
}

TEST_P(Inference, CheckpointsAndReverts) {
  Encoder encoder(4, 1);
  const auto tip = [](const Expression& h, float scale) { return sum_elems(tanh(h * scale)); };
  const auto values = [&](bool in_scope) {
    std::unique_ptr<InferenceScope> scope;
    if (in_scope) {
      scope = std::make_unique<InferenceScope>();
    }
    ComputationGraph cg(GetParam());
    const Expression h = encoder.run(cg, 4);
    Floats all{as_scalar(tip(h, 1.0F).value())};
    cg.checkpoint();
    for (int branch = 0; branch < 3; ++branch) {
      all.push_back(as_scalar(tip(h, static_cast<float>(branch)).value()));
      cg.revert();
      cg.checkpoint();
    }
    all.push_back(as_scalar(tip(h, 2.0F).value()));
    cg.invalidate();
    all.push_back(as_scalar(tip(h, 2.0F).value()));
    return all;
  };
  expect_near(values(true), values(false));
}

/// A request that fails leaves the graph as it was: the next one works, and drops as ever.
TEST_P(Inference, AFailedRequestIsForgotten) {
  ComputationGraph cg(GetParam());
  cg.state().executor.give_back(0);  // or there may be enough of an earlier graph
  Expression h = ones(cg, {1024, 4096});
  for (int i = 0; i < 6; ++i) {
    h = tanh(h);
  }
  const Expression large = concatenate({h, h, h, h, h, h, h, h});
  const InferenceScope scope;
  memory::set_cap(memory::bytes_held() + (std::size_t{64} << 20));
  EXPECT_THROW(static_cast<void>(large.value()), out_of_memory);
  EXPECT_THROW(static_cast<void>(large.value()), out_of_memory);
  const Floats value = as_vector(h.value());
  memory::set_cap(0);
  EXPECT_EQ(as_vector(large.value())[0], value[0]);
}

/// One result of a node is dropped and the other stays, whichever; then all is asked for.
TEST_P(Inference, AResultThatWasDroppedBesideOneThatStaysIsComputedAgain) {
  for (const bool drops_first : {true, false}) {
    ParameterCollection model;
    const Parameter p = model.add_parameters({4}, ParameterInitConst(0.5F));
    ComputationGraph cg(GetParam());
    const Expression a = parameter(cg, p) * 2.0F;
    const auto [c, h] = lstm_cell(a, ones(cg, {1}));
    const Expression& dropped = drops_first ? c : h;
    const Expression used = tanh(dropped);
    const Expression waits = tanh(drops_first ? h : c);
    {
      const InferenceScope scope;
      static_cast<void>(used.value());
    }
    ComputationGraph plain(GetParam());
    const auto [c2, h2] = lstm_cell(parameter(plain, p) * 2.0F, ones(plain, {1}));
    expect_near(as_vector(dropped.value()), as_vector((drops_first ? c2 : h2).value()));
    expect_near(as_vector(waits.value()), as_vector(tanh(drops_first ? h2 : c2).value()));
    EXPECT_EQ(execute::verify(cg.state().executor), "");
    cg.invalidate();
    cg.backward(sum_elems(used + waits));
    EXPECT_EQ(execute::verify(cg.state().executor), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Batching, Inference, ::testing::Bool());

}  // namespace
}  // namespace dynet
