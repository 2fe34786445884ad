// A program as users write them: C++17, both namespaces open, literals of any type. Most of the
// test is that it compiles. The values show that overload resolution chose the right functions.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <type_traits>

#include "dynet/cfsm-builder.h"
#include "dynet/dict.h"
#include "dynet/exec.h"
#include "dynet/expr.h"
#include "dynet/gpu-ops.h"
#include "dynet/hsm-builder.h"
#include "dynet/lstm.h"
#include "dynet/nodes.h"
#include "dynet/rnn.h"
#include "dynet/tasks.h"
#include "dynet/timing.h"
#include "dynet/treelstm.h"

using namespace std;    // NOLINT(google-build-using-namespace): as programs do
using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do

static_assert(__cplusplus < 202002L, "this file is compiled as C++17");

// Worse matches than the library's functions, visible beside them everywhere.
template <class T>
T square(const T& x) {
  return x * x;
}

namespace {

class Cpp17 : public testing::Test {
 protected:
  Cpp17()
      : p(model.add_parameters({4, 4})),
        lp(model.add_lookup_parameters(5, {4})),
        x(input(cg, {4}, {0.1F, 0.2F, 0.3F, 0.4F})),
        y(input(cg, {4}, {1.F, 2.F, 3.F, 4.F})),
        v{x, y} {}
  /// Compares values, one after the other.
  static void expect_equal(const Expression& a, const Expression& b) {
    EXPECT_EQ(a.dim(), b.dim());
    EXPECT_EQ(as_vector(a.value()), as_vector(b.value()));
  }
  ParameterCollection model;
  Parameter p;
  LookupParameter lp;
  ComputationGraph cg;
  Expression x;
  Expression y;
  vector<Expression> v;
};

// Programs write one index in braces, and clang warns of that.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wbraced-scalar-init"
#endif
TEST_F(Cpp17, IndicesOfAnyType) {
  const int i = 2;
  const unsigned u = 2;
  const size_t s = 2;
  const vector<unsigned> us{2};
  const Expression picked = pick(x, u);
  for (const Expression& e : {pick(x, 2), pick(x, i), pick(x, s), pick(x, &u), pick(x, us),
                              pick(x, &us), pick(x, u, 0), pick(x, {2U}), pick(x, us.size() + 1)}) {
    expect_equal(e, picked);
  }
  expect_equal(pick(x, 0), pick(x, 0U));
  const Expression row = lookup(cg, lp, u);
  for (const Expression& e : {lookup(cg, lp, 2), lookup(cg, lp, i), lookup(cg, lp, &u),
                              lookup(cg, lp, us), lookup(cg, lp, &us), const_lookup(cg, lp, i)}) {
    expect_equal(e, row);
  }
  expect_equal(lookup(cg, lp, 0), lookup(cg, lp, 0U));
  expect_equal(pickneglogsoftmax(x, 0), pickneglogsoftmax(x, vector<unsigned>{0}));
  EXPECT_EQ(pickneglogsoftmax(parameter(cg, p) * x, us).dim(), Dim({1}));
  EXPECT_EQ(pick_batch_elem(lookup(cg, lp, {1U, 2U}), 1).dim(), Dim({4}));
}

TEST_F(Cpp17, InputsAndShapesInBraces) {
  const float f = 2;
  const vector<float> fs{1.F, 2.F};
  for (const Expression& e : {input(cg, 2), input(cg, 2.0), input(cg, f), input(cg, &f)}) {
    EXPECT_EQ(as_scalar(e.value()), 2.0F);
  }
  expect_equal(input(cg, {2}, fs), input(cg, {2}, &fs));
  expect_equal(input(cg, {4}, {0U, 2U}, {1.F, 2.F}), input(cg, {4}, {1.F, 0.F, 2.F, 0.F}));
  EXPECT_EQ(reshape(x, {2, 2}).dim(), Dim({2, 2}));
  EXPECT_EQ(reshape(x, Dim({2}, 2)).dim(), Dim({2}, 2));
  EXPECT_EQ(transpose(parameter(cg, p), {1, 0}).dim(), Dim({4, 4}));
  EXPECT_EQ(zeros(cg, {2, 3}).dim(), Dim({2, 3}));
  EXPECT_EQ(random_uniform(cg, {3}, -1, 1, default_device).dim(), Dim({3}));
  EXPECT_EQ(random_normal(cg, {3}).dim(), Dim({3}));
  EXPECT_EQ(random_bernoulli(cg, Dim({3}, 2), 0.5, 2.0).dim(), Dim({3}, 2));
}

TEST_F(Cpp17, NamesThatStdAndTemplatesHaveToo) {
  expect_equal(max(x, y), y);
  expect_equal(max({x, y}), y);
  expect_equal(max(v), y);
  expect_equal(square(x), cmult(x, x));  // not the template's matrix product
  expect_equal(exp(log(y)), exp(log(y)));
  expect_equal(sqrt(square(y)), y);
  expect_equal(dynet::expr::tanh(x), tanh(x));
  vector<Expression> out;
  transform(v.begin(), v.end(), back_inserter(out), [](const Expression& e) { return tanh(e); });
  expect_equal(accumulate(out.begin() + 1, out.end(), out[0]), tanh(x) + tanh(y));
}

TEST_F(Cpp17, ListsAttributesAndOperators) {
  expect_equal(sum({x, y}), sum(v));
  expect_equal(average({x, y}), 0.5 * (x + y));
  expect_equal(concatenate({x, y}, 1), concatenate_cols(v));
  expect_equal(concatenate({x, y}), concatenate(v));
  const Expression w = parameter(cg, p);
  expect_equal(affine_transform({x, w, y}), affine_transform(vector<Expression>{x, w, y}));
  expect_equal(elu(x), elu(x, 1));
  expect_equal(silu(x), silu(x, 1.0));
  expect_equal(log_softmax(x), log_softmax(x, 0));
  expect_equal(1 - x / 2 + 3, 4.0F + -(x * 0.5));
  expect_equal(pick_range(x, 1, 3), pickrange(x, 1, 3));
  expect_equal(dropout(x, 0), x);
  expect_equal(noise(x, 0), x);
  expect_equal(nobackprop(x), x);
  EXPECT_EQ(squared_norm(x - y).dim(), Dim({1}));
  EXPECT_EQ(dot_product(x, y).dim(), squared_distance(x, y).dim());
  EXPECT_EQ(sum_batches(sum_elems(concatenate_to_batch({x, y}))).dim(), Dim({1}));
}

TEST_F(Cpp17, BuildersByTheirNames) {
  LSTMBuilder lstm(1, 4, 3, model);
  RNNBuilder& rnn = lstm;
  rnn.new_graph(cg);
  rnn.start_new_sequence();
  RNNPointer before = rnn.state();
  EXPECT_EQ(rnn.add_input(before, x).dim(), Dim({3}));
  RNNPointer now = rnn.state();
  swap(before, now);
  EXPECT_EQ(before, 0);
  static_assert(is_same_v<LSTMBuilder, CoupledLSTMBuilder>, "no -DDYNET_LSTM_VANILLA here");
}

TEST_F(Cpp17, TasksWithoutCoroutines) {
  vector<TaskStep> tasks;
  vector<int> turns(2);
  tasks.reserve(turns.size());
  for (int& count : turns) {
    tasks.emplace_back([&, asked = vector<Expression>{x}]() mutable {
      asked[0] = asked[0] * 0.5;
      ++count;
      const int last = &count == turns.data() ? 1 : 3;
      return count > last ? vector<Expression>{} : asked;
    });
  }
  run_together(cg, tasks);
  EXPECT_EQ(turns, (vector<int>{2, 4}));
  vector<exception_ptr> failures;
  run_together(cg, {[]() -> vector<Expression> { throw 1; }, tasks[0]}, &failures);
  EXPECT_TRUE(failures.at(0) != nullptr && failures.at(1) == nullptr);
  compute_together({x, y});
}

TEST_F(Cpp17, SoftmaxesByTheirNames) {
  StandardSoftmaxBuilder standard(4, 5, model);
  SoftmaxBuilder& softmax = standard;
  softmax.new_graph(cg);
  const int i = 2;
  const Expression loss = softmax.neg_log_softmax(x, 2);
  for (const Expression& e : {softmax.neg_log_softmax(x, i), softmax.neg_log_softmax(x, 2U),
                              softmax.neg_log_softmax(x, vector<unsigned>{2})}) {
    expect_equal(e, loss);
  }
  Parameter p_w;
  Parameter p_b;
  p_w = model.add_parameters({5, 4});
  p_b = model.add_parameters({5});
  StandardSoftmaxBuilder own(p_w, p_b);
  own.new_graph(cg);
  EXPECT_EQ(own.full_logits(x).dim(), Dim({5}));
  const Expression columns = own.full_logits(concatenate_cols({x, y, x}));
  EXPECT_EQ(columns.dim(), Dim({5, 3}));
  expect_equal(pick(columns, 1, 1), own.full_logits(y));
  StandardSoftmaxBuilder own_without_bias(p_w);
  own_without_bias.new_graph(cg);
  EXPECT_EQ(own_without_bias.full_log_distribution(x).dim(), Dim({5}));
  Cluster top;
  Cluster* child = top.add_child(1);
  child->add_word(0);
  EXPECT_EQ(top.num_children(), 1U);
}

}  // namespace
