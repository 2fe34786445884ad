// What holds for every recurrent builder: its formula, states as values and as steps of a tree,
// dropout masks, sharing, errors, and the parameters that model files have.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "recurrent_oracle.h"

namespace dynet {
namespace {

using builder_tests::expect_near;
using builder_tests::Layers;
using builder_tests::Masks;
using builder_tests::names_of;
using builder_tests::Numbers;
using builder_tests::numbers_of;
using builder_tests::output;
using builder_tests::sample_input;
using builder_tests::set_values;
using builder_tests::step;

Numbers sample(double start, std::size_t n = 3) {
  const auto v = sample_input(n, start);
  return {v.begin(), v.end()};
}

/// Two layers of four over inputs of three.
template <class Builder>
class Recurrent : public testing::Test {
 protected:
  static constexpr bool kHasMasks = !std::is_same_v<Builder, GRUBuilder>;

  Recurrent() : builder(2, 3, 4, model), has_cells(builder.num_h0_components() == 4) {
    set_values(model);
  }
  Expression in(const Numbers& x) {
    return input(cg, {static_cast<unsigned>(x.size())}, std::vector<float>(x.begin(), x.end()));
  }
  void start() {
    builder.new_graph(cg);
    builder.start_new_sequence();
  }
  [[nodiscard]] Layers some_state() const {
    Layers s{{{}, sample(4, 4)}, {{}, sample(5, 4)}};
    if (has_cells) {
      s[0].c = sample(2, 4);
      s[1].c = sample(3, 4);
    }
    return s;
  }
  std::vector<Expression> hidden_of(const Layers& s) { return {in(s[0].h), in(s[1].h)}; }
  std::vector<Expression> whole(const Layers& s) {
    if (!has_cells) {
      return hidden_of(s);
    }
    return {in(s[0].c), in(s[1].c), in(s[0].h), in(s[1].h)};
  }
  static void expect_state(const std::vector<Expression>& got, const Layers& want) {
    const bool cells = !want[0].c.empty();
    ASSERT_EQ(got.size(), cells ? 4U : 2U);
    for (std::size_t layer = 0; layer < 2; ++layer) {
      expect_near(numbers_of(got[got.size() - 2 + layer]), want[layer].h);
      if (cells) {
        expect_near(numbers_of(got[layer]), want[layer].c);
      }
    }
  }

