// Cells with a product inside: the suite that tests operations, and the operations they stand for.

#include "builders/cells.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dynet/except.h"
#include "dynet/expr.h"
#include "dynet/expr/gradient.h"
#include "dynet/ext/add_node.h"
#include "dynet/ext/testing.h"
#include "dynet/init.h"
#include "dynet/model.h"

#include "testing/tolerance.h"

namespace dynet::builders {
namespace {

template <class Cell>
std::string failures(const testing::Expectations& expected) {
  std::string all;
  for (const std::string& failure : testing::check<Cell>(expected)) {
    all += failure + "\n";
  }
  return all;
}

TEST(CellOperations, KeepTheContractOfAnOperation) {
  EXPECT_EQ(failures<GruCell>({.weights = {GruCell::kMatrix}}), "");
  EXPECT_EQ(failures<PeepholeCell>({.weights = {PeepholeCell::kMatrix}}), "");
  EXPECT_EQ(failures<TanhCell>({.weights = {TanhCell::kMatrix}}), "");
}

struct Cells : ::testing::Test {
  ParameterCollection model;
  ComputationGraph cg;
  Expression argument(const Dim& dim) { return parameter(cg, model.add_parameters(dim)); }
  template <class Cell>
  Expression node(const std::vector<Expression>& xs) {
    return ext::add_node(Cell{}, xs, Where::here());
  }
};

void expect_near(const std::vector<float>& found, const std::vector<float>& wanted, double bound) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(found[i], wanted[i], bound) << i;
  }
}
void expect_equal(const Expression& a, const Expression& b) {
  expect_near(as_vector(a.value()), as_vector(b.value()), tolerance::kSumsInFloat);
}

/// gradient() says in nodes what backward computes.
void expect_gradients(ComputationGraph& cg, const Expression& y,
                      const std::vector<Expression>& xs) {
  const Expression loss = sum_elems(cube(y));
  const std::vector<Expression> nodes = gradient(loss, xs);
  cg.backward(loss, true);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    SCOPED_TRACE(i);
    expect_near(as_vector(nodes[i].value()), as_vector(xs[i].gradient()),
                tolerance::kManyTermsInFloat);
  }
}

TEST_F(Cells, OfAGruIsItsFormula) {
  const std::vector<Expression> xs{argument({4, 4}), argument({4}), argument({4}), argument({4}),
                                   argument({4})};
  const Expression y = node<GruCell>(xs);
  const Expression z = logistic(xs[1]);
  const Expression kept = cmult(logistic(xs[2]), xs[4]);
  const Expression candidate = tanh(affine_transform({xs[3], xs[0], kept}));
  expect_equal(y, cmult(1.0F - z, xs[4]) + cmult(z, candidate));
  expect_gradients(cg, y, xs);
}

/// `of` the outputs: what a loss is made of.
void expect_peephole(ComputationGraph& cg, const std::vector<Expression>& xs, bool of_cell,
                     bool of_hidden) {
  const Expression cell = ext::add_node(PeepholeCell{}, xs, Where::here());
  const Expression hidden(cell.pg, cell.i + 1, cell.graph_id);
  const Expression i = logistic(xs[1]);
  expect_equal(cell, cmult(i, tanh(xs[2])) + cmult(1.0F - i, xs[4]));
  expect_equal(hidden, cmult(logistic(affine_transform({xs[3], xs[0], cell})), tanh(cell)));
  std::vector<Expression> used;
  if (of_cell) {
    used.push_back(cell);
  }
  if (of_hidden) {
    used.push_back(hidden);
  }
  expect_gradients(cg, concatenate(used), xs);
}

TEST_F(Cells, WithAPeepholeIsItsFormula) {
  const std::vector<Expression> xs{argument({4, 4}), argument({4}), argument({4}), argument({4}),
                                   argument({4})};
  expect_peephole(cg, xs, true, true);
  expect_peephole(cg, xs, false, true);
  expect_peephole(cg, xs, true, false);
}

TEST_F(Cells, OfASimpleNetworkIsItsFormula) {
  const std::vector<Expression> xs{argument({4, 4}), argument({4}), argument({4})};
  const Expression y = node<TanhCell>(xs);
  expect_equal(y, tanh(affine_transform({xs[1], xs[0], xs[2]})));
  expect_gradients(cg, y, xs);
}

/// Backward writes over what forward saved: it must not need it again.
TEST_F(Cells, GiveTheSameGradientsAgain) {
  const std::vector<Expression> xs{argument({4, 4}), argument({4}), argument({4}), argument({4}),
                                   argument({4})};
  const Expression of_gru = node<GruCell>(xs);
  const Expression cell = node<PeepholeCell>({xs[0], of_gru, xs[2], xs[3], xs[4]});
  const Expression hidden(cell.pg, cell.i + 1, cell.graph_id);
  const Expression loss = squared_norm(node<TanhCell>({xs[0], hidden, cell}));
  const auto gradients = [&] {
    model.reset_gradient();
    cg.backward(loss);
    std::vector<std::vector<float>> all;
    for (const auto& p : model.parameters_list()) {
      all.push_back(as_vector(p->g));
    }
    return all;
  };
  const auto first = gradients();
  EXPECT_EQ(gradients(), first);
}

TEST_F(Cells, RefuseWhatDoesNotFit) {
  const Expression x = argument({4});
  const Expression w = argument({4, 4});
  const Expression small = argument({3});
  EXPECT_THROW(node<TanhCell>({argument({4, 3}), x, small}), ShapeError);
  EXPECT_THROW(node<TanhCell>({w, x, small}), ShapeError);
  EXPECT_THROW(node<TanhCell>({w, w, x}), ShapeError);
  EXPECT_THROW(node<TanhCell>({x, x, x}), ShapeError);
  EXPECT_THROW(node<GruCell>({w, x, x, small, x}), ShapeError);
  EXPECT_THROW(node<GruCell>({x, x, x, x, x}), ShapeError);
  EXPECT_THROW(node<PeepholeCell>({w, x, x, small, x}), ShapeError);
  EXPECT_THROW(node<PeepholeCell>({x, x, x, x, x}), ShapeError);
}

}  // namespace
}  // namespace dynet::builders
