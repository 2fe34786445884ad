// Shared arguments of nodes. A table that one graph uses in two ways: rows of it as embeddings, and
// the whole table as one matrix. One bias beside many matrices.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "dynet/expr.h"
#include "dynet/training.h"

namespace dynet {
namespace {

using Floats = std::vector<float>;

enum class Order { kRowsFirst, kTableFirst, kBetween };

class Tied : public ::testing::TestWithParam<std::tuple<bool, Order>> {
 protected:
  [[nodiscard]] bool batching() const { return std::get<0>(GetParam()); }
  [[nodiscard]] Order order() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Orders, Tied,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(Order::kRowsFirst, Order::kTableFirst,
                                                              Order::kBetween)));

/// loss = sum_ij c_ij E_ij + 10 row_1 . row_1: both uses, whichever is built first.
TEST_P(Tied, BothUsesGetTheirGradient) {
  ParameterCollection model;
  const LookupParameter e =
      model.add_lookup_parameters(3, {2}, ParameterInitFromVector({1, 2, 3, 4, 5, 6}));
  ComputationGraph cg(batching());
  Expression row;
  Expression all;
  if (order() == Order::kTableFirst) {
    all = parameter(cg, e);
    row = lookup(cg, e, 1U);
  } else {
    row = lookup(cg, e, 1U);
    all = parameter(cg, e);
  }
  if (order() == Order::kBetween) {
    row = row + lookup(cg, e, 2U) * 0.0F;
  }
  const Expression c = input(cg, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Expression loss = sum_elems(cmult(all, c)) + squared_norm(row) * 10.0F;
  cg.backward(loss);
  EXPECT_EQ(as_vector(all.gradient()), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(as_vector(e.get_storage().all_grads), (Floats{1, 2, 3 + 60, 4 + 80, 5, 6}));
}

/// Tied through the product that is put off to the end of the pass, and taken back and built
/// again.
TEST_P(Tied, ProductsAndReverts) {
  ParameterCollection model;
  const LookupParameter e =
      model.add_lookup_parameters(3, {2}, ParameterInitFromVector({1, 2, 3, 4, 5, 6}));
  ComputationGraph cg(batching());
  const Expression x = input(cg, {3}, {1, 10, 100});
  for (int round = 0; round < 3; ++round) {
    model.reset_gradient();
    cg.checkpoint();
    Expression y;
    if (order() == Order::kTableFirst) {
      y = parameter(cg, e) * x;
      y = y + lookup(cg, e, 0U);
    } else {
      y = lookup(cg, e, 0U);
      y = parameter(cg, e) * x + y;
    }
    cg.backward(sum_elems(y));
    EXPECT_EQ(as_vector(e.get_storage().all_grads), (Floats{2, 2, 10, 10, 100, 100}));
    cg.revert();
  }
}

/// A language model whose output weights are its embeddings learns to count to seven and back.
TEST_P(Tied, LanguageModelTrains) {
  constexpr unsigned kWords = 7;
  for (const LookupUpdates how :
       {LookupUpdates::kSparse, LookupUpdates::kDense, LookupUpdates::kExact}) {
    reset_rng(5);
    ParameterCollection model;
    const LookupParameter e = model.add_lookup_parameters(kWords, {16});
    const Parameter w = model.add_parameters({16, 16});
    AdamTrainer trainer(model, 0.02F);
    trainer.set_lookup_updates(how);
    float loss = 0.0F;
    for (int step = 0; step < 150; ++step) {
      ComputationGraph cg(batching());
      std::vector<Expression> losses;
      Expression all;
      if (order() == Order::kTableFirst) {
        all = parameter(cg, e);
      }
      for (unsigned word = 0; word < kWords; ++word) {
        const Expression x = lookup(cg, e, word);
        if (all.pg == nullptr) {
          all = parameter(cg, e);
        }
        const Expression h = tanh(parameter(cg, w) * x);
        losses.push_back(pickneglogsoftmax(transpose(all) * h, (word + 1) % kWords));
      }
      const Expression total = sum(losses) * (1.0F / kWords);
      loss = as_scalar(total.value());
      cg.backward(total);
      trainer.update();
    }
    EXPECT_LT(loss, 0.01F) << static_cast<int>(how);
  }
}

/// More sets of parameters that begin with one bias than the graph compares: loss = sum_k 1 .
/// (b + W_k x), whose gradients are x for every row of W_k.
TEST(OneBias, BesideManyMatrices) {
  for (const bool batching : {false, true}) {
    ParameterCollection model;
    const Parameter b = model.add_parameters({2}, ParameterInitFromVector({1, 2}));
    std::vector<Parameter> matrices(20);
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      matrices[k] = model.add_parameters({2, 2}, ParameterInitConst(static_cast<float>(k)));
    }
    ComputationGraph cg(batching);
    const Expression bias = parameter(cg, b);
    const Expression x = input(cg, {2}, {3, 5});
    std::vector<Expression> nodes(matrices.size());
    std::transform(matrices.begin(), matrices.end(), nodes.begin(),
                   [&](const Parameter& w) { return parameter(cg, w); });
    std::vector<Expression> terms;
    for (const std::vector<Expression>& all : {nodes, nodes}) {
      for (const Expression& w : all) {
        terms.push_back(sum_elems(affine_transform({bias, w, x})));
      }
    }
    EXPECT_EQ(as_scalar(terms[3].value()), 3.0F + 2 * 3 * 8) << "asked for before the others";
    const Expression loss = sum(terms);
    EXPECT_EQ(as_scalar(cg.forward(loss)), 2 * (20 * 3 + 2 * 8 * 190));
    cg.backward(loss);
    for (const Parameter& w : matrices) {
      EXPECT_EQ(as_vector(w.get_storage().g), (Floats{6, 6, 10, 10}));
    }
    EXPECT_EQ(as_vector(b.get_storage().g), (Floats{40, 40}));
  }
}

}  // namespace
}  // namespace dynet