  ParameterCollection model;
  Builder builder;
  ComputationGraph cg;
  bool has_cells;
};
using Builders =
    testing::Types<SimpleRNNBuilder, GRUBuilder, VanillaLSTMBuilder, SparseLSTMBuilder,
                   CompactVanillaLSTMBuilder, CoupledLSTMBuilder, FastLSTMBuilder, DeepLSTMBuilder>;
TYPED_TEST_SUITE(Recurrent, Builders);

TYPED_TEST(Recurrent, FollowsTheFormula) {
  auto& rnn = this->builder;
  this->start();
  const Layers s1 = step(rnn, sample(0), {});
  const Layers s2 = step(rnn, sample(1), s1);
  expect_near(numbers_of(rnn.add_input(this->in(sample(0)))), output(rnn, s1));
  expect_near(numbers_of(rnn.add_input(this->in(sample(1)))), output(rnn, s2));
  expect_near(numbers_of(rnn.back()), output(rnn, s2));
  this->expect_state(rnn.final_s(), s2);
  this->expect_state(rnn.get_s(0), s1);
  ASSERT_EQ(rnn.final_h().size(), 2U);
  expect_near(numbers_of(rnn.final_h()[0]), s2[0].h);
  expect_near(numbers_of(rnn.get_h(0)[0]), s1[0].h);
  EXPECT_EQ(rnn.num_h0_components(), this->has_cells ? 4U : 2U);
}

TYPED_TEST(Recurrent, TakesAnInitialState) {
  auto& rnn = this->builder;
  this->start();
  const Layers s0 = this->some_state();
  rnn.start_new_sequence(this->whole(s0));
  expect_near(numbers_of(rnn.back()), output(rnn, s0));
  this->expect_state(rnn.final_s(), s0);
  this->expect_state(rnn.get_s(-1), s0);
  expect_near(numbers_of(rnn.add_input(this->in(sample(0)))),
              output(rnn, step(rnn, sample(0), s0)));
  EXPECT_THROW(rnn.start_new_sequence({this->in(s0[0].h)}), ValueError);
  EXPECT_EQ(rnn.state(), 0);  // as it was
  rnn.start_new_sequence();
  expect_near(numbers_of(rnn.add_input(this->in(sample(0)))),
              output(rnn, step(rnn, sample(0), {})));
}

TYPED_TEST(Recurrent, StepsFormATree) {
  auto& rnn = this->builder;
  this->start();
  EXPECT_THROW(static_cast<void>(rnn.back()), StateError);
  EXPECT_THROW(rnn.rewind_one_step(), StateError);
  EXPECT_TRUE(rnn.final_h().empty());
  EXPECT_TRUE(rnn.get_s(-1).empty());
  const Layers s0 = step(rnn, sample(0), {});
  const Layers s2 = step(rnn, sample(2), s0);
  const Expression first = rnn.add_input(this->in(sample(0)));
  rnn.add_input(this->in(sample(1)));
  expect_near(numbers_of(rnn.add_input(0, this->in(sample(2)))), output(rnn, s2));
  EXPECT_EQ(rnn.state(), 2);
  EXPECT_EQ(rnn.get_head(2), 0);
  EXPECT_EQ(rnn.get_output(0).i, first.i);
  rnn.rewind_one_step();
  EXPECT_EQ(rnn.state(), 0);
  expect_near(numbers_of(rnn.back()), output(rnn, s0));
  this->expect_state(rnn.final_s(), s2);  // of the step added last
  expect_near(numbers_of(rnn.add_input(this->in(sample(3)))),
              output(rnn, step(rnn, sample(3), s0)));
  EXPECT_EQ(rnn.get_head(3), 0);
  expect_near(numbers_of(rnn.add_input(-1, this->in(sample(2)))),
              output(rnn, step(rnn, sample(2), {})));
  EXPECT_EQ(rnn.get_head(4), -1);
  for (const int i : {-2, 5}) {
    EXPECT_THROW(static_cast<void>(rnn.get_h(i)), IndexError);
    EXPECT_THROW(static_cast<void>(rnn.get_s(i)), IndexError);
    EXPECT_THROW(static_cast<void>(rnn.get_head(i)), IndexError);
    EXPECT_THROW(rnn.add_input(i, first), IndexError);
    EXPECT_THROW(rnn.set_h(i, {first, first}), IndexError);
  }
  EXPECT_THROW(static_cast<void>(rnn.get_head(-1)), IndexError);
  EXPECT_THROW(static_cast<void>(rnn.get_output(-1)), IndexError);
}

TYPED_TEST(Recurrent, SetHKeepsTheCellsOfTheStepItFollows) {
  auto& rnn = this->builder;
  this->start();
  Layers now = step(rnn, sample(0), {});
  rnn.add_input(this->in(sample(0)));
  rnn.add_input(this->in(sample(1)));  // not the predecessor below
  now[0].h = sample(6, 4);
  now[1].h = sample(7, 4);
  expect_near(numbers_of(rnn.set_h(0, this->hidden_of(now))), output(rnn, now));
  EXPECT_EQ(rnn.get_head(rnn.state()), 0);
  expect_near(numbers_of(rnn.back()), output(rnn, now));
  this->expect_state(rnn.final_s(), now);
  expect_near(numbers_of(rnn.add_input(this->in(sample(2)))),
              output(rnn, step(rnn, sample(2), now)));
  rnn.set_h(-1, this->hidden_of(now));  // cells are zeros
  for (auto& layer : now) {
    layer.c.assign(this->has_cells ? 4 : 0, 0.0);
  }
  this->expect_state(rnn.final_s(), now);
  const RNNPointer before = rnn.state();
  EXPECT_THROW(rnn.set_h(0, {}), ValueError);
  EXPECT_THROW(rnn.set_h(0), ValueError);
  EXPECT_EQ(rnn.state(), before);
}

TYPED_TEST(Recurrent, SetSTakesAllOrCells) {
  auto& rnn = this->builder;
  this->start();
  const Layers s1 = step(rnn, sample(0), {});
  rnn.add_input(this->in(sample(0)));
  rnn.add_input(this->in(sample(1)));
  const Layers given = this->some_state();
  expect_near(numbers_of(rnn.set_s(0, this->whole(given))), output(rnn, given));
  this->expect_state(rnn.final_s(), given);
  expect_near(numbers_of(rnn.add_input(this->in(sample(2)))),
              output(rnn, step(rnn, sample(2), given)));
  EXPECT_THROW(rnn.set_s(0, {this->in(sample(0, 4))}), ValueError);
  EXPECT_THROW(rnn.set_s(0, std::vector<Expression>(3, this->in(sample(0, 4)))), ValueError);
  if (!this->has_cells) {
    return;
  }
  const Layers mixed{{given[0].c, s1[0].h}, {given[1].c, s1[1].h}};
  const auto cells = [&] {
    return std::vector<Expression>{this->in(given[0].c), this->in(given[1].c)};
  };
  expect_near(numbers_of(rnn.set_s(0, cells())), output(rnn, mixed));
  expect_near(numbers_of(rnn.add_input(this->in(sample(2)))),
              output(rnn, step(rnn, sample(2), mixed)));
  rnn.set_s(-1, cells());
  this->expect_state(rnn.final_s(), {{given[0].c, Numbers(4, 0.0)}, {given[1].c, Numbers(4, 0.0)}});
}

TYPED_TEST(Recurrent, TransduceIsAddInputStepByStep) {
  auto& rnn = this->builder;
  this->start();
  std::vector<Expression> xs;
  std::vector<Numbers> by_steps;
  for (int t = 0; t < 3; ++t) {
    xs.push_back(this->in(sample(t)));
    by_steps.push_back(numbers_of(rnn.add_input(xs.back())));
  }
  rnn.start_new_sequence();
  const std::vector<Expression> first = rnn.transduce({xs[0]});
  const std::vector<Expression> rest = rnn.transduce({xs[1], xs[2]});  // goes on
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(numbers_of(first[0]), by_steps[0]);
  EXPECT_EQ(numbers_of(rest[0]), by_steps[1]);
  EXPECT_EQ(numbers_of(rest[1]), by_steps[2]);
  EXPECT_EQ(numbers_of(rnn.transduce(0, {xs[1]})[0]), by_steps[1]);
  EXPECT_EQ(rnn.state(), 3);
  EXPECT_TRUE(rnn.transduce({}).empty());
}

TYPED_TEST(Recurrent, CopiesShareParametersAndHaveStepsOfTheirOwn) {
  auto& rnn = this->builder;
  TypeParam other(2, 3, 4, this->model);
  const Parameter before = other.params[0][0];
  other.copy(rnn);
  EXPECT_EQ(this->model.parameters_list().size(), 2 * rnn.get_parameter_collection().size());
  for (std::size_t i = 0; i < rnn.params[1].size(); ++i) {
    EXPECT_EQ(other.params[1][i].p, rnn.params[1][i].p);
  }
  EXPECT_NE(other.params[0][0].p, before.p);
  this->start();
  std::vector<TypeParam> stored(2);  // default-constructed, assigned later
  stored[0] = rnn;
  stored[1] = other;
  stored[1].new_graph(this->cg);
  stored[1].start_new_sequence();
  const Numbers here = numbers_of(stored[0].add_input(this->in(sample(0))));
  EXPECT_EQ(numbers_of(stored[1].add_input(this->in(sample(0)))), here);
  EXPECT_EQ(numbers_of(rnn.add_input(this->in(sample(0)))), here);
  rnn.add_input(this->in(sample(0)));
  EXPECT_EQ(rnn.state(), 1);
  EXPECT_EQ(stored[0].state(), 0);
  EXPECT_THROW(TypeParam(1, 3, 4, this->model).copy(rnn), ValueError);
  EXPECT_THROW(TypeParam(2, 3, 5, this->model).copy(rnn), ValueError);
  SimpleRNNBuilder simple(2, 3, 4, this->model);
  GRUBuilder gru(2, 3, 4, this->model);
  EXPECT_THROW(rnn.copy(rnn.num_h0_components() == 2 && gru.params[0].size() == rnn.params[0].size()
                            ? static_cast<const RNNBuilder&>(simple)
                            : gru),
               ValueError);
}

TYPED_TEST(Recurrent, MasksAreSharedByTheStepsOfASequence) {
  if constexpr (TestFixture::kHasMasks) {
    auto& rnn = this->builder;
    EXPECT_THROW(rnn.set_dropout_masks(), StateError);
    rnn.set_dropout(0.5F);
    EXPECT_THROW(rnn.set_dropout(2.0F), std::invalid_argument);
    EXPECT_THROW(rnn.set_dropout(-0.1F), ValueError);
    this->start();
    const Layers s1_whole = step(rnn, sample(0), {});
    const Expression first = rnn.add_input(this->in(sample(0)));
    const auto drawn = rnn.masks;
    const Expression second = rnn.add_input(this->in(sample(1)));
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
    EXPECT_EQ(rnn.add_input(this->in(sample(0))).dim().bd, 3U);
    EXPECT_EQ(rnn.masks[0][0].i, given);
    rnn.disable_dropout();
    rnn.start_new_sequence();
    expect_near(numbers_of(rnn.add_input(this->in(sample(0)))), output(rnn, s1_whole));
  }
}

TYPED_TEST(Recurrent, RunsMinibatches) {
  auto& rnn = this->builder;
  rnn.set_dropout(0.5F);  // masks for each example
  this->start();
  const std::vector<float> both = sample_input(6, 0.0);
  const Expression x = input(this->cg, Dim({3}, 2), both);
  const unsigned rows = std::is_same_v<TypeParam, DeepLSTMBuilder> ? 8 : 4;
  EXPECT_EQ(rnn.add_input(x).dim(), Dim({rows}, 2));
  if constexpr (TestFixture::kHasMasks) {
    EXPECT_EQ(rnn.masks[1][1].dim(), Dim({4}, 2));
  }
  rnn.disable_dropout();
  rnn.start_new_sequence();
  const Numbers got = numbers_of(rnn.add_input(x));
  const Layers second = step(rnn, Numbers(both.begin() + 3, both.end()), {});
  expect_near(Numbers(got.begin() + rows, got.end()), output(rnn, second));
  EXPECT_EQ(rnn.add_input(x).dim(), Dim({rows}, 2));
}

TYPED_TEST(Recurrent, CallsOutOfOrderAndGraphsThatAreGone) {
  auto& rnn = this->builder;
  EXPECT_THROW(rnn.add_input(this->in(sample(0))), StateError);
  EXPECT_THROW(rnn.start_new_sequence(), std::invalid_argument);
  EXPECT_THROW(rnn.set_h(-1, {}), StateError);
  {
    ComputationGraph other;
    rnn.new_graph(other, false);
    EXPECT_THROW(rnn.add_input(ones(other, {3})), StateError);
    rnn.start_new_sequence();
    rnn.add_input(ones(other, {3}));
    other.backward(squared_norm(rnn.add_input(ones(other, {3}))));
    for (const auto& p : this->model.parameters_list()) {
      EXPECT_FALSE(p->has_grad());  // update = false
    }
    EXPECT_THROW(rnn.add_input(ones(this->cg, {3})), GraphError);
  }
  EXPECT_THROW(rnn.add_input(ones(this->cg, {3})), StaleExpression);
  this->start();
  rnn.add_input(ones(this->cg, {3}));
  this->cg.backward(squared_norm(rnn.add_input(ones(this->cg, {3}))));
  EXPECT_TRUE(rnn.params[0][0].p->has_grad());
  TypeParam empty;
  EXPECT_EQ(empty.num_h0_components(), 0U);
  empty.new_graph(this->cg);
  empty.start_new_sequence();
  EXPECT_THROW(static_cast<void>(empty.back()), StateError);
}

TYPED_TEST(Recurrent, WrongInputNamesTheCallersLineAndLeavesTheBuilderUsable) {
  auto& rnn = this->builder;
  this->start();
  rnn.add_input(this->in(sample(0)));
  const auto wrong = [&](auto call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const ShapeError& e) {
      EXPECT_NE(std::string(e.what()).find("recurrent_test.cc"), std::string::npos) << e.what();
    }
    EXPECT_EQ(rnn.state(), 0);
  };
  wrong([&] { rnn.add_input(this->in(sample(0, 5))); });
  wrong([&] { rnn.transduce({this->in(sample(0, 5))}); });
  const Layers s1 = step(rnn, sample(0), {});
  expect_near(numbers_of(rnn.add_input(this->in(sample(1)))),
              output(rnn, step(rnn, sample(1), s1)));
}

/// Shapes of a layer's parameters in the order in which they are made, and their collection.
struct Made {
  const char* collection;
  std::vector<Dim> shapes;
};
Made made(const SimpleRNNBuilder& /*b*/, unsigned in) {
  return {"simple-rnn-builder", {{4, in}, {4, 4}, {4}}};
}
Made made(const GRUBuilder& /*b*/, unsigned in) {
  return {"gru-builder", {{4, in}, {4, 4}, {4}, {4, in}, {4, 4}, {4}, {4, in}, {4, 4}, {4}}};
}
Made made(const VanillaLSTMBuilder& /*b*/, unsigned in) {
  return {"vanilla-lstm-builder", {{16, in}, {16, 4}, {16}}};
}
Made made(const SparseLSTMBuilder& /*b*/, unsigned in) {
  return {"vanilla-lstm-builder", {{16, in}, {16, 4}, {16, in}, {16, 4}, {16}}};
}
Made made(const CompactVanillaLSTMBuilder& /*b*/, unsigned in) {
  return {"compact-vanilla-lstm-builder", {{16, in}, {16, 4}, {16}}};
}
Made made_coupled(const char* collection, unsigned in, unsigned peephole) {
  return {collection,
          {{4, in},
           {4, 4},
           {4, peephole},
           {4},
           {4, in},
           {4, 4},
           {4, peephole},
           {4},
           {4, in},
           {4, 4},
           {4}}};
}
Made made(const CoupledLSTMBuilder& /*b*/, unsigned in) {
  return made_coupled("lstm-builder", in, 4);
}
Made made(const FastLSTMBuilder& /*b*/, unsigned in) {
  return made_coupled("fast-lstm-builder", in, 1);
}
Made made(const DeepLSTMBuilder& /*b*/, unsigned in) {
  return made_coupled("deep-lstm-builder", in == 4 ? 7 : in, 4);
}

TYPED_TEST(Recurrent, NamesShapesAndOrderOfParameters) {
  ParameterCollection fresh;
  const TypeParam rnn(2, 3, 4, fresh);
  const TypeParam second(1, 3, 4, fresh);
  std::vector<std::string> names;
  std::vector<Dim> shapes;
  std::string prefix;
  const auto append = [&](unsigned in) {
    for (const Dim& d : made(rnn, in).shapes) {
      names.push_back(prefix + std::to_string(shapes.size()));
      shapes.push_back(d);
    }
  };
  prefix = std::string("/") + made(rnn, 3).collection + "/_";
  append(3);
  append(4);
  const std::size_t first = shapes.size();
  prefix = std::string("/") + made(rnn, 3).collection + "_1/_";
  for (std::size_t i = 0; i < first / 2; ++i) {
    names.push_back(prefix + std::to_string(i));
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
