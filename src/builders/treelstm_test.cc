#include "dynet/treelstm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "dynet/tree-builders.h"

#include "test_support.h"

namespace dynet {
namespace {

using builder_tests::add_product;
using builder_tests::affine;
using builder_tests::expect_near;
using builder_tests::map;
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

Numbers join(Numbers a, const Numbers& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// `a` holds the pre-activations of i, o, u; `kept` is the sum of the children's kept cells.
State finish(const Numbers& a, Numbers kept) {
  const std::size_t n = kept.size();
  State s;
  for (std::size_t i = 0; i < n; ++i) {
    s.c.push_back(sigma(a[i]) * std::tanh(a[2 * n + i]) + kept[i]);
    s.h.push_back(sigma(a[n + i]) * std::tanh(s.c[i]));
  }
  return s;
}
State word(const BinaryTreeLSTMBuilder& b, const Numbers& x) {
  return finish(affine(numbers_of(b.params[1]), {{&b.params[0], x}}), Numbers(b.hid, 0.0));
}
State join_nodes(const BinaryTreeLSTMBuilder& b, const State& s1, const State& s2) {
  const Numbers f1 = affine(numbers_of(b.params[5]), {{&b.params[3], s1.h}});
  const Numbers f2 = affine(numbers_of(b.params[5]), {{&b.params[4], s2.h}});
  Numbers kept;
  for (std::size_t i = 0; i < b.hid; ++i) {
    kept.push_back(sigma(f1[i]) * s1.c[i] + sigma(f2[i]) * s2.c[i]);
  }
  return finish(affine(numbers_of(b.params[1]), {{&b.params[2], join(s1.h, s2.h)}}), kept);
}

TEST(BinaryTreeLstm, FollowsTheFormulas) {
  ParameterCollection model;
  BinaryTreeLSTMBuilder builder(3, 4, model);
  set_values(model);
  ComputationGraph cg;
  builder.new_graph(cg);
  std::vector<TreeState> words;
  std::vector<State> by_hand;
  for (int i = 0; i < 3; ++i) {
    const auto x = sample_input(3, i);
    words.push_back(builder.add_input(input(cg, {3}, x)));
    by_hand.push_back(word(builder, Numbers(x.begin(), x.end())));
    expect_near(numbers_of(words.back().h), by_hand.back().h);
    expect_near(numbers_of(words.back().c), by_hand.back().c);
  }
  const TreeState top = builder.add_input(builder.add_input(words[0], words[1]), words[2]);
  const State want = join_nodes(builder, join_nodes(builder, by_hand[0], by_hand[1]), by_hand[2]);
  expect_near(numbers_of(top.h), want.h);
  expect_near(numbers_of(top.c), want.c);
}

TEST(BinaryTreeLstm, ParametersAndTheirCount) {
  ParameterCollection model;
  const BinaryTreeLSTMBuilder builder(128, 128, model);
  model.add_parameters({5, 128});
  EXPECT_EQ(model.parameter_count(), 181376U);
  EXPECT_EQ(names_of(model)[0], "/binary-tree-lstm-builder/_0");
  EXPECT_EQ(names_of(model)[5], "/binary-tree-lstm-builder/_5");
  const Dim wanted[] = {Dim({384, 128}), Dim({384}),      Dim({384, 256}),
                        Dim({128, 128}), Dim({128, 128}), Dim({128})};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(builder.params[i].dim(), wanted[i]) << i;
  }
  // Each gate of U is a {128,256} matrix, and has the range of such a matrix.
  double largest = 0.0;
  for (const double v : numbers_of(builder.params[2])) {
    largest = std::max(largest, std::abs(v));
  }
  EXPECT_LE(largest, std::sqrt(6.0 / 384.0));
  EXPECT_GT(largest, 0.99 * std::sqrt(6.0 / 384.0));
  EXPECT_EQ(numbers_of(builder.params[1]), Numbers(384, 0.0));
}

TEST(BinaryTreeLstm, Errors) {
  ParameterCollection model;
  BinaryTreeLSTMBuilder builder(3, 4, model);
  ComputationGraph cg;
  EXPECT_THROW(builder.add_input(ones(cg, {3})), errors::StateError);
  builder.new_graph(cg);
  try {
    builder.add_input(ones(cg, {4}));
    FAIL();
  } catch (const errors::ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("treelstm_test.cc"), std::string::npos) << e.what();
  }
  const TreeState ok = builder.add_input(ones(cg, {3}));
  EXPECT_THROW(builder.add_input(ok, TreeState{}), errors::StaleExpression);
}

/// Both ways to use a builder, over two trees in one list: ((0 1) 3) and a word.
template <class Builder>
void expect_tree_is_its_nodes(Builder& builder, unsigned input_dim) {
  ComputationGraph cg;
  builder.new_graph(cg);
  const auto x = [&](int i) { return input(cg, {input_dim}, sample_input(input_dim, i)); };
  const std::vector<Expression> xs = {x(0), x(1), x(2), x(3)};
  const std::vector<Expression> all =
      builder.transduce(xs, {-1, -1, 1, -1, 2, -1}, {-1, -1, 0, -1, 3, -1});
  std::vector<TreeState> states;
  states.push_back(builder.add_input(xs[0]));
  states.push_back(builder.add_input(xs[1]));
  states.push_back(builder.add_input(states[1], states[0]));
  states.push_back(builder.add_input(xs[2]));
  states.push_back(builder.add_input(states[2], states[3]));
  states.push_back(builder.add_input(xs[3]));
  ASSERT_EQ(all.size(), states.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(numbers_of(all[i]), numbers_of(states[i].h)) << i;
  }
  EXPECT_TRUE(builder.transduce({}, {}, {}).empty());
}

TEST(BinaryTrees, AWholeTreeIsItsNodes) {
  ParameterCollection model;
  BinaryTreeLSTMBuilder lstm(3, 4, model);
  TreeRNNBuilder rnn(3, model);
  expect_tree_is_its_nodes(lstm, 3);
  expect_tree_is_its_nodes(rnn, 3);
}

TEST(BinaryTrees, ListsThatAreNoTreeAddNothing) {
  ParameterCollection model;
  BinaryTreeLSTMBuilder builder(3, 4, model);
  ComputationGraph cg;
  const Expression x = ones(cg, {3});
  EXPECT_THROW(builder.transduce({x}, {-1}, {-1}), errors::StateError);
  builder.new_graph(cg);
  const std::size_t nodes = cg.nodes.size();
  EXPECT_THROW(builder.transduce({x}, {-1}, {-1, -1}), errors::ValueError);
  EXPECT_THROW(builder.transduce({x, x}, {-1}, {-1}), errors::ValueError);
  EXPECT_THROW(builder.transduce({}, {-1}, {-1}), errors::ValueError);
  for (const int child : {-2, -1, 1, 2}) {  // of node 1, which is not a word
    EXPECT_THROW(builder.transduce({x}, {-1, child}, {-1, 0}), errors::IndexError) << child;
    EXPECT_THROW(builder.transduce({x}, {-1, 0}, {-1, child}), errors::IndexError) << child;
  }
  EXPECT_EQ(cg.nodes.size(), nodes);
  try {
    builder.transduce({ones(cg, {4})}, {-1}, {-1});
    FAIL();
  } catch (const errors::ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("treelstm_test.cc"), std::string::npos) << e.what();
  }
  EXPECT_EQ(builder.transduce({x}, {-1, 0}, {-1, 0}).size(), 2U);
}

