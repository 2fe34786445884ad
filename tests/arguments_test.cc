// Attributes and indices at their bounds: a typed error, or a defined result.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"

#include "testing/tolerance.h"

namespace dynet {
namespace {

constexpr unsigned kHuge = std::numeric_limits<unsigned>::max();
constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

class Arguments : public ::testing::Test {
 protected:
  [[nodiscard]] Expression vector(const std::vector<float>& values) {
    const auto n = static_cast<unsigned>(values.size());
    return input(graph, {n}, values);
  }
  [[nodiscard]] Expression matrix() { return input(graph, {3, 2}, {1, 2, 3, 4, 5, 6}); }
  [[nodiscard]] static std::vector<float> of(const Expression& e) { return as_vector(e.value()); }

  ComputationGraph graph;
};

TEST_F(Arguments, HingeLosses) {
  const Expression x = vector({1, 2, 3});
  for (const float m : {-1.0F, -1e-30F, -kInf, kNan}) {
    EXPECT_THROW(hinge(x, 0, m), errors::ValueError);
    EXPECT_THROW(hinge_dim(matrix(), {0, 0}, 0, m), errors::ValueError);
  }
  EXPECT_EQ(of(hinge(x, 0, 0.0F)), (std::vector<float>{3}));
  EXPECT_EQ(of(hinge(x, 2)), (std::vector<float>{0}));
  EXPECT_EQ(of(hinge(x, 2, kInf)), (std::vector<float>{kInf}));
  for (const unsigned v : {3U, 4U, kHuge}) {
    EXPECT_THROW(hinge(x, v), errors::IndexError);
    EXPECT_THROW(hinge_dim(matrix(), {0, v}), errors::IndexError);
  }
  EXPECT_THROW(hinge(matrix(), 0), errors::ShapeError);
  const Expression batch = input(graph, Dim({3}, 2), std::vector<float>{1, 2, 3, 4, 5, 6});
  EXPECT_THROW(hinge(batch, 0), errors::ValueError);
  EXPECT_THROW(hinge(batch, {0, 1, 2}), errors::ShapeError);
  EXPECT_EQ(of(hinge(batch, {0, 2})), (std::vector<float>{5, 0}));
  unsigned index = 2;
  const Expression by_pointer = hinge(x, &index);
  EXPECT_EQ(of(by_pointer), (std::vector<float>{0}));
  index = 3;
  graph.invalidate();
  EXPECT_THROW(static_cast<void>(by_pointer.value()), errors::IndexError);
}

TEST_F(Arguments, HingeLossesOfRowsAndColumns) {
  const Expression x = matrix();
  EXPECT_EQ(of(hinge_dim(x, {0, 2})), (std::vector<float>{5, 0}));
  EXPECT_EQ(of(hinge_dim(x, {0, 1, 1}, 1)), (std::vector<float>{4, 0, 0}));
  EXPECT_THROW(hinge_dim(x, {0, 2, 1}), errors::ShapeError);
  EXPECT_THROW(hinge_dim(x, std::vector<unsigned>{}), errors::ShapeError);
  EXPECT_THROW(hinge_dim(x, {0, 1, 2}, 1), errors::IndexError);
  for (const unsigned d : {2U, kHuge}) {
    EXPECT_THROW(hinge_dim(x, {0, 0}, d), errors::ShapeError);
  }
  const Expression batch = input(graph, Dim({2, 2}, 2), std::vector<float>{1, 2, 3, 4, 1, 2, 3, 4});
  EXPECT_EQ(of(hinge_dim(batch, {0, 1})), (std::vector<float>{2, 0, 2, 0}));
  using Lists = std::vector<std::vector<unsigned>>;
  EXPECT_EQ(of(hinge_dim(batch, Lists{{0, 1}, {1, 0}})), (std::vector<float>{2, 0, 0, 2}));
  EXPECT_THROW(hinge_dim(batch, Lists{{0, 1}, {1}}), errors::ValueError);
  EXPECT_THROW(hinge_dim(batch, Lists{{0, 1}, {1, 0}, {0, 0}}), errors::ShapeError);
  EXPECT_THROW(hinge_dim(batch, Lists{}), errors::ShapeError);
  const std::vector<unsigned> indices{0, 1};
  EXPECT_EQ(of(hinge_dim(batch, &indices)), (std::vector<float>{2, 0, 2, 0}));
}

TEST_F(Arguments, ListsBehindAPointerAreReadAgain) {
  using Lists = std::vector<std::vector<unsigned>>;
  const Expression batch = input(graph, Dim({2, 2}, 2), std::vector<float>{1, 2, 3, 4, 1, 2, 3, 4});
  Lists lists{{0, 1}, {1, 0}};
  const Expression y = hinge_dim(batch, &lists);
  EXPECT_EQ(of(y), (std::vector<float>{2, 0, 0, 2}));
  lists = {{1, 1}, {0, 0}};
  graph.invalidate();
  EXPECT_EQ(of(y), (std::vector<float>{0, 0, 2, 2}));
  lists[1][1] = 2;
  graph.invalidate();
  EXPECT_THROW(static_cast<void>(y.value()), errors::IndexError);
  for (const Lists& other :
       {Lists{{0, 1}}, Lists{{0, 1}, {1}}, Lists{}, Lists{{0}, {1}, {0}, {1}}}) {
    lists = other;
    graph.invalidate();
    EXPECT_THROW(static_cast<void>(y.value()), errors::ValueError);
  }
  lists = {{0, 1}, {1, 0}};
  graph.invalidate();
  EXPECT_EQ(of(y), (std::vector<float>{2, 0, 0, 2}));
  const Lists ragged{{0, 1}, {1}};
  EXPECT_THROW(hinge_dim(batch, &ragged), errors::ValueError);
  const Lists none;
  EXPECT_THROW(hinge_dim(batch, &none), errors::ShapeError);
  EXPECT_THROW(hinge_dim(batch, static_cast<const Lists*>(nullptr)), errors::ValueError);
}

/// If examples have indices of their own, no index at all is no list.
TEST_F(Arguments, NoIndicesAtAll) {
  const std::vector<unsigned> none;
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(3, {2});
  const std::size_t nodes = graph.nodes.size();
  EXPECT_THROW(lookup(graph, table, none), errors::ShapeError);
  EXPECT_EQ(graph.nodes.size(), nodes);
  const Expression x = matrix();
  EXPECT_THROW(pick(x, none), errors::ShapeError);
  EXPECT_THROW(pick(x, &none), errors::ShapeError);
  EXPECT_THROW(gather(x, none, 2), errors::ShapeError);
  EXPECT_THROW(scatter_add(x, none, 4), errors::ShapeError);
  EXPECT_THROW(hinge(vector({1, 2}), none), errors::ShapeError);
  EXPECT_THROW(cross_entropy(vector({1, 2}), none), errors::ShapeError);
}

TEST_F(Arguments, CrossEntropies) {
  const Expression x = vector({1, 2, 3});
  const Expression w = vector({1, 1, 1});
  for (const float s : {-0.1F, 1.1F, kNan, kInf}) {
    EXPECT_THROW(cross_entropy(x, 0, s), errors::ValueError);
    EXPECT_THROW(weighted_cross_entropy(x, w, 0, s), errors::ValueError);
  }
  for (const unsigned v : {3U, 4U, kHuge}) {
    EXPECT_THROW(cross_entropy(x, v), errors::IndexError);
    EXPECT_THROW(weighted_cross_entropy(x, w, v), errors::IndexError);
  }
  EXPECT_THROW(cross_entropy(x, 4, 0.0F, 4),
               errors::IndexError);  // ignored, and no class past the last
  EXPECT_EQ(of(cross_entropy(x, 3, 0.0F, 3)), (std::vector<float>{0}));
  EXPECT_EQ(of(cross_entropy(x, 1, 0.5F, 1)), (std::vector<float>{0}));
  EXPECT_THROW(weighted_cross_entropy(x, vector({1, 1}), 0), errors::ShapeError);
  EXPECT_THROW(cross_entropy(matrix(), 0), errors::ShapeError);
  // As the plain loss; an impossible class costs nothing unless labels are smoothed.
  EXPECT_NEAR(of(cross_entropy(x, 1))[0], of(pickneglogsoftmax(x, 1))[0], tolerance::kFewInFloat);
  EXPECT_EQ(of(cross_entropy(vector({0, -kInf}), 0)), (std::vector<float>{0}));
}

TEST_F(Arguments, Counts) {
  const Expression x = vector({0.5F});
  for (const unsigned y : {0U, 1U, 16777217U, kHuge}) {
    const double n = y;
    const double wanted = std::exp(0.5) + std::lgamma(n + 1.0) - 0.5 * n;
    EXPECT_NEAR(static_cast<double>(of(poisson_loss(x, y))[0]) / wanted, 1.0,
                tolerance::kFewInFloat)
        << y;
  }
  EXPECT_THROW(poisson_loss(vector({1, 2}), 0), errors::ShapeError);
}

TEST_F(Arguments, ElementaryFunctions) {
  const Expression x = vector({-2, 0.25F, kInf, kNan});
  EXPECT_THROW(clip(x, 1.0F, 0.5F), errors::ValueError);
  EXPECT_THROW(clip(x, kNan, 1.0F), errors::ValueError);
  const std::vector<float> clipped = of(clip(x, -kInf, 1.0F));
  EXPECT_EQ(clipped[0], -2.0F);
  EXPECT_EQ(clipped[2], 1.0F);
  EXPECT_TRUE(std::isnan(clipped[3]));
  EXPECT_EQ(of(clip(vector({3}), 2.0F, 2.0F)), (std::vector<float>{2}));
  EXPECT_THROW(pow(x, vector({1, 2})), errors::ShapeError);
  EXPECT_EQ(of(pow(vector({-2, 3}), 3.0F)), (std::vector<float>{-8, 27}));
  EXPECT_TRUE(std::isnan(of(pow(vector({-2}), 0.5F))[0]));
  EXPECT_EQ(of(pow(vector({0, kNan}), 0.0F)), (std::vector<float>{1, 1}));
  EXPECT_THROW(where(x, vector({1, 2}), x), errors::ShapeError);
  EXPECT_EQ(of(where(vector({0, 1}), vector({kNan, 2}), vector({3, kNan}))),
            (std::vector<float>{3, 2}));
  EXPECT_THROW(argmax(matrix(), zero_gradient), errors::ShapeError);
  EXPECT_EQ(of(argmax(vector({1, 3, 3}), zero_gradient)), (std::vector<float>{0, 1, 0}));
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(of(argmax(vector({1, inf, kNan, 3, kNan}), zero_gradient)),
            (std::vector<float>{0, 0, 1, 0, 0}));
  EXPECT_EQ(of(round(vector({-2.5F, -0.5F, 0.49999997F, 2.5F}), zero_gradient)),
            (std::vector<float>{-3, -1, 0, 3}));
  for (const float c : {-1.0F, kNan}) {
    EXPECT_THROW(huber_distance(x, x, c), errors::ValueError);
  }
  EXPECT_THROW(pairwise_rank_loss(matrix(), matrix()), errors::ShapeError);
  EXPECT_THROW(pairwise_rank_loss(vector({1}), input(graph, {1, 2}, {1, 2})), errors::ShapeError);
}

TEST_F(Arguments, Lists) {
  const Expression x = vector({1, 5});
  const Expression y = vector({2, 3});
  EXPECT_EQ(of(min({x, y})), (std::vector<float>{1, 3}));
  EXPECT_EQ(of(max({x, y, x})), (std::vector<float>{2, 5}));
  const Expression ties[] = {vector({1, 2}), vector({1, 3}), vector({1, 3})};
  graph.backward(sum_elems(max({ties[0], ties[1], ties[2]}) + min({ties[0], ties[1], ties[2]})),
                 true);
  EXPECT_EQ(as_vector(ties[0].gradient()), (std::vector<float>{2, 1})) << "of equal ones the first";
  EXPECT_EQ(as_vector(ties[1].gradient()), (std::vector<float>{0, 1}));
  EXPECT_EQ(as_vector(ties[2].gradient()), (std::vector<float>{0, 0}));
  EXPECT_EQ(logsumexp({x}).i, x.i);
  EXPECT_THROW(min(std::vector<Expression>{}), errors::ValueError);
  EXPECT_THROW(logsumexp(std::vector<Expression>{}), errors::ValueError);
  EXPECT_THROW(logsumexp({x, vector({1})}), errors::ShapeError);
  EXPECT_EQ(logsumexp({x, input(graph, {2, 1}, {1, 1})}).dim(), Dim({2}));
  const float huge = of(logsumexp({vector({1e30F}), vector({1e30F})}))[0];
  EXPECT_EQ(huge, 1e30F);
  EXPECT_EQ(of(logsumexp({vector({-kInf}), vector({3})})), (std::vector<float>{3}));
}

}  // namespace
}  // namespace dynet
