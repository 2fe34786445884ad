// Arguments that a node does not have: values and gradients equal the results with zeros in their
// place, nodes with and without them stand in one graph, and wrong calls are refused.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/except.h"
#include "dynet/expr.h"

#include "support/observe.h"
#include "testing/errors.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using testing::Observed;
using Floats = std::vector<float>;

constexpr unsigned kHidden = 3;

Floats numbers(unsigned count, float from) {
  Floats x;
  for (unsigned i = 0; i < count; ++i) {
    x.push_back(from + 0.37F * static_cast<float>((i * 5) % 7) - 1.0F);
  }
  return x;
}

/// Three sequences of two steps: the first step has no cell, or one of zeros.
struct Steps {
  ComputationGraph cg;
  std::vector<Expression> inputs;
  std::vector<std::vector<Expression>> cells;  ///< of each sequence
  Expression loss;

  Steps(bool batching, bool absent, Observed* observed = nullptr) : cg(batching) {
    testing::observe(cg, observed);
    std::vector<Expression> terms;
    for (unsigned s = 0; s < 3; ++s) {
      const float from = 0.1F * static_cast<float>(s);
      const Expression zero = absent ? Expression() : zeros(cg, {kHidden});
      const auto gates = [&](float first) {
        inputs.push_back(input(cg, {4 * kHidden}, numbers(4 * kHidden, first)));
        return inputs.back();
      };
      const auto [c1, h1] = lstm_cell(gates(from), zero, 0.5F);
      const auto [c2, h2] = lstm_cell(gates(from + 0.5F), c1, 0.5F);
      const auto [t1, g1] = absent ? tree_lstm_cell(concatenate({h1, c2, h2}))
                                   : tree_lstm_cell(concatenate({h1, c2, h2}), h1, h1, zero, zero);
      const auto [t2, g2] = tree_lstm_cell(concatenate({g1, h2, c2}), h1, h2, t1, c2);
      const Expression coupled = coupled_lstm_c(g2, h1, zero);
      const auto own = [&](float k) {  // read by one node: no sum whose order could differ
        inputs.push_back(input(cg, {kHidden}, numbers(kHidden, from + 0.3F * k)));
        return inputs.back();
      };
      const Expression i = own(1);
      const Expression g = own(2);
      const Expression o = own(3);
      const auto [c3, h3] = coupled_lstm_cell(i, g, o, zero);
      const Expression gated = gated_sum(c3, h3, zero, zero);
      const Expression o3 = own(4);
      const Expression u3 = own(5);
      const auto [t3, g3] = tree_lstm_step(gated, o3, u3, zero, zero, zero, zero, zero);
      std::vector<Expression> rest;
      for (unsigned k = 6; k <= 10; ++k) {
        rest.push_back(own(static_cast<float>(k)));
      }
      const auto [t4, g4] =
          tree_lstm_step(g3, rest[0], rest[1], rest[2], rest[3], t3, rest[4], zero);
      cells.push_back({c1, c2, t1, t2, coupled, c3, gated, t3, t4});
      terms.push_back(sum_elems(cmult(coupled, g2) + t2 + cmult(g4, t4)));
    }
    loss = sum(terms);
    cg.backward(loss, true);
  }
};

TEST(Optional, AbsentCountsAsZeros) {
  for (const bool batching : {false, true}) {
    const Steps absent(batching, true);
    const Steps zeros(batching, false);
    EXPECT_FLOAT_EQ(as_scalar(absent.loss.value()), as_scalar(zeros.loss.value()));
    for (std::size_t i = 0; i < absent.inputs.size(); ++i) {
      const Floats dx = as_vector(absent.inputs[i].gradient());
      const Floats expected = as_vector(zeros.inputs[i].gradient());
      for (std::size_t k = 0; k < dx.size(); ++k) {
        EXPECT_NEAR(dx[k], expected[k], tolerance::kFewInFloat)
            << "input " << i << " element " << k;
      }
    }
  }
}

TEST(Optional, MergedAsOneByOne) {
  Observed observed;
  const Steps merged(true, true, &observed);
  const Steps one_by_one(false, true);
  EXPECT_FLOAT_EQ(as_scalar(merged.loss.value()), as_scalar(one_by_one.loss.value()));
  for (std::size_t i = 0; i < merged.inputs.size(); ++i) {
    EXPECT_EQ(as_vector(merged.inputs[i].gradient()), as_vector(one_by_one.inputs[i].gradient()));
  }
  for (std::size_t k = 0; k < merged.cells[0].size(); ++k) {
    EXPECT_TRUE(observed.together(merged.cells[0][k], merged.cells[1][k])) << k;
    EXPECT_TRUE(observed.together(merged.cells[0][k], merged.cells[2][k])) << k;
  }
  EXPECT_FALSE(observed.together(merged.cells[0][0], merged.cells[0][1]));
}

TEST(Optional, WhatDoesNotFitIsRefused) {
  ComputationGraph cg;
  const Expression a = input(cg, {9}, numbers(9, 0.0F));
  const Expression f = input(cg, {kHidden}, numbers(kHidden, 0.0F));
  EXPECT_NE(testing::text_of_error<std::exception>([&] { tree_lstm_cell(a, f, f, f); })
                .find("a is {9}, f1 is {3}, f2 is {3}, c1 is {3} and c2 is absent; want arguments "
                      "that belong together all there or all absent"),
            std::string::npos);
  EXPECT_NE(testing::text_of_error<std::exception>([&] { lstm_cell(Expression(), f); }),
            "nothing was thrown");
  EXPECT_NE(testing::text_of_error<std::exception>([&] {
              lstm_cell(a);
            }).find("a is {9} and c is absent"),
            std::string::npos);
  EXPECT_EQ(cg.nodes.size(), 2U);
}

}  // namespace
}  // namespace dynet
