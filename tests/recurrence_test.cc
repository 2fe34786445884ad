// Recurrences written step by step: the scheduler takes the products of inputs out of them, and the
// numbers stay the numbers of one node after the other.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "dynet/expr.h"
#include "dynet/fast-lstm.h"
#include "dynet/gru.h"
#include "dynet/lstm.h"
#include "dynet/treelstm.h"

#include "support/observe.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using testing::joined_sums;
using testing::observe;
using testing::Observed;

struct Numbers {
  std::vector<float> loss;
  std::vector<std::vector<float>> gradients;
  std::size_t forward_calls = 0;
  std::size_t joined = 0;  ///< sums that were begun in several groups, and finished in one
};

class Recurrence : public ::testing::Test {
 protected:
  Recurrence()
      : words_(model_.add_lookup_parameters(20, {5})),
        forward_(1, 5, 7, model_),
        backward_(1, 5, 7, model_),
        w_(model_.add_parameters({6, 5})),
        u_(model_.add_parameters({6, 6})),
        b_(model_.add_parameters({6})) {}

  using Program = std::function<Expression(ComputationGraph&)>;
  Numbers run(const Program& program, bool batching) {
    model_.reset_gradient();
    ComputationGraph cg(batching);
    Observed observed;
    observe(cg, &observed);
    const Expression loss = program(cg);
    Numbers n;
    n.loss = as_vector(loss.value());
    n.forward_calls = observed.forward_calls();
    n.joined = joined_sums(cg);
    cg.backward(loss);
    for (const auto& p : model_.parameters_list()) {
      n.gradients.push_back(as_vector(p->g));
    }
    for (const auto& p : model_.lookup_parameters_list()) {
      n.gradients.push_back(as_vector(p->all_grads));
    }
    observe(cg, nullptr);
    return n;
  }
  /// Returns how many sums were joined.
  std::size_t expect_same(const Program& program) {
    const Numbers one = run(program, false);
    const Numbers merged = run(program, true);
    EXPECT_LT(merged.forward_calls, one.forward_calls);
    EXPECT_EQ(one.gradients.size(), merged.gradients.size());
    near(one.loss, merged.loss);
    for (std::size_t i = 0; i < one.gradients.size(); ++i) {
      near(one.gradients[i], merged.gradients[i]);
    }
    return merged.joined;
  }
  static void near(const std::vector<float>& a, const std::vector<float>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_NEAR(a[i], b[i], tolerance::kFloatAgainstDouble * std::max(1.0F, std::abs(a[i])));
    }
  }
  /// h = tanh(b + W x + U h), from a start that is computed.
  Expression elman(ComputationGraph& cg, unsigned steps, bool asks = false) {
    const Expression w = parameter(cg, w_);
    const Expression u = parameter(cg, u_);
    const Expression b = parameter(cg, b_);
    Expression h = tanh(b);
    for (unsigned t = 0; t < steps; ++t) {
      h = tanh(affine_transform({b, w, lookup(cg, words_, t % 20), u, h}));
      if (asks && t % 3 == 2) {
        static_cast<void>(h.value());
      }
    }
    return squared_norm(h);
  }
  /// Two LSTMs over a sentence from both ends, a loss a word.
  Expression both_ways(ComputationGraph& cg, unsigned from, unsigned words) {
    std::vector<Expression> xs;
    xs.reserve(words);
    for (unsigned t = 0; t < words; ++t) {
      xs.push_back(lookup(cg, words_, (from + t) % 20));
    }
    forward_.start_new_sequence();
    backward_.start_new_sequence();
    std::vector<Expression> right(words);
    std::vector<Expression> left(words);
    for (unsigned t = 0; t < words; ++t) {
      right[t] = forward_.add_input(xs[t]);
      left[words - 1 - t] = backward_.add_input(xs[words - 1 - t]);
    }
    std::vector<Expression> losses;
    losses.reserve(words);
    for (unsigned t = 0; t < words; ++t) {
      losses.push_back(pickneglogsoftmax(concatenate({right[t], left[t]}), t % 14));
    }
    return sum(losses);
  }

  ParameterCollection model_;
  LookupParameter words_;
  VanillaLSTMBuilder forward_, backward_;
  Parameter w_, u_, b_;
};

