// States that a program gives to recurrent builders: the call that gets a wrong state names the
// mistake, and leaves the builder unchanged.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "recurrent_kinds.h"

namespace dynet {
namespace {

using builder_tests::Kind;
using builder_tests::Numbers;
using builder_tests::numbers_of;
using builder_tests::Owned;

/// All kinds, and an LSTM with layer normalisation of its sums.
std::vector<Kind> all_kinds() {
  std::vector<Kind> all = builder_tests::kinds();
  Kind normalised = all[2];
  normalised.name = "Normalised";
  normalised.make = [](unsigned layers, unsigned in, unsigned hidden,
                       ParameterCollection& model) -> Owned {
    return std::make_unique<VanillaLSTMBuilder>(layers, in, hidden, model, true);
  };
  all.push_back(normalised);
  return all;
}

/// Mistakes in a state are reported by the call that gets it, in the builder's words.
class GivenStates : public builder_tests::RecurrentTest {
 protected:
  /// The call throws `Error`, with the builder's name, the mistake, and the caller's line.
  template <class Error, class Call>
  void refuses(const std::string& what, Call call) {
    const RNNPointer current = rnn.state();
    const std::size_t steps = rnn.h.size();
    const std::vector<Expression> state = rnn.get_s(-1);
    try {
      call();
      ADD_FAILURE() << "nothing was thrown; want " << what;
    } catch (const Error& e) {
      const std::string text = e.what();
      EXPECT_EQ(text.rfind(std::string(rnn.name()) + ": ", 0), 0U) << text;
      EXPECT_NE(text.find(what), std::string::npos) << text << "; want " << what;
      EXPECT_NE(text.find("given_states_test.cc"), std::string::npos) << text;
    }
    EXPECT_EQ(rnn.state(), current);
    EXPECT_EQ(rnn.h.size(), steps);
    EXPECT_EQ(rnn.c.size(), has_cells ? steps : 0);
    EXPECT_EQ(rnn.get_s(-1).size(), state.size());
    EXPECT_EQ(rnn.has_initial_state, !state.empty());
  }
  /// A whole state of `shape`s.
  std::vector<Expression> states(const Dim& shape) {
    return std::vector<Expression>(rnn.num_h0_components(), ones(cg, shape));
  }
  /// A whole state with another expression in one place.
  std::vector<Expression> but(std::size_t place, const Expression& e) {
    std::vector<Expression> all = states({4});
    all[place] = e;
    return all;
  }
  /// Starts, gives an initial state of some examples, and reads the first input.
  void start_in_the_middle() {
    start();
    rnn.start_new_sequence(states({4}));
    rnn.add_input(ones(cg, {3}));
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, GivenStates, testing::ValuesIn(all_kinds()),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_P(GivenStates, OfAnotherShapeAreRefused) {
  start_in_the_middle();
  const std::string part = has_cells ? "c" : "h";
  const std::string what = part + " of layer 1 of the initial state is {7}; want {4}\n";
  refuses<errors::ShapeError>(what, [&] { rnn.start_new_sequence(but(1, ones(cg, {7}))); });
  refuses<errors::ShapeError>(" is {4,5}; want {4}",
                              [&] { rnn.start_new_sequence(states({4, 5})); });
  refuses<errors::ShapeError>(" is {1,4}; want {4}",
                              [&] { rnn.start_new_sequence(states({1, 4})); });
  refuses<errors::ShapeError>(" is {4,1,1}; want {4}",
                              [&] { rnn.start_new_sequence(states({4, 1, 1})); });
  refuses<errors::ShapeError>("h of layer 1 of the new state is {7}; want {4}\n",
                              [&] { rnn.set_h(0, {ones(cg, {4}), ones(cg, {7})}); });
  const std::size_t last = rnn.num_h0_components() - 1;
  refuses<errors::ShapeError>("h of layer 1 of the new state is {7}; want {4}\n",
                              [&] { rnn.set_s(0, but(last, ones(cg, {7}))); });
  if (has_cells) {
    refuses<errors::ShapeError>("c of layer 0 of the new state is {7}; want {4}\n",
                                [&] { rnn.set_s(0, {ones(cg, {7}), ones(cg, {4})}); });
    refuses<errors::ShapeError>("h of layer 0 of the initial state is {7}; want {4}\n",
                                [&] { rnn.start_new_sequence(but(2, ones(cg, {7}))); });
  }
  EXPECT_NO_THROW(rnn.add_input(ones(cg, {3})).value());
}

TEST_P(GivenStates, UnsetStaleAndOfAnotherGraphAreRefused) {
  start_in_the_middle();
  const Expression none;
  refuses<errors::StaleExpression>("of layer 1 of the initial state: the expression is unset",
                                   [&] { rnn.start_new_sequence(but(1, none)); });
  refuses<errors::StaleExpression>("h of layer 0 of the new state: the expression is unset",
                                   [&] { rnn.set_h(-1, {none, none}); });
  refuses<errors::StaleExpression>("of layer 0 of the new state: the expression is unset",
                                   [&] { rnn.set_s(0, but(0, none)); });
  ComputationGraph other;
  const Expression far = ones(other, {4});
  const std::string what = " is a node of another graph than the one that new_graph was given\n";
  refuses<errors::GraphError>("of layer 1 of the initial state" + what,
                              [&] { rnn.start_new_sequence(but(1, far)); });
  refuses<errors::GraphError>("h of layer 0 of the new state" + what,
                              [&] { rnn.set_h(0, {far, far}); });
  refuses<errors::GraphError>("of layer 0 of the new state" + what,
                              [&] { rnn.set_s(0, but(0, far)); });
  other.clear();
  refuses<errors::StaleExpression>("h of layer 0 of the new state: stale expression",
                                   [&] { rnn.set_h(0, {far, far}); });
  EXPECT_NO_THROW(rnn.add_input(ones(cg, {3})).value());
}

TEST_P(GivenStates, OfOtherNumbersOfExamplesAreRefused) {
  start_in_the_middle();
  const Expression two = ones(cg, Dim({4}, 2));
  const Expression three = ones(cg, Dim({4}, 3));
  refuses<errors::ShapeError>(
      "h of layer 1 of the new state has 3 examples, and another part of it 2;",
      [&] { rnn.set_h(0, {two, three}); });
  rnn.set_h(0, {two, ones(cg, {4})});  // one for all examples
  refuses<errors::ShapeError>("x has 3 examples and the state 2; want equal numbers, or 1\n",
                              [&] { rnn.add_input(ones(cg, Dim({3}, 3))); });
  EXPECT_EQ(rnn.add_input(ones(cg, Dim({3}, 2))).dim().bd, 2U);
  EXPECT_EQ(rnn.add_input(ones(cg, {3})).dim().bd, 2U);
  rnn.start_new_sequence();
  rnn.add_input(ones(cg, Dim({3}, 2)));
  refuses<errors::ShapeError>("x has 3 examples and the state 2; want equal numbers, or 1\n",
                              [&] { rnn.add_input(ones(cg, Dim({3}, 3))); });
  refuses<errors::ShapeError>("x is {3,5}; want {3}\n", [&] { rnn.add_input(ones(cg, {3, 5})); });
  if (has_masks) {
    rnn.set_dropout(0.5F);
    rnn.start_new_sequence();
    rnn.set_dropout_masks(2);
    refuses<errors::ShapeError>(
        "x has 3 examples and the dropout masks 2; want equal numbers, or 1\n",
        [&] { rnn.add_input(ones(cg, Dim({3}, 3))); });
  }
}

/// As in DyNet 2.1. The steps that follow have vectors.
TEST_P(GivenStates, MayBeColumns) {
  start();
  const Expression x = ones(cg, {3});
  std::vector<Expression> mixed = states({4});
  mixed.back() = ones(cg, {4, 1});
  rnn.start_new_sequence(states({4}));
  const Numbers of_vectors = numbers_of(rnn.add_input(x));
  for (const std::vector<Expression>& given : {states({4, 1}), mixed}) {
    rnn.start_new_sequence(given);
    builder_tests::expect_near(numbers_of(rnn.add_input(x)), of_vectors);
    rnn.start_new_sequence();
    rnn.set_s(-1, given);
    builder_tests::expect_near(numbers_of(rnn.add_input(x)), of_vectors);
    for (const Expression& e : rnn.final_s()) {
      EXPECT_EQ(e.dim(), Dim({4}));
    }
  }
  const std::vector<Expression> hidden(mixed.end() - 2, mixed.end());
  rnn.start_new_sequence();
  rnn.set_h(-1, hidden);
  const Numbers of_mixed = numbers_of(rnn.add_input(x));
  rnn.set_h(-1, {ones(cg, {4}), ones(cg, {4})});
  builder_tests::expect_near(numbers_of(rnn.add_input(x)), of_mixed);
  const Expression batch = ones(cg, Dim({4, 1}, 2));
  rnn.set_h(-1, {batch, batch});
  EXPECT_EQ(rnn.add_input(x).dim().bd, 2U);
}

TEST_P(GivenStates, OfABuilderWithoutLayersAreRefused) {
  const Owned empty = GetParam().make_empty();
  empty->new_graph(cg);
  empty->start_new_sequence();
  EXPECT_THROW(empty->set_h(-1, {}), errors::StateError);
  EXPECT_THROW(empty->set_s(-1, {}), errors::StateError);
  EXPECT_THROW(empty->start_new_sequence({ones(cg, {4})}), errors::ValueError);
}

}  // namespace
}  // namespace dynet
