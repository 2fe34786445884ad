// Weights and biases that are no parameters: rows of a table, values of other nodes. They are
// shared within calls as parameters are, and their gradients are right at every time. All numbers
// are small integers, so that sums are exact in any order. Example: 3 * w with a parameter w is a
// computed weight.

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <set>
#include <vector>

#include "dynet/expr.h"
#include "dynet/interrupt.h"
#include "dynet/model.h"
#include "dynet/param-init.h"

#include "support/observe.h"

namespace dynet {
namespace {

using Floats = std::vector<float>;

class ComputedWeights : public ::testing::TestWithParam<bool> {
 protected:
  ParameterCollection model;
  ComputationGraph cg{GetParam()};

  Parameter add(const Dim& d, const Floats& values) {
    return model.add_parameters(d, ParameterInitFromVector(values));
  }
  Expression vector(const Floats& values) {
    return input(cg, {static_cast<unsigned>(values.size())}, values);
  }
  static Floats gradient_of(const Parameter& p) { return as_vector(p.get_storage().g); }
};
INSTANTIATE_TEST_SUITE_P(Batching, ComputedWeights, ::testing::Bool());

/// loss = sum_t c_t . (b + W' x_t) with W' = W * mask: dW' = sum_t c_t transpose(x_t).
TEST_P(ComputedWeights, AMaskedMatrixGetsTheProductsOfAllSteps) {
  const Parameter w = add({2, 2}, {1, 2, 3, 4});
  const Parameter b = add({2}, {0, 0});
  const Expression masked = cmult(parameter(cg, w), input(cg, {2, 2}, {1, 0, 2, 1}));
  const Expression bias = parameter(cg, b);
  const auto term = [&](const Floats& c, const Floats& x) {
    return dot_product(vector(c), affine_transform({bias, masked, vector(x)}));
  };
  const Expression loss = term({1, 2}, {3, 4}) + term({5, 6}, {7, 8}) + term({1, 0}, {0, 1});
  cg.backward(loss);
  EXPECT_EQ(as_vector(masked.gradient()),
            (Floats{1 * 3 + 5 * 7, 2 * 3 + 6 * 7, 1 * 4 + 5 * 8 + 1, 2 * 4 + 6 * 8}));
  EXPECT_EQ(gradient_of(w), (Floats{38, 0, 90, 56}));
  EXPECT_EQ(gradient_of(b), (Floats{7, 8}));
}

/// Read by a product after a product, through an alias, and by an operation that has no products:
/// loss = c . (W' W' x) + c . (reshape(W') x) + sum(W' * D).
TEST_P(ComputedWeights, EverythingThatReadsTheMatrixCounts) {
  const Parameter w = add({2, 2}, {1, 2, 3, 4});
  const Expression doubled = parameter(cg, w) * 2.0F;  // [2 6; 4 8]
  const Expression shown = reshape(doubled, {2, 2});
  const Expression c = vector({1, 2});
  const Expression x = vector({3, 1});
  const Expression loss = dot_product(c, doubled * (doubled * x)) + dot_product(c, shown * x) +
                          sum_elems(cmult(doubled, input(cg, {2, 2}, {1, 1, 2, 3})));
  cg.backward(loss);
  // c transpose(W' x) + transpose(W') c transpose(x) + c transpose(x) + D, with W' x = (12, 20) and
  // transpose(W') c = (10, 22).
  const Floats wanted{12 + 30 + 3 + 1, 24 + 66 + 6 + 1, 20 + 10 + 1 + 2, 40 + 22 + 2 + 3};
  EXPECT_EQ(as_vector(doubled.gradient()), wanted);
  EXPECT_EQ(as_vector(shown.gradient()), (Floats{3, 6, 1, 2}));
  EXPECT_EQ(gradient_of(w), (Floats{2 * wanted[0], 2 * wanted[1], 2 * wanted[2], 2 * wanted[3]}));
}

/// Gradients that wait for the end of a pass are added to all other gradients of the parameter:
/// through another weight made of it, through products with itself, through a sum, and from an
/// earlier pass.
TEST_P(ComputedWeights, AParameterGetsItsGradientFromAllSides) {
  const Parameter w = add({2, 2}, {1, 2, 3, 4});
  Parameter mask = add({2, 2}, {1, 0, 2, 1});
  mask.set_updated(false);
  const Expression own = parameter(cg, w);
  const Expression masked = cmult(own, parameter(cg, mask));
  const Expression tripled = own * 3.0F;
  const auto term = [&](const Expression& weight, const Floats& c, const Floats& x) {
    return dot_product(vector(c), weight * vector(x));
  };
  std::vector<Expression> terms{sum_elems(square(own))};
  for (int i = 0; i < 4; ++i) {  // often enough to be held for weights
    terms.insert(terms.end(), {term(masked, {1, 2}, {3, 4}), term(masked, {5, 6}, {7, 8}),
                               term(tripled, {1, 0}, {0, 1}), term(tripled, {0, 1}, {2, 0}),
                               term(own, {1, 1}, {1, 2})});
  }
  const Expression loss = sum(terms);
  const Floats of_masked{4 * (1 * 3 + 5 * 7), 4 * (2 * 3 + 6 * 7), 4 * (1 * 4 + 5 * 8),
                         4 * (2 * 4 + 6 * 8)};
  // Behind the mask; three times {0,2;1,0}; {1,1;2,2}; twice w.
  const Floats wanted{of_masked[0] + 4 * (0 + 1) + 2, 4 * (6 + 1) + 4,
                      2 * of_masked[2] + 4 * (3 + 2) + 6, of_masked[3] + 4 * (0 + 2) + 8};
  cg.backward(loss);
  EXPECT_EQ(gradient_of(w), wanted);
  EXPECT_EQ(as_vector(own.gradient()), wanted);
  EXPECT_EQ(as_vector(masked.gradient()), of_masked);
  EXPECT_EQ(gradient_of(w), wanted) << "asking adds nothing";
  cg.backward(loss);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(gradient_of(w)[i], 2 * wanted[i]) << i;
  }
  EXPECT_EQ(gradient_of(mask), Floats(4, 0.0F));
}

/// No other gradient reaches the parameter: the first waiting gradient is stored, the others are
/// added.
TEST_P(ComputedWeights, TwoOfOneParameter) {
  const Parameter w = add({2, 2}, {1, 2, 3, 4});
  const Expression own = parameter(cg, w);
  const Expression doubled = own * 2.0F;
  const Expression tripled = own * 3.0F;
  std::vector<Expression> terms;
  for (int i = 0; i < 4; ++i) {  // often enough to be held for weights
    terms.push_back(dot_product(vector({1, 2}), doubled * vector({3, 4})));
    terms.push_back(dot_product(vector({5, 6}), tripled * vector({7, 8})));
  }
  cg.backward(sum(terms));
  EXPECT_EQ(gradient_of(w),
            (Floats{8 * 3 + 12 * 35, 8 * 6 + 12 * 42, 8 * 4 + 12 * 40, 8 * 8 + 12 * 48}));
}

/// A mask on the left, one number for a whole row, and a quotient, each with a gradient there
/// already; products are multiplied by the mask as they are written, which only the first allows.
TEST_P(ComputedWeights, WhatStandsBeforeTheMatrix) {
  const auto held = [&](const Dim& d, const Floats& values) {
    Parameter p = add(d, values);
    p.set_updated(false);
    return parameter(cg, p);
  };
  const Parameter w = add({2, 3}, {1, 2, 3, 4, 5, 6});
  const Parameter u = add({2, 3}, {1, 2, 3, 4, 5, 6});
  const Parameter v = add({2, 3}, {1, 2, 3, 4, 5, 6});
  const Expression left = cmult(held({2, 3}, {1, 0, 2, 1, 3, -1}), parameter(cg, w));
  const Expression rows = cmult(parameter(cg, u), held({2}, {3, -1}));
  const Expression quotient = cdiv(parameter(cg, v), held({2, 3}, {1, -1, 0.5F, 0.25F, 1, 0.5F}));
  const Expression c = vector({1, 2});
  std::vector<Expression> terms;
  for (int i = 0; i < 4; ++i) {  // often enough to be held for weights
    for (const Expression& weight : {left, rows, quotient}) {
      terms.push_back(dot_product(c, weight * vector({1, 2, 3})));
    }
  }
  const Expression loss = sum(terms);
  const Floats product{4, 8, 8, 16, 12, 24};
  for (const float passes : {1.0F, 2.0F}) {
    cg.backward(loss);
    const Floats of_left{1, 0, 2, 1, 3, -1};
    const Floats of_rows{3, -1, 3, -1, 3, -1};
    const Floats of_quotient{1, -1, 2, 4, 1, 2};
    for (std::size_t i = 0; i < product.size(); ++i) {
      EXPECT_EQ(gradient_of(w)[i], passes * product[i] * of_left[i]) << i;
      EXPECT_EQ(gradient_of(u)[i], passes * product[i] * of_rows[i]) << i;
      EXPECT_EQ(gradient_of(v)[i], passes * product[i] * of_quotient[i]) << i;
    }
  }
}

/// Both factors are trained, or one parameter stands there twice.
TEST_P(ComputedWeights, TwoGradientsOfOneNode) {
  const Parameter w = add({2, 2}, {1, 2, 3, 4});
  const Parameter v = add({2, 2}, {1, 0, 2, 1});
  const Expression factor = parameter(cg, w);
  const Expression both = cmult(factor, parameter(cg, v));
  const Expression squares = cmult(factor, factor);
  const Expression c = vector({1, 2});
  std::vector<Expression> terms;
  for (int i = 0; i < 4; ++i) {  // often enough to be held for weights
    terms.push_back(dot_product(c, both * vector({3, 4})));
    terms.push_back(dot_product(c, squares * vector({1, 1})));
  }
  cg.backward(sum(terms));
  EXPECT_EQ(gradient_of(v), (Floats{4 * 3, 4 * 2 * 6, 4 * 3 * 4, 4 * 4 * 8}));
  EXPECT_EQ(gradient_of(w),
            (Floats{4 * (3 + 2 * 1), 4 * (0 + 4 * 2), 4 * (8 + 2 * 3), 4 * (8 + 4 * 4)}));
}

/// Gradients behind masks pass through the same memory when they are delivered; a later question
/// for one gets the right gradient, in any order and any number of times.
TEST_P(ComputedWeights, EachHasItsOwnGradientWhenAskedFor) {
  const Parameter w = add({2, 2}, {1, 2, 3, 4});
  const Parameter v = add({2, 2}, {4, 3, 2, 1});
  const Parameter small = add({1, 2}, {1, 2});
  const Expression mask = input(cg, {2, 2}, {1, 0, 2, 1});
  const Expression of_w = cmult(parameter(cg, w), mask);
  const Expression of_v = cmult(parameter(cg, v), mask);
  const Expression of_small = parameter(cg, small) * 3.0F;
  const Expression c = vector({1, 2});
  std::vector<Expression> terms;
  for (int i = 0; i < 4; ++i) {  // often enough to be held for weights
    terms.insert(terms.end(), {dot_product(c, of_w * vector({3, 4})),
                               dot_product(c, of_v * vector({1, 5})), of_small * vector({1, 7})});
  }
  for (const float times : {1.0F, 2.0F}) {
    cg.backward(sum(terms));
    EXPECT_EQ(gradient_of(w), (Floats{times * 12, 0, times * 32, times * 32}));
    EXPECT_EQ(gradient_of(v), (Floats{times * 4, 0, times * 40, times * 40}));
    EXPECT_EQ(gradient_of(small), (Floats{times * 12, times * 84}));
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(as_vector(of_small.gradient()), (Floats{4, 28}));
      EXPECT_EQ(as_vector(of_w.gradient()), (Floats{12, 24, 16, 32}));
      EXPECT_EQ(as_vector(of_v.gradient()), (Floats{4, 8, 20, 40}));
    }
  }
}

