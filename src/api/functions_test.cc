// The functions of expr.h: leaves, payload by value and by pointer, errors with the caller's line.

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/ops/activation.h"
#include "dynet/ops/input.h"
#include "dynet/ops/linear.h"
#include "dynet/ops/pick.h"
#include "dynet/ops/random.h"

#include "support/far_device.h"
#include "testing/errors.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Floats = std::vector<float>;
using testing::text_of_error;

Floats value_of(const Expression& e) { return as_vector(e.value()); }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Inputs, ByValueAndByPointer) {
  ComputationGraph cg;
  float s = 2.0F;
  Floats data{1, 2, 3, 4};
  const Expression a = input(cg, 3);
  const Expression b = input(cg, &s);
  const Expression c = input(cg, Dim({2}, 2), data);
  const Expression d = input(cg, {2, 2}, &data);
  s = 5.0F;
  data[0] = 9.0F;
  EXPECT_EQ(value_of(a), Floats{3});
  EXPECT_EQ(value_of(b), Floats{5});
  EXPECT_EQ(value_of(c), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(c.dim(), Dim({2}, 2));
  EXPECT_EQ(value_of(d), (Floats{9, 2, 3, 4}));
  s = 6.0F;
  cg.invalidate();
  EXPECT_EQ(value_of(b), Floats{6});
  EXPECT_EQ(value_of(input(cg, 0)), Floats{0});
}

TEST(Reductions, OverDimensionsAndTheBatch) {
  ComputationGraph cg;
  const Expression x = input(cg, Dim({2, 2}, 2), Floats{1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(value_of(sum_dim(x, {1})), (Floats{4, 6, 12, 14}));
  EXPECT_EQ(value_of(sum_dim(x, {1}, true)), (Floats{16, 20}));
  EXPECT_EQ(value_of(sum_dim(x, {}, true)), (Floats{6, 8, 10, 12}));
  EXPECT_EQ(value_of(mean_dim(x, {0, 1})), (Floats{2.5F, 6.5F}));
  EXPECT_EQ(mean_dim(x, {0, 1}).dim(), Dim({1}, 2));
  EXPECT_EQ(value_of(mean_dim(x, {0, 1}, true)), Floats{4.5F});
  EXPECT_EQ(value_of(mean_dim(x, {0}, true, 2)), (Floats{7, 11}));
  EXPECT_EQ(value_of(moment_dim(x, {0}, 2)), (Floats{2.5F, 12.5F, 30.5F, 56.5F}));
  EXPECT_EQ(value_of(moment_batches(x, 2)), (Floats{13, 20, 29, 40}));
  EXPECT_EQ(value_of(mean_batches(x)), (Floats{3, 4, 5, 6}));
  EXPECT_EQ(value_of(std_batches(x)), (Floats{2, 2, 2, 2}));
  EXPECT_EQ(value_of(std_dim(x, {0})), (Floats{0.5F, 0.5F, 0.5F, 0.5F}));
  EXPECT_FLOAT_EQ(value_of(std_dim(x, {0, 1}, true))[0], std::sqrt(5.25F));
  EXPECT_EQ(value_of(mean_elems(x)), (Floats{2.5F, 6.5F}));
  EXPECT_EQ(value_of(moment_elems(x, 1)), (Floats{2.5F, 6.5F}));
  EXPECT_FLOAT_EQ(value_of(std_elems(x))[1], std::sqrt(1.25F));
  EXPECT_THROW(sum_dim(x, {}), errors::ValueError);
  EXPECT_THROW(sum_dim(x, {2}), errors::ShapeError);
  EXPECT_THROW(mean_dim(x, {0, 0}), errors::ShapeError);
  EXPECT_THROW(moment_dim(x, {0}, 0), errors::ValueError);
}

TEST(Inputs, Sparse) {
  ComputationGraph cg;
  const Expression e = input(cg, Dim({2}, 2), {3U, 0U, 3U}, {1.0F, 2.0F, 4.0F}, 0.5F);
  EXPECT_EQ(value_of(e), (Floats{2, 0.5F, 0.5F, 4}));
  EXPECT_THROW(input(cg, {2}, {0U}, {1.0F, 2.0F}), errors::ValueError);
  EXPECT_THROW(input(cg, {2}, {2U}, {1.0F}), errors::IndexError);
  EXPECT_EQ(value_of(one_hot(cg, 3, 1)), (Floats{0, 1, 0}));
  const Expression batch = one_hot(cg, 2, {1U, 0U, 1U});
  EXPECT_EQ(batch.dim(), Dim({2}, 3));
  EXPECT_EQ(value_of(batch), (Floats{0, 1, 1, 0, 0, 1}));
  EXPECT_THROW(one_hot(cg, 3, 3), errors::IndexError);
  EXPECT_THROW(one_hot(cg, 3, std::vector<unsigned>{}), errors::ValueError);
}

TEST(Inputs, ErrorsLeaveTheGraphAsItWas) {
  ComputationGraph cg;
  const std::size_t nodes = cg.nodes.size();
  EXPECT_THROW(input(cg, {3}, Floats{1, 2}), errors::ValueError);
  EXPECT_THROW(input(cg, static_cast<const float*>(nullptr)), errors::ValueError);
  EXPECT_THROW(input(cg, {3}, static_cast<const Floats*>(nullptr)), errors::ValueError);
  EXPECT_THROW(parameter(cg, Parameter()), errors::StateError);
  EXPECT_THROW(lookup(cg, LookupParameter(), 1), errors::StateError);
  EXPECT_EQ(cg.nodes.size(), nodes);
  EXPECT_EQ(value_of(zeros(cg, {2}, default_device)), (Floats{0, 0}));
}

TEST(Inputs, Constants) {
  ComputationGraph cg;
  EXPECT_EQ(value_of(zeros(cg, {2})), (Floats{0, 0}));
  EXPECT_EQ(value_of(zeroes(cg, {2})), (Floats{0, 0}));
  EXPECT_EQ(value_of(ones(cg, Dim({1}, 2))), (Floats{1, 1}));
  EXPECT_EQ(value_of(constant(cg, {2}, -1.5F)), (Floats{-1.5F, -1.5F}));
}

class Leaves : public ::testing::Test {
 protected:
  Leaves() : p(model.add_parameters({2})), table(model.add_lookup_parameters(3, {2})) {
    p.set_value({1, 2});
    for (unsigned i = 0; i < 3; ++i) {
      table.initialize(i, {static_cast<float>(10 * i), static_cast<float>(10 * i + 1)});
    }
  }
  ParameterCollection model;
  Parameter p;
  LookupParameter table;
  ComputationGraph cg;
};

TEST_F(Leaves, Parameters) {
  EXPECT_EQ(value_of(parameter(cg, p)), (Floats{1, 2}));
  EXPECT_EQ(value_of(const_parameter(cg, p)), (Floats{1, 2}));
  EXPECT_EQ(parameter(cg, table).dim(), Dim({2, 3}));
  EXPECT_EQ(value_of(const_parameter(cg, table)), (Floats{0, 1, 10, 11, 20, 21}));
  cg.backward(squared_norm(const_parameter(cg, p)) + squared_norm(const_parameter(cg, table)));
  EXPECT_FALSE(p.p->has_grad());
  EXPECT_FALSE(table.p->has_grad());
  cg.backward(squared_norm(parameter(cg, p)) + squared_norm(parameter(cg, table)));
  EXPECT_EQ(as_vector(*p.gradients()), (Floats{2, 4}));
  EXPECT_EQ(as_vector(table.get_storage().all_grads), (Floats{0, 2, 20, 22, 40, 42}));
}

TEST_F(Leaves, LookupsByValueAndByPointer) {
  unsigned index = 1;
  std::vector<unsigned> indices{0, 2};
  const Expression by_pointer = lookup(cg, table, &index);
  const Expression batch = lookup(cg, table, &indices);
  EXPECT_EQ(value_of(lookup(cg, table, 0)), (Floats{0, 1}));
  EXPECT_EQ(value_of(lookup(cg, table, indices)), (Floats{0, 1, 20, 21}));
  EXPECT_EQ(value_of(by_pointer), (Floats{10, 11}));
  EXPECT_EQ(batch.dim(), Dim({2}, 2));
  index = 2;
  indices = {1, 1};
  cg.invalidate();
  EXPECT_EQ(value_of(by_pointer), (Floats{20, 21}));
  EXPECT_EQ(value_of(batch), (Floats{10, 11, 10, 11}));
  EXPECT_THROW(lookup(cg, table, 3), errors::IndexError);
  index = 3;
  cg.invalidate();
  EXPECT_THROW(value_of(by_pointer), errors::IndexError);
  index = 0;
  EXPECT_EQ(value_of(by_pointer), (Floats{0, 1}));
}

TEST_F(Leaves, ConstLookupsGetNoGradient) {
  const unsigned index = 1;
  const std::vector<unsigned> indices{0, 2};
  const Expression all = squared_norm(const_lookup(cg, table, 0)) +
                         squared_norm(const_lookup(cg, table, &index)) +
                         sum_batches(squared_norm(const_lookup(cg, table, indices))) +
                         sum_batches(squared_norm(const_lookup(cg, table, &indices)));
  cg.backward(all);
  EXPECT_FALSE(table.p->has_grad());
  cg.backward(squared_norm(lookup(cg, table, 1)));
  EXPECT_EQ(as_vector(table.get_storage().all_grads), (Floats{0, 0, 20, 22, 0, 0}));
}

TEST(Functions, PickByValueAndByPointer) {
  ComputationGraph cg;
  const Expression x = input(cg, Dim({2}, 2), Floats{1, 2, 3, 4});
  const unsigned v = 0;
  const std::vector<unsigned> vs{1, 0};
  EXPECT_EQ(value_of(pick(x, 0)), (Floats{1, 3}));
  EXPECT_EQ(value_of(pick(x, &v)), (Floats{1, 3}));
  EXPECT_EQ(value_of(pick(x, vs)), (Floats{2, 3}));
  EXPECT_EQ(value_of(pick(x, &vs)), (Floats{2, 3}));
  EXPECT_THROW(pick(x, static_cast<const unsigned*>(nullptr)), errors::ValueError);
  EXPECT_THROW(pick(x, 2), errors::IndexError);
}

TEST(Functions, ScalarsOnBothSides) {
  ComputationGraph cg;
  const Expression x = input(cg, {2}, Floats{1, 4});
  EXPECT_EQ(value_of(x + 1), (Floats{2, 5}));
  EXPECT_EQ(value_of(1 + x), (Floats{2, 5}));
  EXPECT_EQ(value_of(x - 1), (Floats{0, 3}));
  EXPECT_EQ(value_of(1 - x), (Floats{0, -3}));
  EXPECT_EQ(value_of(x * 2.0), (Floats{2, 8}));
  EXPECT_EQ(value_of(2.0 * x), (Floats{2, 8}));
  EXPECT_EQ(value_of(x / 2), (Floats{0.5F, 2}));
  EXPECT_EQ(value_of(-x), (Floats{-1, -4}));
  EXPECT_EQ(value_of(x / x), (Floats{1, 1}));
  EXPECT_EQ(value_of(x - (x + x)), (Floats{-1, -4}));
}

TEST(Functions, ListsAndCompositions) {
  ComputationGraph cg;
  const Expression a = input(cg, {2}, Floats{1, 4});
  const Expression b = input(cg, {2}, Floats{2, 3});
  const std::vector<Expression> list{a, b};
  EXPECT_EQ(value_of(max({a, b})), (Floats{2, 4}));
  EXPECT_EQ(value_of(max(list)), (Floats{2, 4}));
  EXPECT_EQ(value_of(max({a})), (Floats{1, 4}));
  EXPECT_EQ(value_of(sum(list)), value_of(sum({a, b})));
  EXPECT_EQ(concatenate_cols(list).dim(), Dim({2, 2}));
  EXPECT_EQ(value_of(concatenate_cols({a, b})), (Floats{1, 4, 2, 3}));
  EXPECT_EQ(value_of(pickrange(a, 1, 2)), Floats{4});
  const std::vector<Expression> none;
  EXPECT_THROW(max(none), std::invalid_argument);
  EXPECT_THROW(sum(none), std::invalid_argument);
  EXPECT_THROW(concatenate_cols(none), std::invalid_argument);
}

TEST(Functions, TransposeOfAList) {
  ComputationGraph cg;
  const Expression x = input(cg, {1, 2, 3}, Floats{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(transpose(x, {2, 0, 1}).dim(), Dim({3, 1, 2}));
  EXPECT_EQ(transpose(input(cg, {2, 1}, Floats{1, 2})).dim(), Dim({1, 2}));
  EXPECT_EQ(transpose(input(cg, {2}, Floats{1, 2}), {0}).dim(), Dim({2}));
  const std::string text = text_of_error<errors::ValueError>(
      [&] { transpose(x, std::vector<unsigned>{0, 1, 2, 3, 4, 5, 6, 7}); });
  EXPECT_EQ(text, "transpose: dims has 8 entries; want at most 7");
}

TEST(Functions, VanillaLstmGates) {
  ComputationGraph cg;
  const Expression x = input(cg, {1}, Floats{0.5F});
  const Expression h = input(cg, {1}, Floats{-1});
  const Expression wx = input(cg, {4, 1}, Floats{1, 2, 3, 4});
  const Expression wh = input(cg, {4, 1}, Floats{0.5F, 0.25F, 1, -1});
  const Expression b = input(cg, {4}, Floats{0.1F, 0.2F, 0.3F, 0.4F});
  const auto sigma = [](double v) { return 1.0 / (1.0 + std::exp(-v)); };
  const double want[] = {sigma(0.1), sigma(0.95 + 1.0), sigma(0.8), std::tanh(3.4)};
  const Floats got = value_of(vanilla_lstm_gates(x, h, wx, wh, b));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(static_cast<double>(got[i]), want[i], tolerance::kFewInFloat);
  }
  const Floats noisy = value_of(vanilla_lstm_gates(x, h, wx, wh, b, 0.1F));
  EXPECT_NE(noisy, got);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(noisy[i], got[i], tolerance::of_mean(0.1, 1));
  }
  EXPECT_THROW(vanilla_lstm_gates(x, h, wx, wh, b, -0.1F), errors::ValueError);
}

TEST(Functions, ExplainBatchSaysWhyNodesRunApart) {
  ComputationGraph cg;
  const Expression x = input(cg, {3}, {1, 2, 3});
  EXPECT_EQ(explain_batch(elu(x, 1.0F), elu(x, 2.0F)), "attributes: alpha=1 != alpha=2");
  EXPECT_EQ(explain_batch(tanh(x), tanh(exp(x))), "equal keys");
  EXPECT_EQ(explain_batch(elu(x, 0.0F), elu(x, -0.0F)),
            "attributes: both are alpha=0 as text, but not to the last bit");
  ComputationGraph other;
  const Expression y = input(other, {3}, {1, 2, 3});
  EXPECT_EQ(text_of_error<errors::GraphError>([&] { (void)explain_batch(x, y); }),
            "explain_batch: the nodes are of different graphs, which never run together");
  cg.clear();
  EXPECT_THROW((void)explain_batch(x, y), errors::StaleExpression);
}

TEST(Functions, ExplainBatchSaysWhichArgumentHasOneExampleForAll) {
  ComputationGraph cg;
  const Expression w = ones(cg, {4, 3});
  const Expression ws = ones(cg, Dim({4, 3}, 2));
  const Expression x = ones(cg, {3});
  const Expression two = ones(cg, Dim({3}, 2));
  const Expression five = ones(cg, Dim({3}, 5));
  const Expression a = w * x;
  EXPECT_EQ(explain_batch(w * x, w * two),
            "argument 0: one example, as the node has != one example for the node's 2");
  EXPECT_EQ(explain_batch(ws * two, w * five),
            "argument 0: 2 examples, as the node has != one example for the node's 5");
  EXPECT_EQ(explain_batch(w * two, w * five), "equal keys");
  EXPECT_EQ(explain_batch(affine_transform({a, w, x}), affine_transform({ws * two, w, two})),
            "argument 1: one example, as the node has != one example for the node's 2");
  // Another shape is the plainer reason, wherever it stands.
  EXPECT_EQ(explain_batch(w * x, w * ones(cg, Dim({3, 2}, 2))), "argument 1: {3} != {3,2}x2");
  EXPECT_EQ(explain_batch(lstm_cell(ones(cg, {8}))[0], lstm_cell(ones(cg, {8}), ones(cg, {2}))[0]),
            "argument 1: absent != {2}");
  const auto elements = [&](const std::vector<unsigned>& of) { return pick_batch_elems(two, of); };
  EXPECT_EQ(explain_batch(elements({0, 1}), elements({1})), "payload count: 2 != 1");
  const Expression apart = pick(x, std::vector<unsigned>{0, 1});
  EXPECT_EQ(explain_batch(apart, pick(x, std::vector<unsigned>{0, 1})),
            "pick: runs alone, since an argument has one example beside several lists of indices");
}

TEST(Functions, ErrorsSayTheCallersLine) {
  ComputationGraph cg;
  const Expression a = ones(cg, {2});
  const Expression b = ones(cg, {3});
  const auto expect_line = [](const std::string& text, unsigned line) {
    EXPECT_TRUE(contains(text, "functions_test.cc:" + std::to_string(line))) << text;
  };
  const std::size_t nodes = cg.nodes.size();
  unsigned line = __LINE__ + 1;
  expect_line(text_of_error<errors::ShapeError>([&] { a + b; }), line);
  line = __LINE__ + 1;
  expect_line(text_of_error<errors::ShapeError>([&] { a* b; }), line);
  line = __LINE__ + 1;
  expect_line(text_of_error<errors::ShapeError>([&] { a / b; }), line);
  line = __LINE__ + 1;
  expect_line(text_of_error<errors::ShapeError>([&] { cmult(a, b); }), line);
  line = __LINE__ + 1;
  expect_line(text_of_error<errors::ShapeError>([&] { sum({a, b}); }), line);
  line = __LINE__ + 1;
  expect_line(text_of_error<errors::ShapeError>([&] { softmax(a, 3); }), line);
  line = __LINE__ + 1;
  expect_line(text_of_error<errors::ShapeError>([&] { vanilla_lstm_gates(a, a, a, a, a); }), line);
  line = __LINE__ + 1;
  expect_line(text_of_error<errors::ValueError>([&] { input(cg, {3}, Floats{1}); }), line);
  EXPECT_EQ(cg.nodes.size(), nodes);
}

TEST(Functions, AttributesWithoutInitializerMustBeGiven) {
  EXPECT_FALSE((ext::kHasDefault<ops::Dropout, 0>));
  EXPECT_FALSE((ext::kHasDefault<ops::Noise, 0>));
  EXPECT_FALSE((ext::kHasDefault<ops::PickRange, 1>));
  EXPECT_TRUE((ext::kHasDefault<ops::PickRange, 2>));
  EXPECT_TRUE((ext::kHasDefault<ops::Elu, 0>));
  EXPECT_TRUE((ext::kHasDefault<ops::Transpose, 0>));
}

}  // namespace
}  // namespace dynet
