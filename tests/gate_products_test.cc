// The gates of a cell in one node: the suite that tests operations, and the values by hand.

#include "builders/gate_products.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dynet/except.h"
#include "dynet/expr.h"
#include "dynet/expr/gradient.h"
#include "dynet/ext/testing.h"
#include "dynet/init.h"
#include "dynet/model.h"

#include "testing/tolerance.h"

namespace dynet::builders {
namespace {

template <unsigned kGates>
std::string failures(const testing::Expectations& expected) {
  std::string all;
  for (const std::string& failure : testing::check<GateProducts<kGates>>(expected)) {
    all += failure + "\n";
  }
  return all;
}

TEST(GateProducts, KeepTheContractOfAnOperation) {
  EXPECT_EQ(failures<2>({.weights = {2, 3, 5, 6}}), "");
  EXPECT_EQ(failures<3>({.weights = {3, 4, 5, 7, 8, 9}}), "");
  EXPECT_EQ(failures<4>({.weights = {4, 5, 6, 7, 9, 11}}), "");
}

struct Gates : ::testing::Test {
  ParameterCollection model;
  ComputationGraph cg;
  Expression matrix(unsigned rows, unsigned cols) {
    return parameter(cg, model.add_parameters({rows, cols}));
  }
  Expression vector(unsigned rows) { return parameter(cg, model.add_parameters({rows})); }
};

void expect_equal(const Expression& a, const Expression& b) {
  const std::vector<float> x = as_vector(a.value());
  const std::vector<float> y = as_vector(b.value());
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(x[i], y[i], tolerance::kSumsInFloat) << i;
  }
}

TEST_F(Gates, AreTheAffineTransformations) {
  const Expression b1 = vector(4);
  const Expression b2 = vector(4);
  const Expression w1 = matrix(4, 3);
  const Expression w2 = matrix(4, 3);
  const Expression u1 = matrix(4, 2);
  const Expression x = random_normal(cg, {3});
  const Expression y = random_normal(cg, {2});
  Expression list[] = {b1, b2, w1, w2, x, u1, Expression(), y};
  const auto [first, second] = gate_products<2>(list, Where::here());
  expect_equal(first, affine_transform({b1, w1, x, u1, y}));
  expect_equal(second, affine_transform({b2, w2, x}));
}

/// gradient() computes in nodes the gradients of backward, also for a gate without a product, and
/// for one column.
TEST_F(Gates, HaveGradientsInNodes) {
  const std::vector<Expression> xs{vector(4), vector(4),    matrix(4, 3), matrix(4, 3),
                                   vector(3), matrix(4, 2), matrix(2, 1)};
  Expression list[] = {xs[0], xs[1], xs[2], xs[3], xs[4], xs[5], Expression(), xs[6]};
  const auto [first, second] = gate_products<2>(list, Where::here());
  const Expression loss = squared_norm(first) + sum_elems(cube(second));
  const std::vector<Expression> nodes = gradient(loss, xs);
  cg.backward(loss, true);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    SCOPED_TRACE(i);
    const std::vector<float> wanted = as_vector(xs[i].gradient());
    const std::vector<float> found = as_vector(nodes[i].value());
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      EXPECT_NEAR(found[k], wanted[k], tolerance::kManyTermsInFloat);
    }
  }
}

TEST_F(Gates, RefuseWhatDoesNotFit) {
  const Expression b = vector(4);
  const Expression w = matrix(4, 3);
  const Expression x = vector(3);
  const auto refuses = [&](std::vector<Expression> list) {
    EXPECT_THROW(gate_products<2>(list, Where::here()), errors::ShapeError);
  };
  refuses({b});
  refuses({b, x});
  refuses({b, b, w});
  refuses({b, b, w, w});
  refuses({b, b, w, w, b});
  refuses({b, b, w, matrix(3, 3), x});
  refuses({b, b, w, matrix(4, 2), x});
  refuses({b, b, w, w, matrix(3, 2)});
  refuses({w, b, w, w, x});
}

}  // namespace
}  // namespace dynet::builders
