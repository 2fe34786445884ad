// Sums of lists and gradients that many nodes add to, in groups of nodes: devices that the host
// does not see take each list in one call. All numbers are small integers, so that results are
// exact.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "dynet/expr.h"
#include "dynet/model.h"

#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

using Floats = std::vector<float>;

/// A table with the rows {0, 0}, {1, 1}, ..., and nodes of one group that read it.
class Lists : public ::testing::Test {
 protected:
  static constexpr unsigned kRows = 8;

  Lists() {
    for (unsigned r = 0; r < kRows; ++r) {
      table_.initialize(r, Floats(2, static_cast<float>(r)));
    }
  }
  /// Twice row r.
  Expression node(unsigned r) { return 2.0F * lookup(graph_, table_, r % kRows); }
  std::vector<Expression> nodes(std::size_t n) {
    std::vector<Expression> all;
    all.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
      all.push_back(node(static_cast<unsigned>(i)));
    }
    return all;
  }
  /// The gradients of the rows, each of whose numbers has the same.
  [[nodiscard]] Floats gradients() const {
    Floats all;
    for (const Tensor& row : table_.get_storage().grads) {
      const Floats numbers = as_vector(row);
      EXPECT_EQ(numbers[0], numbers[1]);
      all.push_back(numbers[0]);
    }
    return all;
  }

  ParameterCollection model_;
  LookupParameter table_ = model_.add_lookup_parameters(kRows, {2});
  ComputationGraph graph_;
};

/// Lists such as {a, b, a} and {b, c, b}: their nodes lie side by side. Lists of two come in a
/// group of their own, so that one of the groups adds to gradients that the other has written.
TEST_F(Lists, GiveGradientsToNodesThatTheyShare) {
  const std::vector<Expression> x = nodes(kRows);
  std::vector<Expression> sums;
  std::vector<Expression> averages;
  for (unsigned m = 0; m + 1 < kRows; ++m) {
    const auto weight = static_cast<float>(m + 1);
    sums.push_back(weight * sum({x[m], x[m + 1], x[m]}));
    sums.push_back(weight * sum({x[m], x[m + 1]}));
    averages.push_back(3.0F * weight * average({x[m + 1], x[m], x[m + 1]}));
  }
  graph_.backward(sum_elems(sum(sums)));
  Floats wanted;
  for (unsigned r = 0; r < kRows; ++r) {
    wanted.push_back(2.0F * static_cast<float>((r + 1 < kRows ? 3 * (r + 1) : 0) + 2 * r));
  }
  EXPECT_EQ(gradients(), wanted);
  model_.reset_gradient();
  graph_.backward(sum_elems(sum(averages)));
  for (unsigned r = 0; r < kRows; ++r) {
    const unsigned uses = (r + 1 < kRows ? r + 1 : 0) + 2 * r;
    EXPECT_NEAR(gradients()[r], 2.0 * uses, tolerance::kFewInFloat * (1.0 + 2.0 * uses));
  }
}

/// 32 numbers are added in one call; two lists of a length are one group.
TEST_F(Lists, OfAnyLength) {
  for (const std::size_t n : {1U, 31U, 32U, 33U, 64U, 65U, 1024U, 1025U, 1056U}) {
    graph_.clear();
    model_.reset_gradient();
    const std::vector<Expression> first = nodes(n);
    const std::vector<Expression> second(n, node(3));
    const Expression a = sum(first);
    const Expression b = sum(second);
    const Expression both = a + 2.0F * b;
    Floats counts(kRows, 0.0F);
    float total = 0.0F;
    for (std::size_t i = 0; i < n; ++i) {
      total += 2.0F * static_cast<float>(i % kRows);
      counts[i % kRows] += 2.0F;
    }
    EXPECT_EQ(as_vector(both.value()), Floats(2, total + 12.0F * static_cast<float>(n))) << n;
    counts[3] += 4.0F * static_cast<float>(n);
    graph_.backward(sum_elems(both));
    EXPECT_EQ(gradients(), counts) << n;
  }
}

/// One example beside three, whose gradients are summed.
TEST_F(Lists, OfBatches) {
  for (const std::size_t n : {3U, 40U}) {
    graph_.clear();
    model_.reset_gradient();
    std::vector<Expression> some;
    for (std::size_t i = 0; i + 1 < n; ++i) {
      some.push_back(2.0F * lookup(graph_, table_, std::vector<unsigned>{0, 1, 2}));
    }
    const std::vector<Expression> batches = some;
    some.push_back(node(4));
    const Expression s = sum(batches) + sum(some);
    const auto times = static_cast<float>(4 * (n - 1));
    EXPECT_EQ(as_vector(s.value()),
              (Floats{8, 8, times + 8, times + 8, 2 * times + 8, 2 * times + 8}));
    graph_.backward(sum_elems(sum_batches(s)));
    EXPECT_EQ(gradients(), (Floats{times, times, times, 0, 6, 0, 0, 0}));
  }
}

/// The gradient of a node that a group reads 4,000 times is a sum of sums of sums.
TEST_F(Lists, OfReadersOfANode) {
  constexpr unsigned kReaders = 4000;
  const Parameter bias = model_.add_parameters({2}, ParameterInitConst(1.0F));
  const Parameter scalar = model_.add_parameters({1}, ParameterInitConst(1.0F));
  const Expression b = 2.0F * parameter(graph_, bias);
  const Expression c = 2.0F * parameter(graph_, scalar);
  std::vector<Expression> readers;
  readers.reserve(kReaders);
  for (unsigned i = 0; i < kReaders; ++i) {
    readers.push_back(node(i) + b + c);
  }
  for (unsigned pass = 1; pass <= 2; ++pass) {
    graph_.backward(sum_elems(sum(readers)));
    const auto uses = static_cast<float>(2 * kReaders * pass);
    EXPECT_EQ(as_vector(*bias.gradients()), Floats(2, uses));
    EXPECT_EQ(as_vector(*scalar.gradients()), Floats(1, 2.0F * uses));
  }
}

/// Outputs that nobody read stand beside others of their group that were read: of the cells with
/// even numbers the cell is read, of the others the hidden state.
TEST_F(Lists, OfUnusedOutputs) {
  const Expression gates = input(graph_, {8}, Floats(8, 0.0F));  // 1/2, and f of the bias 1
  std::vector<Expression> terms;
  terms.reserve(kRows);
  for (unsigned r = 0; r < kRows; ++r) {
    terms.push_back(lstm_cell(gates, node(r), 1.0F)[r % 2]);
  }
  graph_.backward(sum_elems(sum(terms)));
  const double f = 1.0 / (1.0 + std::exp(-1.0));
  for (unsigned r = 0; r < kRows; ++r) {
    const double t = std::tanh(f * 2.0 * r);
    const double wanted = 2.0 * f * (r % 2 == 0 ? 1.0 : 0.5 * (1.0 - t * t));
    EXPECT_NEAR(gradients()[r], wanted, tolerance::kFewInFloat) << r;
  }
}

}  // namespace
}  // namespace dynet::testing