TEST_F(Recurrence, RawAffineGivesTheNumbersOfOneByOne) {
  expect_same([this](ComputationGraph& cg) { return elman(cg, 11); });
}

TEST_F(Recurrence, AskingInTheMiddleGivesTheSame) {
  const Numbers plain = run([this](ComputationGraph& cg) { return elman(cg, 11); }, true);
  const Numbers asked = run([this](ComputationGraph& cg) { return elman(cg, 11, true); }, true);
  near(plain.loss, asked.loss);
  for (std::size_t i = 0; i < plain.gradients.size(); ++i) {
    near(plain.gradients[i], asked.gradients[i]);
  }
}

TEST_F(Recurrence, LstmsOverSeveralSentences) {
  const Program program = [this](ComputationGraph& cg) {
    forward_.new_graph(cg);
    backward_.new_graph(cg);
    return both_ways(cg, 0, 9) + both_ways(cg, 3, 4) + both_ways(cg, 7, 12) + both_ways(cg, 1, 1);
  };
  expect_same(program);
}

TEST_F(Recurrence, InputProductsOfASentenceAreOneCall) {
  ComputationGraph cg(true);
  forward_.new_graph(cg);
  forward_.start_new_sequence();
  Expression h;
  for (unsigned t = 0; t < 10; ++t) {
    h = forward_.add_input(lookup(cg, words_, t));
  }
  Observed observed;
  observe(cg, &observed);
  static_cast<void>(h.value());
  // The first step has no state to add, the second none that comes from a node like itself.
  std::size_t widest = 0;
  for (const Observed::Call& c : observed.calls()) {
    if (c.members.size() > widest && c.shared != 0) {
      widest = c.members.size();
    }
  }
  EXPECT_EQ(widest, 8U);
  observe(cg, nullptr);
}

TEST_F(Recurrence, CheckpointInTheMiddleAndRevert) {
  const auto last = [this](bool detour) {
    ComputationGraph cg(true);
    const Expression w = parameter(cg, w_);
    const Expression u = parameter(cg, u_);
    const Expression b = parameter(cg, b_);
    Expression h = tanh(b);
    for (unsigned t = 0; t < 9; ++t) {
      h = tanh(affine_transform({b, w, lookup(cg, words_, t), u, h}));
      if (detour && t == 4) {
        cg.checkpoint();
        Expression other = h;
        for (unsigned k = 0; k < 3; ++k) {
          other = tanh(affine_transform({b, w, lookup(cg, words_, k), u, other}));
        }
        static_cast<void>(other.value());
        cg.revert();
      }
    }
    const Expression loss = squared_norm(h);
    model_.reset_gradient();
    cg.backward(loss);
    return std::make_pair(as_vector(loss.value()), as_vector(u_.get_storage().g));
  };
  near(last(false).first, last(true).first);
  near(last(false).second, last(true).second);
}

/// Over two sequences one product multiplies the second layer's weights with the first layer's
/// outputs.
TEST_F(Recurrence, OfTwoLargeLayersIsThatOfOneByOne) {
  VanillaLSTMBuilder lstm(2, 64, 64, model_);
  expect_same([&](ComputationGraph& cg) {
    lstm.new_graph(cg);
    std::vector<Expression> losses;
    for (unsigned sequence = 0; sequence < 2; ++sequence) {
      lstm.start_new_sequence();
      for (unsigned t = 0; t < 7 + sequence; ++t) {
        lstm.add_input(constant(cg, {64}, 0.1F * static_cast<float>(t)));
      }
      losses.push_back(squared_norm(lstm.back()));
    }
    return sum(losses);
  });
}