/// The nodes of a sum are one operand, and one of them is trained.
TEST_P(ComputedWeights, ASumOfParameters) {
  Parameter held = add({2, 2}, {4, 3, 2, 1});
  held.set_updated(false);
  const Parameter w = add({2, 2}, {1, 2, 3, 4});
  const Expression both = sum({parameter(cg, held), parameter(cg, w)});
  const Expression c = vector({1, 2});
  const Expression loss =
      sum({dot_product(c, both * vector({3, 4})), dot_product(c, both * vector({1, 0}))});
  cg.backward(loss);
  EXPECT_EQ(gradient_of(w), (Floats{4, 8, 4, 8}));
  EXPECT_EQ(gradient_of(held), Floats(4, 0.0F));
}

/// A full pass wants the gradients of parameters that are not trained, too, and delivers none.
TEST_P(ComputedWeights, AFullPassOverWhatIsNotTrained) {
  Parameter held = add({2, 2}, {4, 3, 2, 1});
  held.set_updated(false);
  const Expression own = parameter(cg, held);
  const Expression doubled = own * 2.0F;
  const Expression c = vector({1, 2});
  const Expression loss =
      sum({dot_product(c, doubled * vector({3, 4})), dot_product(c, doubled * vector({1, 0}))});
  cg.backward(loss, true);
  EXPECT_EQ(as_vector(doubled.gradient()), (Floats{4, 8, 4, 8}));
  EXPECT_EQ(as_vector(own.gradient()), (Floats{8, 16, 8, 16}));
  EXPECT_EQ(gradient_of(held), Floats(4, 0.0F));
}

