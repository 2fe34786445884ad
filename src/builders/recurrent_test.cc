// Properties of every recurrent builder: its formula, states as values and as steps of a tree,
// dropout masks, sharing, errors, and the parameters in model files.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "recurrent_kinds.h"

namespace dynet {
namespace {

using builder_tests::expect_near;
using builder_tests::Kind;
using builder_tests::kinds;
using builder_tests::Layers;
using builder_tests::Masks;
using builder_tests::names_of;
using builder_tests::Numbers;
using builder_tests::numbers_of;
using builder_tests::Owned;
using builder_tests::sample;
using builder_tests::sample_input;

class Recurrent : public builder_tests::RecurrentTest {};

INSTANTIATE_TEST_SUITE_P(Kinds, Recurrent, testing::ValuesIn(kinds()),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_P(Recurrent, FollowsTheFormula) {
  start();
  const Layers s1 = step(rnn, sample(0), {});
  const Layers s2 = step(rnn, sample(1), s1);
  expect_near(numbers_of(rnn.add_input(in(sample(0)))), output(rnn, s1));
  expect_near(numbers_of(rnn.add_input(in(sample(1)))), output(rnn, s2));
  expect_near(numbers_of(rnn.back()), output(rnn, s2));
  expect_state(rnn.final_s(), s2);
  expect_state(rnn.get_s(0), s1);
  ASSERT_EQ(rnn.final_h().size(), 2U);
  expect_near(numbers_of(rnn.final_h()[0]), s2[0].h);
  expect_near(numbers_of(rnn.get_h(0)[0]), s1[0].h);
  EXPECT_EQ(rnn.num_h0_components(), has_cells ? 4U : 2U);
}

/// Such columns come from select_cols(e, {0}), for example.
TEST_P(Recurrent, ReadsOneColumnAsAVector) {
  start();
  const Layers s1 = step(rnn, sample(0), {});
  const Expression x = reshape(in(sample(0)), {3, 1});
  const Expression y = parameter(cg, model.add_parameters({3, 1}, ParameterInitConst(0.5F)));
  expect_near(numbers_of(rnn.add_input(x)), output(rnn, s1));
  expect_near(numbers_of(rnn.add_input(y)), output(rnn, step(rnn, Numbers(3, 0.5), s1)));
  cg.backward(squared_norm(rnn.back()), true);
  const Numbers of_column = numbers_of(y.gradient());
  const Expression z = parameter(cg, model.add_parameters({3}, ParameterInitConst(0.5F)));
  rnn.add_input(0, z);
  cg.backward(squared_norm(rnn.back()), true);
  expect_near(of_column, numbers_of(z.gradient()));
}

TEST_P(Recurrent, TakesAnInitialState) {
  start();
  const Layers s0 = some_state();
  rnn.start_new_sequence(whole(s0));
  expect_near(numbers_of(rnn.back()), output(rnn, s0));
  expect_state(rnn.final_s(), s0);
  expect_state(rnn.get_s(-1), s0);
  expect_near(numbers_of(rnn.add_input(in(sample(0)))), output(rnn, step(rnn, sample(0), s0)));
  EXPECT_THROW(rnn.start_new_sequence({in(s0[0].h)}), errors::ValueError);
  EXPECT_EQ(rnn.state(), 0);  // as before
  rnn.start_new_sequence();
  expect_near(numbers_of(rnn.add_input(in(sample(0)))), output(rnn, step(rnn, sample(0), {})));
}

TEST_P(Recurrent, StepsFormATree) {
  start();
  EXPECT_THROW(static_cast<void>(rnn.back()), errors::StateError);
  EXPECT_THROW(rnn.rewind_one_step(), errors::StateError);
  EXPECT_TRUE(rnn.final_h().empty());
  EXPECT_TRUE(rnn.get_s(-1).empty());
  const Layers s0 = step(rnn, sample(0), {});
  const Layers s2 = step(rnn, sample(2), s0);
  const Expression first = rnn.add_input(in(sample(0)));
  rnn.add_input(in(sample(1)));
  expect_near(numbers_of(rnn.add_input(0, in(sample(2)))), output(rnn, s2));
  EXPECT_EQ(rnn.state(), 2);
  EXPECT_EQ(rnn.get_head(2), 0);
  EXPECT_EQ(rnn.get_output(0).i, first.i);
  rnn.rewind_one_step();
  EXPECT_EQ(rnn.state(), 0);
  expect_near(numbers_of(rnn.back()), output(rnn, s0));
  expect_state(rnn.final_s(), s2);  // of the last step
  expect_near(numbers_of(rnn.add_input(in(sample(3)))), output(rnn, step(rnn, sample(3), s0)));
  EXPECT_EQ(rnn.get_head(3), 0);
  expect_near(numbers_of(rnn.add_input(-1, in(sample(2)))), output(rnn, step(rnn, sample(2), {})));
  EXPECT_EQ(rnn.get_head(4), -1);
  for (const int i : {-2, 5}) {
    EXPECT_THROW(static_cast<void>(rnn.get_h(i)), errors::IndexError);
    EXPECT_THROW(static_cast<void>(rnn.get_s(i)), errors::IndexError);
    EXPECT_THROW(static_cast<void>(rnn.get_head(i)), errors::IndexError);
    EXPECT_THROW(rnn.add_input(i, first), errors::IndexError);
    EXPECT_THROW(rnn.set_h(i, {first, first}), errors::IndexError);
  }
  EXPECT_THROW(static_cast<void>(rnn.get_head(-1)), errors::IndexError);
  EXPECT_THROW(static_cast<void>(rnn.get_output(-1)), errors::IndexError);
}

TEST_P(Recurrent, SetHKeepsTheCellsOfTheStepItFollows) {
  start();
  Layers now = step(rnn, sample(0), {});
  rnn.add_input(in(sample(0)));
  rnn.add_input(in(sample(1)));  // not the predecessor below
  now[0].h = sample(6, 4);
  now[1].h = sample(7, 4);
  expect_near(numbers_of(rnn.set_h(0, hidden_of(now))), output(rnn, now));
  EXPECT_EQ(rnn.get_head(rnn.state()), 0);
  expect_near(numbers_of(rnn.back()), output(rnn, now));
  expect_state(rnn.final_s(), now);
  expect_near(numbers_of(rnn.add_input(in(sample(2)))), output(rnn, step(rnn, sample(2), now)));
  rnn.set_h(-1, hidden_of(now));  // cells are zeros
  for (auto& layer : now) {
    layer.c.assign(has_cells ? 4 : 0, 0.0);
  }
  expect_state(rnn.final_s(), now);
  const RNNPointer before = rnn.state();
  EXPECT_THROW(rnn.set_h(0, {}), errors::ValueError);
  EXPECT_THROW(rnn.set_h(0), errors::ValueError);
  EXPECT_EQ(rnn.state(), before);
}

TEST_P(Recurrent, SetSTakesAllOrCells) {
  start();
  const Layers s1 = step(rnn, sample(0), {});
  rnn.add_input(in(sample(0)));
  rnn.add_input(in(sample(1)));
  const Layers given = some_state();
  expect_near(numbers_of(rnn.set_s(0, whole(given))), output(rnn, given));
  expect_state(rnn.final_s(), given);
  expect_near(numbers_of(rnn.add_input(in(sample(2)))), output(rnn, step(rnn, sample(2), given)));
  EXPECT_THROW(rnn.set_s(0, {in(sample(0, 4))}), errors::ValueError);
  EXPECT_THROW(rnn.set_s(0, std::vector<Expression>(3, in(sample(0, 4)))), errors::ValueError);
  if (!has_cells) {
    return;
  }
  const Layers mixed{{given[0].c, s1[0].h}, {given[1].c, s1[1].h}};
  const auto cells = [&] { return std::vector<Expression>{in(given[0].c), in(given[1].c)}; };
  expect_near(numbers_of(rnn.set_s(0, cells())), output(rnn, mixed));
  expect_near(numbers_of(rnn.add_input(in(sample(2)))), output(rnn, step(rnn, sample(2), mixed)));
  rnn.set_s(-1, cells());
  expect_state(rnn.final_s(), {{given[0].c, Numbers(4, 0.0)}, {given[1].c, Numbers(4, 0.0)}});
}

TEST_P(Recurrent, TransduceIsAddInputStepByStep) {
  start();
  std::vector<Expression> xs;
  std::vector<Numbers> by_steps;
  for (int t = 0; t < 3; ++t) {
    xs.push_back(in(sample(t)));
    by_steps.push_back(numbers_of(rnn.add_input(xs.back())));
  }
  rnn.start_new_sequence();
  const std::vector<Expression> first = rnn.transduce({xs[0]});
  const std::vector<Expression> rest = rnn.transduce({xs[1], xs[2]});  // continues the sequence
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(numbers_of(first[0]), by_steps[0]);
  EXPECT_EQ(numbers_of(rest[0]), by_steps[1]);
  EXPECT_EQ(numbers_of(rest[1]), by_steps[2]);
  EXPECT_EQ(numbers_of(rnn.transduce(0, {xs[1]})[0]), by_steps[1]);
  EXPECT_EQ(rnn.state(), 3);
  EXPECT_TRUE(rnn.transduce({}).empty());
}

TEST_P(Recurrent, CopiesShareParametersAndHaveStepsOfTheirOwn) {
  const Owned other = GetParam().make(2, 3, 4, model);
  const Parameter before = other->params[0][0];
  other->copy(rnn);
  EXPECT_EQ(model.parameters_list().size(), 2 * rnn.get_parameter_collection().size());
  for (std::size_t i = 0; i < rnn.params[1].size(); ++i) {
    EXPECT_EQ(other->params[1][i].p, rnn.params[1][i].p);
  }
  EXPECT_NE(other->params[0][0].p, before.p);
  start();
  const Owned first = GetParam().make_empty();  // assigned later
  const Owned second = GetParam().make_empty();
  GetParam().assign(rnn, *first);
  GetParam().assign(*other, *second);
  second->new_graph(cg);
  second->start_new_sequence();
  const Numbers here = numbers_of(first->add_input(in(sample(0))));
  EXPECT_EQ(numbers_of(second->add_input(in(sample(0)))), here);
  EXPECT_EQ(numbers_of(rnn.add_input(in(sample(0)))), here);
  rnn.add_input(in(sample(0)));
  EXPECT_EQ(rnn.state(), 1);
  EXPECT_EQ(first->state(), 0);
}

TEST_P(Recurrent, OnlyOneOfTheSameKindAndSizesIsCopied) {
  const Parameter before = rnn.params[0][0];
  EXPECT_THROW(rnn.copy(*GetParam().make(1, 3, 4, model)), errors::ValueError);
  EXPECT_THROW(rnn.copy(*GetParam().make(2, 3, 5, model)), errors::ValueError);
  for (const Kind& other : kinds()) {
    if (std::string(other.name) != GetParam().name) {
      EXPECT_THROW(rnn.copy(*other.make(2, 3, 4, model)), errors::ValueError) << other.name;
    }
  }
  EXPECT_EQ(rnn.params[0][0].p, before.p);
}

TEST_P(Recurrent, MasksAreSharedByTheStepsOfASequence) {
  if (has_masks) {
    EXPECT_THROW(rnn.set_dropout_masks(), errors::StateError);
    {
      ComputationGraph gone;
      rnn.new_graph(gone);
    }
    try {
      rnn.set_dropout_masks();
      ADD_FAILURE() << "no error";
    } catch (const errors::StaleExpression& error) {
      EXPECT_NE(std::string(error.what()).find("call new_graph first"), std::string::npos);
    }
    rnn.set_dropout(0.5F);
    EXPECT_THROW(rnn.set_dropout(2.0F), std::invalid_argument);
    EXPECT_THROW(rnn.set_dropout(-0.1F), errors::ValueError);
    start();
    const Layers s1_whole = step(rnn, sample(0), {});
    const Expression first = rnn.add_input(in(sample(0)));
    const auto drawn = rnn.masks;
    const Expression second = rnn.add_input(in(sample(1)));
    ASSERT_EQ(drawn.size(), 2U);
    Masks masks(2);
    for (std::size_t layer = 0; layer < 2; ++layer) {
      for (std::size_t i = 0; i < drawn[layer].size(); ++i) {
        EXPECT_EQ(drawn[layer][i].i, rnn.masks[layer][i].i);
        masks[layer].push_back(numbers_of(drawn[layer][i]));
        for (const double m : masks[layer].back()) {
          EXPECT_TRUE(m == 0.0 || m == 2.0);
        }
      }
    }
    EXPECT_EQ(drawn[0][0].dim(), Dim({3}));
    EXPECT_EQ(drawn[1][1].dim(), Dim({4}));
    const Layers s1 = step(rnn, sample(0), {}, masks);
    expect_near(numbers_of(first), output(rnn, s1));
    expect_near(numbers_of(second), output(rnn, step(rnn, sample(1), s1, masks)));
    rnn.start_new_sequence();
    rnn.set_dropout_masks(3);
    EXPECT_NE(drawn[0][0].i, rnn.masks[0][0].i);
    EXPECT_EQ(rnn.masks[0][0].dim(), Dim({3}, 3));
    const VariableIndex given = rnn.masks[0][0].i;
    EXPECT_EQ(rnn.add_input(in(sample(0))).dim().bd, 3U);
    EXPECT_EQ(rnn.masks[0][0].i, given);
    rnn.disable_dropout();
    rnn.start_new_sequence();
    expect_near(numbers_of(rnn.add_input(in(sample(0)))), output(rnn, s1_whole));
  }
}

TEST_P(Recurrent, RunsMinibatches) {
  rnn.set_dropout(0.5F);  // masks for each example
  start();
  const std::vector<float> both = sample_input(6, 0.0);
  const Expression x = input(cg, Dim({3}, 2), both);
  const unsigned rows = GetParam().name == std::string("Deep") ? 8 : 4;
  EXPECT_EQ(rnn.add_input(x).dim(), Dim({rows}, 2));
  if (has_masks) {
    EXPECT_EQ(rnn.masks[1][1].dim(), Dim({4}, 2));
  }
  rnn.disable_dropout();
  rnn.start_new_sequence();
  const Numbers got = numbers_of(rnn.add_input(x));
  const Layers second = step(rnn, Numbers(both.begin() + 3, both.end()), {});
  expect_near(Numbers(got.begin() + rows, got.end()), output(rnn, second));
  EXPECT_EQ(rnn.add_input(x).dim(), Dim({rows}, 2));
}

TEST_P(Recurrent, CallsOutOfOrderAndGraphsThatAreGone) {
  EXPECT_THROW(rnn.add_input(in(sample(0))), errors::StateError);
  EXPECT_THROW(rnn.start_new_sequence(), std::invalid_argument);
  EXPECT_THROW(rnn.set_h(-1, {}), errors::StateError);
  {
    ComputationGraph other;
    rnn.new_graph(other, false);
    EXPECT_THROW(rnn.add_input(ones(other, {3})), errors::StateError);
    rnn.start_new_sequence();
    rnn.add_input(ones(other, {3}));
    other.backward(squared_norm(rnn.add_input(ones(other, {3}))));
    for (const auto& p : model.parameters_list()) {
      EXPECT_FALSE(p->has_grad());  // update = false
    }
    EXPECT_THROW(rnn.add_input(ones(cg, {3})), errors::GraphError);
  }
  EXPECT_THROW(rnn.add_input(ones(cg, {3})), errors::StaleExpression);
  start();
  rnn.add_input(ones(cg, {3}));
  cg.backward(squared_norm(rnn.add_input(ones(cg, {3}))));
  EXPECT_TRUE(rnn.params[0][0].p->has_grad());
  const Owned empty = GetParam().make_empty();
  EXPECT_EQ(empty->num_h0_components(), 0U);
  empty->new_graph(cg);
  empty->start_new_sequence();
  EXPECT_THROW(static_cast<void>(empty->back()), errors::StateError);
}

TEST_P(Recurrent, WrongInputNamesTheCallersLineAndLeavesTheBuilderUsable) {
  start();
  rnn.add_input(in(sample(0)));
  const auto wrong = [&](auto call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const errors::ShapeError& e) {
      const std::string text = e.what();
      EXPECT_EQ(text.rfind(rnn.name(), 0), 0U) << text;
      EXPECT_NE(text.find(": x is {5}; want {3}\n"), std::string::npos) << text;
      EXPECT_NE(text.find("recurrent_test.cc"), std::string::npos) << text;
    }
    EXPECT_EQ(rnn.state(), 0);
  };
  wrong([&] { rnn.add_input(in(sample(0, 5))); });
  wrong([&] { rnn.transduce({in(sample(0, 5))}); });
  const Layers s1 = step(rnn, sample(0), {});
  expect_near(numbers_of(rnn.add_input(in(sample(1)))), output(rnn, step(rnn, sample(1), s1)));
}

TEST_P(Recurrent, NamesShapesAndOrderOfParameters) {
  ParameterCollection fresh;
  const Owned two_layers = GetParam().make(2, 3, 4, fresh);
  const Owned one_layer = GetParam().make(1, 3, 4, fresh);
  std::vector<Dim> shapes = GetParam().shapes(3);
  const std::size_t each = shapes.size();
  const std::vector<Dim> above = GetParam().shapes(4);
  shapes.insert(shapes.end(), above.begin(), above.end());
  const std::size_t first = shapes.size();
  const std::string prefix = std::string("/") + GetParam().collection;
  std::vector<std::string> names;
  names.reserve(first + each);
  for (std::size_t i = 0; i < first; ++i) {
    names.push_back(prefix + "/_" + std::to_string(i));
  }
  for (std::size_t i = 0; i < each; ++i) {
    names.push_back(prefix + "_1/_" + std::to_string(i));
  }
  EXPECT_EQ(names_of(fresh), names);
  const auto storages = fresh.parameters_list();
  for (std::size_t i = 0; i < first; ++i) {
    EXPECT_EQ(storages[i]->dim, shapes[i]) << i;
    const Numbers values = numbers_of(Tensor(storages[i]->values));
    if (shapes[i].nd == 1) {
      EXPECT_EQ(values, Numbers(shapes[i].size(), 0.0)) << i;
    }
  }
}

}  // namespace
}  // namespace dynet
