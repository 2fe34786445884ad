// Sums of many terms, through operations and backward: their error is at most 1e-5 of the sum of
// the terms' absolute values, for up to 10^6 terms. Equal terms are the worst: all roundings go to
// one side. The loops themselves: src/kernels/long_sums_test.cc.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/param-init.h"

#include "testing/program.h"
#include "testing/sanitized.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

constexpr float kTerm = 0.1F;

/// n terms.
double sum_of(std::size_t n) { return static_cast<double>(n) * static_cast<double>(kTerm); }

void expect_all(const Tensor& t, double wanted, const std::string& what) {
  for (const double x : numbers(t)) {
    EXPECT_LE(std::abs(x / wanted - 1.0), tolerance::kLongSum) << what << ": " << x;
  }
}

class LongSums : public ::testing::Test {
 protected:
  Expression filled(const Dim& d, float value = kTerm) {
    return input(graph, d, std::vector<float>(static_cast<std::size_t>(d.elements()), value));
  }
  ComputationGraph graph;
};

TEST_F(LongSums, OfOneLargeTensor) {
  constexpr unsigned kMany = 1000000;
  const Expression x = filled({kMany});
  const double wanted = sum_of(kMany);
  expect_all(sum_elems(x).value(), wanted, "sum_elems");
  expect_all(dot_product(x, filled({kMany}, 1.0F)).value(), wanted, "dot_product");
  expect_all(squared_norm(filled({kMany}, std::sqrt(kTerm))).value(), wanted, "squared_norm");
  expect_all((transpose(x) * filled({kMany}, 1.0F)).value(), wanted, "row * column");
  expect_all(l1_distance(x, filled({kMany}, 0.0F)).value(), wanted, "l1_distance");
  expect_all(sum_dim(x, {0}).value(), wanted, "sum_dim");
  const Expression rows = reshape(x, {10, kMany / 10});
  expect_all(sum_dim(rows, {1}).value(), wanted / 10.0, "sum_dim across");
  expect_all(mean_dim(rows, {1}, false).value(), static_cast<double>(kTerm), "mean_dim");
  expect_all(sum_batches(reshape(x, Dim({1}, kMany))).value(), wanted, "sum_batches");
  expect_all(sum_batches(reshape(x, Dim({5}, kMany / 5))).value(), wanted / 5.0,
             "sum_batches of 5");
}

TEST_F(LongSums, OfLists) {
  constexpr std::size_t kMany = 100000;
  const std::vector<Expression> same(kMany, filled({3}));
  expect_all(average(same).value(), static_cast<double>(kTerm), "average");
  expect_all(sum(same).value(), sum_of(kMany), "sum");
  std::vector<Expression> others;
  others.reserve(kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    others.push_back(filled({3}));
  }
  expect_all(average(others).value(), static_cast<double>(kTerm), "average of other nodes");
  expect_all(sum(others).value(), sum_of(kMany), "sum of other nodes");
}

TEST_F(LongSums, OfWhatMeetsInOnePlace) {
  constexpr unsigned kMany = 1000000;
  expect_all(pick(scatter_add(filled({kMany}), std::vector<unsigned>(kMany, 1), 3, 0), 1U).value(),
             sum_of(kMany), "scatter_add");
}

/// The gradient of a parameter that many nodes use: in one batch, in nodes that merge, and in nodes
/// that wait for each other.
class LongGradients : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Batching, LongGradients, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "Merged" : "OneByOne"; });

TEST_P(LongGradients, OfWhatIsUsedOften) {
  constexpr unsigned kUses = trials(100000U, 5000U);
  ParameterCollection model;
  const Parameter p = model.add_parameters({3}, ParameterInitConst(1.0F));
  const Parameter scalar = model.add_parameters({1}, ParameterInitConst(1.0F));
  ComputationGraph graph(GetParam());
  std::vector<Expression> terms;
  terms.reserve(kUses);
  const Expression x = input(graph, {3}, std::vector<float>(3, kTerm));
  for (unsigned i = 0; i < kUses; ++i) {
    terms.push_back(cmult(parameter(graph, p), x) + parameter(graph, scalar));
  }
  graph.backward(sum_elems(sum(terms)));
  expect_all(p.get_storage().g, sum_of(kUses), "a parameter");
  expect_all(scalar.get_storage().g, 3.0 * kUses, "a scalar");
}

/// Row 1 is read by all, row 0 by few.
TEST_P(LongGradients, OfARowOfATable) {
  constexpr unsigned kExamples = trials(1000000U, 50000U);
  constexpr unsigned kNodes = trials(100000U, 5000U);
  ParameterCollection model;
  const LookupParameter batch = model.add_lookup_parameters(3, {2});
  const LookupParameter single = model.add_lookup_parameters(3, {2});
  ComputationGraph graph(GetParam());
  std::vector<unsigned> rows(kExamples, 1);
  rows[3] = rows[7] = 0;
  std::vector<Expression> terms{kTerm * sum_batches(lookup(graph, batch, rows)),
                                kTerm * lookup(graph, single, 0U)};
  for (unsigned i = 0; i < kNodes; ++i) {
    terms.push_back(kTerm * lookup(graph, single, 1U));
  }
  for (int pass = 1; pass <= 2; ++pass) {  // passes add up
    graph.backward(sum_elems(sum(terms)));
    expect_all(batch.get_storage().grads[0], pass * sum_of(2), "few examples");
    expect_all(batch.get_storage().grads[1], pass * sum_of(kExamples - 2), "examples");
    expect_all(single.get_storage().grads[0], pass * sum_of(1), "one node");
    expect_all(single.get_storage().grads[1], pass * sum_of(kNodes), "nodes");
    EXPECT_EQ(numbers(single.get_storage().grads[2]), std::vector<double>(2, 0.0));
  }
}

TEST_P(LongGradients, OfABatchAndOfAChain) {
  constexpr unsigned kExamples = 1000000;
  ParameterCollection model;
  const Parameter p = model.add_parameters({1}, ParameterInitConst(1.0F));
  const Parameter bias = model.add_parameters({2}, ParameterInitConst(0.0F));
  ComputationGraph graph(GetParam());
  const Expression x =
      input(graph, Dim({2}, kExamples), std::vector<float>(std::size_t{2} * kExamples, kTerm));
  const Expression y = cmult(parameter(graph, p), x);
  const Expression shifted = x + cmult(parameter(graph, bias), x);
  graph.backward(sum_batches(sum_elems(y + shifted)));
  expect_all(p.get_storage().g, 2.0 * sum_of(kExamples), "a factor");
  expect_all(bias.get_storage().g, sum_of(kExamples), "a factor of each row");

  // Each step reads the one before it.
  constexpr unsigned kSteps = 5000;
  const Parameter step = model.add_parameters({2}, ParameterInitConst(kTerm));
  ComputationGraph chain(GetParam());
  Expression state = zeros(chain, {2});
  for (unsigned t = 0; t < kSteps; ++t) {
    state = state + kTerm * parameter(chain, step);
  }
  chain.backward(sum_elems(state));
  expect_all(step.get_storage().g, sum_of(kSteps), "a term of each step");
}

}  // namespace
}  // namespace dynet::testing