/// The parameter is a number, or a whole table, and not of the weight's shape, or kind.
TEST_P(ComputedWeights, NumbersAndTables) {
  const Parameter scale = add({1}, {3});
  Parameter held = add({2, 2}, {1, 2, 3, 4});
  held.set_updated(false);
  const LookupParameter table =
      model.add_lookup_parameters(2, {2}, ParameterInitFromVector({1, 2, 3, 4}));
  const Expression scaled = cmult(parameter(cg, held), parameter(cg, scale));
  const Expression doubled = parameter(cg, table) * 2.0F;
  const Expression c = vector({1, 2});
  std::vector<Expression> terms;
  for (int i = 0; i < 2; ++i) {
    terms.push_back(dot_product(c, scaled * vector({3, 4})));
    terms.push_back(dot_product(c, doubled * vector({1, 5})));
  }
  cg.backward(sum(terms));
  EXPECT_EQ(gradient_of(scale), (Floats{2 * (1 * 3 + 2 * 6 + 3 * 4 + 4 * 8)}));
  EXPECT_EQ(as_vector(table.get_storage().all_grads), (Floats{4, 8, 20, 40}));
}

/// A pass that somebody stops adds nothing, wherever it was.
TEST_P(ComputedWeights, APassThatFailsAddsNothing) {
  const Parameter w = add({2, 2}, {1, 2, 3, 4});
  const Expression x = parameter(cg, add({2}, {1, 2}));
  const Expression first = parameter(cg, w) * 2.0F;
  Expression h = first * x;
  const Expression second = parameter(cg, w) * 3.0F;  // gone through before `first`
  h = sum({second * h, first * h, second * x, first * x, second * x, first * x});
  const Expression loss = sum_elems(h);
  cg.forward(loss);
  struct Stopped {};
  int stops = 0;
  for (bool is_done = false; !is_done;) {
    int left = stops;
    const InterruptScope scope(
        [](void* of) {
          if ((*static_cast<int*>(of))-- == 0) {
            throw Stopped();
          }
        },
        &left, std::chrono::milliseconds(0));
    try {
      cg.backward(loss);
      is_done = true;
    } catch (const Stopped&) {
      EXPECT_EQ(gradient_of(w), Floats(4, 0.0F)) << stops;
      ++stops;
    }
  }
  EXPECT_GT(stops, 0);
  const Floats found = gradient_of(w);
  model.reset_gradient();
  cg.backward(loss);
  EXPECT_EQ(gradient_of(w), found) << "as without the failures";
}

