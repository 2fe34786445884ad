// Weights and biases that are no parameters: rows of a table, what other nodes computed. They are
// shared within calls as parameters are, and their gradients are right whenever they are asked for.
// All numbers are small integers, so that sums are exact in any order.

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "dynet/expr.h"
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

/// Nodes whose biases are parameters run beside others whose biases were computed: two calls.
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