TEST(BinaryTreeLstm, ConstantParametersGetNoGradient) {
  ParameterCollection model;
  BinaryTreeLSTMBuilder builder(3, 4, model);
  ComputationGraph cg;
  builder.new_graph(cg, false);
  const TreeState s = builder.add_input(ones(cg, {3}));
  cg.backward(squared_norm(builder.add_input(s, s).h));
  EXPECT_FALSE(builder.params[0].p->has_grad());
  cg.clear();
  builder.new_graph(cg);
  const TreeState t = builder.add_input(ones(cg, {3}));
  cg.backward(squared_norm(builder.add_input(t, t).h));
  for (const Parameter& p : builder.params) {
    EXPECT_TRUE(p.p->has_grad());
  }
}

TEST(TreeRnn, FollowsTheFormula) {
  ParameterCollection model;
  TreeRNNBuilder builder(4, model);
  set_values(model);
  EXPECT_EQ(names_of(model), std::vector<std::string>{"/tree-rnn-builder/_0"});
  EXPECT_EQ(builder.params[0].dim(), Dim({4, 8}));
  ComputationGraph cg;
  const auto x = sample_input(4, 0);
  const auto y = sample_input(4, 9);
  EXPECT_THROW(builder.add_input(input(cg, {4}, x)), errors::StateError);
  builder.new_graph(cg);
  const TreeState a = builder.add_input(input(cg, {4}, x));
  const TreeState b = builder.add_input(input(cg, {4}, y));
  EXPECT_EQ(numbers_of(a.h), Numbers(x.begin(), x.end()));
  Numbers want(4, 0.0);
  add_product(numbers_of(builder.params[0]), join({x.begin(), x.end()}, {y.begin(), y.end()}),
              want);
  expect_near(numbers_of(builder.add_input(a, b).h),
              map(want, [](double v) { return std::tanh(v); }));
  EXPECT_THROW(builder.add_input(ones(cg, {5})), errors::ShapeError);
}

}  // namespace
}  // namespace dynet