TEST_P(ComputedWeights, RowsOfATableGetTheirGradients) {
  const LookupParameter table = model.add_lookup_parameters(
      3, {2, 2}, ParameterInitFromVector({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  const Expression bias = vector({1, 1}) + 1.0F;
  const Expression rows[] = {lookup(cg, table, 0U), lookup(cg, table, 2U), lookup(cg, table, 0U)};
  Expression loss;
  for (const unsigned r : {0U, 1U, 2U, 0U, 1U}) {
    const Expression y = affine_transform({bias, rows[r], vector({1, static_cast<float>(r)})});
    const Expression term = dot_product(vector({1, 10}), y);
    loss = loss.pg == nullptr ? term : loss + term;
  }
  cg.backward(loss);
  EXPECT_EQ(as_vector(rows[0].gradient()), (Floats{2, 20, 0, 0}));
  EXPECT_EQ(as_vector(rows[1].gradient()), (Floats{2, 20, 2, 20}));
  EXPECT_EQ(as_vector(table.get_storage().all_grads),
            (Floats{3, 30, 2, 20, 0, 0, 0, 0, 2, 20, 2, 20}));
}

/// How the calls are cut that compute `nodes`, by the nodes that are together.
std::set<std::size_t> sizes_of_calls(const testing::Observed& seen,
                                     const std::vector<Expression>& nodes) {
  std::set<std::size_t> sizes;
  for (const auto& call : seen.calls()) {
    for (const Expression& e : nodes) {
      if (!call.backward && call.members[0] == e.i) {
        sizes.insert(call.members.size());
      }
    }
  }
  return sizes;
}

/// Nodes whose biases are parameters run beside nodes whose biases were computed: two calls.
TEST(ComputedBiases, RunTogether) {
  ParameterCollection model;
  ComputationGraph cg(true);
  testing::Observed seen;
  testing::observe(cg, &seen);
  const Expression bias = parameter(cg, model.add_parameters({2}));
  const Expression w = parameter(cg, model.add_parameters({2, 2}));
  std::vector<Expression> nodes;
  nodes.reserve(8);
  for (int i = 0; i < 8; ++i) {
    const Expression x = input(cg, {2}, {1, 2});
    const Expression computed = tanh(input(cg, {2}, {1, static_cast<float>(i)}));
    nodes.push_back(affine_transform({i < 3 ? bias : computed, w, x}));
  }
  static_cast<void>(sum(nodes).value());
  testing::observe(cg, nullptr);
  EXPECT_EQ(sizes_of_calls(seen, nodes), (std::set<std::size_t>{3, 5}));
}

/// Members of the calls of `count` sums, whose matrices are the rows of a table in turn.
std::set<std::size_t> sizes_of_sums(unsigned count, unsigned rows) {
  ParameterCollection model;
  ComputationGraph cg(true);
  testing::Observed seen;
  testing::observe(cg, &seen);
  const LookupParameter table = model.add_lookup_parameters(rows, {2, 2});
  std::vector<Expression> weights;
  std::vector<Expression> nodes;
  weights.reserve(rows);
  nodes.reserve(count);
  for (unsigned row = 0; row < rows; ++row) {
    weights.push_back(lookup(cg, table, row));
  }
  for (unsigned i = 0; i < count; ++i) {
    const Expression bias = tanh(input(cg, {2}, {1, static_cast<float>(i)}));
    nodes.push_back(affine_transform({bias, weights[i % rows], input(cg, {2}, {1, 2})}));
  }
  static_cast<void>(sum(nodes).value());
  testing::observe(cg, nullptr);
  return sizes_of_calls(seen, nodes);
}

/// A call for each weight, unless they hardly repeat.
TEST(ComputedWeightsMerge, ByWeight) {
  EXPECT_EQ(sizes_of_sums(7, 2), (std::set<std::size_t>{4, 3}));
  EXPECT_EQ(sizes_of_sums(24, 8), (std::set<std::size_t>{3}));
  EXPECT_EQ(sizes_of_sums(22, 11), (std::set<std::size_t>{2}));
  EXPECT_EQ(sizes_of_sums(20, 11), (std::set<std::size_t>{20}));
  EXPECT_EQ(sizes_of_sums(4, 4), (std::set<std::size_t>{4}));
}

}  // namespace
}  // namespace dynet