// ---- steps that share a call with steps whose first terms ran in another group ----------------

/// A number of the program that is there at once.
Expression given(ComputationGraph& cg, float first) {
  return input(cg, {2}, {first, 0.5F - first});
}

/// A node that waits for two operations which wait for each other: the scheduler begins the steps
/// that are ready earlier.
Expression late(ComputationGraph& cg, float first) {
  const Expression x = given(cg, first);
  const Expression y = given(cg, -first);
  return average({tanh(logistic(x)), tanh(logistic(y)), logistic(tanh(x)), logistic(tanh(y))});
}

/// States that branch, with inputs that are there at once and others that are late.
class BranchingStates : public Recurrence {
 protected:
  void expect_same_steps(RNNBuilder& builder) {
    const std::size_t joined = expect_same([&](ComputationGraph& cg) {
      builder.new_graph(cg);
      builder.start_new_sequence();
      std::vector<Expression> outputs;
      // Returns the number of the state.
      const auto step = [&](RNNPointer from, const Expression& x) {
        outputs.push_back(builder.add_input(from, x));
        return builder.state();
      };
      const RNNPointer first = step(-1, late(cg, 0.9F));
      const RNNPointer states[] = {step(first, given(cg, -0.4F)), step(first, given(cg, 0.3F)),
                                   step(first, given(cg, -0.7F))};
      step(states[0], given(cg, 0.2F));
      step(states[1], late(cg, -0.5F));
      step(states[2], given(cg, 0.8F));
      std::vector<Expression> losses;
      float scale = 1.0F;
      for (const Expression& y : outputs) {
        losses.push_back(sum_elems(y) * (scale += 0.5F));
      }
      return sum(losses);
    });
    EXPECT_GT(joined, 0U);
  }
};

TEST_F(BranchingStates, OfASimpleNetwork) {
  SimpleRNNBuilder builder(1, 2, 2, model_);
  expect_same_steps(builder);
}
TEST_F(BranchingStates, OfAGatedUnit) {
  GRUBuilder builder(1, 2, 2, model_);
  expect_same_steps(builder);
}
TEST_F(BranchingStates, OfAnLstm) {
  VanillaLSTMBuilder builder(1, 2, 2, model_);
  expect_same_steps(builder);
}
TEST_F(BranchingStates, OfAnLstmWithPeepholes) {
  FastLSTMBuilder builder(1, 2, 2, model_);
  expect_same_steps(builder);
}
/// The second layer's steps join from groups of both.
TEST_F(BranchingStates, OfTwoLayersOfCoupledGates) {
  CoupledLSTMBuilder builder(2, 2, 2, model_);
  expect_same_steps(builder);
}

/// Nodes over words that are there at once and words that are computed.
TEST_F(BranchingStates, OfATree) {
  NaryTreeLSTMBuilder builder(2, 1, 2, 2, model_);
  const std::size_t joined = expect_same([&](ComputationGraph& cg) {
    builder.new_graph(cg);
    builder.start_new_sequence();
    std::vector<Expression> nodes;
    const auto add = [&](const std::vector<int>& children, const Expression& x) {
      nodes.push_back(builder.add_input(static_cast<int>(nodes.size()), children, x));
    };
    add({}, late(cg, 0.9F));
    add({}, given(cg, -0.4F));
    add({0, 1}, given(cg, 0.2F));
    add({0, 1}, given(cg, 0.7F));
    add({1, 0}, given(cg, -0.6F));
    add({2, 3}, given(cg, 0.1F));
    add({3, 4}, late(cg, -0.3F));
    add({4, 2}, given(cg, 0.5F));
    std::vector<Expression> losses;
    float scale = 1.0F;
    for (const Expression& y : nodes) {
      losses.push_back(sum_elems(y) * (scale += 0.5F));
    }
    return sum(losses);
  });
  EXPECT_GT(joined, 0U);
}

}  // namespace
}  // namespace dynet
