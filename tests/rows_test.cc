// Operations along rows, beyond their examples: which elements are kept, the bounds of attributes
// and indices, and the edges at which a plain formula breaks, against figures that mpmath computed
// with 50 digits.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "dynet/except.h"
#include "dynet/expr.h"
#include "dynet/globals.h"

#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

using Numbers = std::vector<double>;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// On the float device, and on the one in double.
class Rows : public ::testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] Device* device() const { return GetParam() ? double_device() : float_device(); }
  /// How exact the device is for a handful of terms.
  [[nodiscard]] double bound() const {
    return GetParam() ? tolerance::kSameInDouble : tolerance::kFewInFloat;
  }
  Expression in(const Dim& d, const std::vector<float>& numbers) {
    return input(graph, d, numbers, device());
  }
  void expect(const Expression& e, const Numbers& wanted) {
    const Numbers found = numbers(e.value());
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (std::isfinite(wanted[i])) {
        EXPECT_NEAR(found[i], wanted[i], bound() * std::max(1.0, std::fabs(wanted[i]))) << i;
      } else {
        EXPECT_TRUE(found[i] == wanted[i] || (std::isnan(found[i]) && std::isnan(wanted[i])))
            << i << ": " << found[i] << " against " << wanted[i];
      }
    }
  }
  /// The gradient of x for the loss sum(y * these numbers).
  Numbers gradient(const Expression& y, const Expression& x, const std::vector<float>& seeds) {
    graph.backward(sum_batches(dot_product(y, in(y.dim(), seeds))), true);
    return numbers(x.gradient());
  }
  void expect_gradient(const Expression& y, const Expression& x, const std::vector<float>& seeds,
                       const Numbers& wanted) {
    const Numbers found = gradient(y, x, seeds);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(found[i], wanted[i], bound() * std::max(1.0, std::fabs(wanted[i]))) << i;
    }
  }

  ComputationGraph graph;
};
INSTANTIATE_TEST_SUITE_P(Both, Rows, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "Double" : "Float"; });

/// The rest left by a class at its bound is for the others, however far below they are.
TEST_P(Rows, BoundedSoftmaxOfScoresFarApart) {
  for (const float far : {30.0F, 80.0F, 200.0F, 1e4F, 1e30F}) {
    const Expression x = in({2}, {far, 0.0F});
    const Expression u = in({2}, {0.4F, 0.9F});
    const double least = static_cast<double>(0.4F);
    expect(constrained_softmax(x, u), {least, 1.0 - least});
    expect_gradient(constrained_softmax(x, u), x, {1.0F, 2.0F}, {0.0, 0.0});
    expect_gradient(constrained_softmax(x, u), u, {1.0F, 2.0F}, {-1.0, 0.0});
    // Two of three at their bounds; two scores far below share the rest.
    const Expression y = in({5}, {0.0F, far, -far, -far, -2.0F * far});
    const Expression v = in({5}, {0.25F, 0.25F, 1.0F, 1.0F, 1.0F});
    expect(constrained_softmax(y, v), {0.25, 0.25, 0.25, 0.25, 0.0});
    expect_gradient(constrained_softmax(y, v), y, {1.0F, 1.0F, 1.0F, 2.0F, 1.0F},
                    {0.0, 0.0, -0.125, 0.125, 0.0});
  }
}

// ---- edges
// ---------------------------------------------------------------------------------------

TEST_P(Rows, SumsOfExponentialsOfHugeNumbers) {
  expect(logsumexp_dim(in({3}, {1e30F, -1.0F, 1e30F}), 0), {1.000000015047466219876689e30});
  expect(logsumexp_dim(in({2}, {-kInf, 3.0F}), 0), {3.0});
  expect(logsumexp_dim(in({2}, {-kInf, -kInf}), 0), {-static_cast<double>(kInf)});
  const Expression x = in({3}, {1000.0F, 1000.5F, -1e30F});
  expect(logsumexp_dim(x, 0), {1000.974076984180106680873});
  expect(softmax(x), {0.3775406687981454353610994, 0.6224593312018545646389006, 0.0});
  expect(log_softmax(x), {-0.9740769841801066808729974, -0.4740769841801066808729974,
                          -1.000000015047466219876689e30});
  expect(softmax(in({2}, {3e38F, 1.0F})), {1.0, 0.0});
  // 1 + e^-40 rounds to 1; the second result has all digits of -40.
  expect(log_softmax(in({2}, {0.0F, -40.0F})), {-4.248354255291588986304978e-18, -40.0});
}

TEST_P(Rows, NormsOfSmallAndConstantRows) {
  const Expression one = in({2}, {1.0F, 1.0F});
  const Expression small = rms_norm(in({2}, {1e-20F, -3e-20F}), one);
  const Numbers found = numbers(small.value());
  EXPECT_NEAR(found[0] * 1e17, 0.9999999695279011472870861, bound());
  EXPECT_NEAR(found[1] * 1e17, -2.999999908583703441861258, bound());
  expect(rms_norm(in({3}, {3.0F, -4.0F, 0.0F}), in({3}, {1.0F, 1.0F, 1.0F})),
         {1.039230422187503072909197, -1.385640562916670763878929, 0.0});
  const Expression constant = in({3}, {0.25F, 0.25F, 0.25F});
  const Expression g = in({3}, {2.0F, 3.0F, 4.0F});
  const Expression b = in({3}, {0.5F, -0.5F, 7.0F});
  const Expression y = layer_norm(constant, g, b);
  expect(y, {0.5, -0.5, 7.0});
  // (d - mean(d)) / 1e-8 with d the seeds times g.
  expect_gradient(
      y, constant, {1.0F, 2.0F, -1.0F},
      {66666666.66666666666666667, 466666666.6666666666666667, -533333333.3333333333333333});
  expect(l2_norm(in({2, 2}, {1.0F, 2.0F, 2.0F, 4.0F})), {5.0});
  expect(weight_norm(in({2}, {3.0F, -4.0F}), in({1}, {10.0F})), {6.0, -8.0});
  expect(weight_norm(in({1}, {0.0F}), in({1}, {1.0F})), {0.0});
}

// ---- which are kept
// --------------------------------------------------------------------------------

TEST_P(Rows, SparsemaxByHand) {
  expect(sparsemax(in({3}, {0.5F, 0.25F, -2.0F})), {0.625, 0.375, 0.0});
  expect(sparsemax(in({4}, {1.0F, 1.0F, 1.0F, 1.0F})), {0.25, 0.25, 0.25, 0.25});
  expect(sparsemax(in({3}, {1.0F, 0.0F, 1.0F})), {0.5, 0.0, 0.5});  // ties
  expect(sparsemax(in({2}, {1.0F, 0.0F})), {1.0, 0.0});             // just at the threshold
  expect(sparsemax(in({3}, {1e30F, -1e30F, -kInf})), {1.0, 0.0, 0.0});
  expect(sparsemax(in({2}, {kNan, 1.0F})), {kNan, kNan});
  expect(sparsemax(in({2}, {16777216.0F, 16777215.0F})), {1.0, 0.0});
  expect(sparsemax(in(Dim({2}, 2), {0.0F, 0.5F, 9.0F, 1.0F})), {0.25, 0.75, 1.0, 0.0});
  const Expression x = in({2, 2}, {0.5F, 7.0F, 0.25F, -7.0F});
  expect(sparsemax(x, 1), {0.625, 1.0, 0.375, 0.0});
  expect_gradient(sparsemax(x, 1), x, {1.0F, 5.0F, 3.0F, 6.0F}, {-1.0, 0.0, 1.0, 0.0});
}

/// The loss against its formula with the p of sparsemax, shifted by much as well.
TEST_P(Rows, SparsemaxLossByHand) {
  for (const float shift : {0.0F, 1024.0F}) {
    const Expression x = in({3}, {0.5F + shift, 0.25F + shift, -2.0F + shift});
    // t = -0.125: (0.25 - 1/64 + 1/16 - 1/64 + 1/2) / 2 - (0.25 - 2) / 2
    const Expression y = sparsemax_loss(x, std::vector<unsigned>{1, 2});
    expect(y, {1.265625});
    expect_gradient(y, x, {2.0F}, {1.25, -0.25, -1.0});
  }
  expect(sparsemax_loss(in({2}, {5.0F, 1.0F}), 0U), {0.0});
  // A class that stands three times has three quarters of q: (1 + 10/16) / 2 - 3/4.
  const Expression unit = in({3}, {0.0F, 1.0F, 0.0F});
  const Expression uneven = sparsemax_loss(unit, std::vector<unsigned>{1, 1, 0, 1});
  expect(uneven, {0.0625});
  expect_gradient(uneven, unit, {1.0F}, {-0.25, 0.25, 0.0});
  // One list for the batch, and by pointer.
  std::vector<unsigned> support{0};
  const Expression batch = sparsemax_loss(in(Dim({2}, 2), {5.0F, 1.0F, 1.0F, 5.0F}), &support);
  expect(batch, {0.0, 4.0});
  support[0] = 1;
  graph.invalidate();
  expect(batch, {4.0, 0.0});
}

/// As in 2.1: clips numbers above their bound, and gives the rest of the mass to the others.
Numbers clipped(const std::vector<float>& x, const std::vector<float>& u) {
  Numbers y(x.size(), 0.0);
  std::vector<bool> is_clipped(x.size(), false);
  for (bool again = true; again;) {
    double mass = 1.0;
    double total = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      is_clipped[i] ? mass -= static_cast<double>(u[i])
                    : total += std::exp(static_cast<double>(x[i]));
    }
    again = false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!is_clipped[i]) {
        y[i] = mass * std::exp(static_cast<double>(x[i])) / total;
      }
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!is_clipped[i] && y[i] > static_cast<double>(u[i])) {
        y[i] = static_cast<double>(u[i]);
        is_clipped[i] = again = true;
      }
    }
  }
  return y;
}

TEST_P(Rows, ConstrainedSoftmaxIsWhatClippingComesTo) {
  Random random(5);
  for (int k = 0; k < 40; ++k) {
    const unsigned n = 1 + random.below(20);
    std::vector<float> x;
    std::vector<float> u;
    for (unsigned i = 0; i < n; ++i) {
      x.push_back(static_cast<float>(random.below(6000)) / 1000.0F - 3.0F);
      u.push_back(static_cast<float>(1 + random.below(4000)) / 1000.0F / static_cast<float>(n));
    }
    expect(constrained_softmax(in({n}, x), in({n, 1}, u)), clipped(x, u));
  }
  // A bound of 0, a class that is impossible, bounds that sum to less than 1.
  expect(constrained_softmax(in({3}, {9.0F, 1.0F, 1.0F}), in({3}, {0.0F, 1.0F, 1.0F})),
         {0.0, 0.5, 0.5});
  expect(constrained_softmax(in({3}, {-kInf, 1.0F, 1.0F}), in({3}, {0.0F, 0.25F, 1.0F})),
         {0.0, 0.25, 0.75});
  expect(constrained_softmax(in({2}, {1.0F, 5.0F}), in({2}, {0.25F, 0.5F})), {0.25, 0.5});
  expect(constrained_softmax(in({3}, {-kInf, 1.0F, 5.0F}), in({3}, {1.0F, 0.25F, 0.5F})),
         {0.0, 0.25, 0.5});
  expect(constrained_softmax(in({3}, {-kInf, 1.0F, 5.0F}), in({3}, {1.0F, 0.5F, 0.5F})),
         {0.0, 0.5, 0.5});
  expect(constrained_softmax(in({2}, {kNan, 5.0F}), in({2}, {0.25F, 1.0F})), {kNan, kNan});
  expect(constrained_softmax(in({2}, {1.0F, 5.0F}), in({2}, {kInf, 2.0F})),
         {0.01798620996209155802679131, 0.982013790037908441973209});
}

TEST_P(Rows, RestrictedLogSoftmaxByHand) {
  const Expression x = in({4}, {1.0F, 2.0F, 900.0F, 3.0F});
  const double z = 3.0 + std::log(1.0 + std::exp(-2.0));
  const double none = -static_cast<double>(kInf);
  expect(log_softmax(x, {3, 0}), {1.0 - z, none, none, 3.0 - z});
  EXPECT_EQ(numbers(log_softmax(x, {1}).value())[1], 0.0);
  const std::vector<unsigned> twice{3, 0, 3};
  const Expression y = log_softmax(x, twice);
  expect(y, {1.0 - z, none, none, 3.0 - z});
  graph.backward(pick(y, 0U), true);
  const double p = std::exp(3.0 - z);
  const Numbers d = numbers(x.gradient());
  for (const auto& [i, wanted] : {std::pair{0, p}, {1, 0.0}, {2, 0.0}, {3, -p}}) {
    EXPECT_NEAR(d[static_cast<std::size_t>(i)], wanted, bound());
  }
  // Along the second dimension, with a batch.
  const Expression m = in(Dim({1, 3}, 2), {1.0F, 5.0F, 3.0F, 3.0F, 7.0F, 1.0F});
  expect(log_softmax(m, {0, 2}, 1), {1.0 - z, none, 3.0 - z, 3.0 - z, none, 1.0 - z});
}

TEST_P(Rows, TheLargestByHand) {
  const Expression x = in({2, 4}, {1, 8, 5, 6, 5, 6, 2, 9});
  expect(kmax_pooling(x, 2), {5, 8, 5, 9});
  expect(kmax_pooling(x, 1), {5, 9});
  expect(kmax_pooling(x, 4), {1, 8, 5, 6, 5, 6, 2, 9});
  expect_gradient(kmax_pooling(x, 2), x, {1, 2, 3, 4}, {0, 2, 1, 0, 3, 0, 0, 4});
  const auto [values, places] = topk(x, 3, 1);
  expect(values, {5, 9, 5, 8, 2, 6});
  expect(places, {1, 3, 2, 0, 3, 1});
  expect_gradient(values, x, {1, 2, 3, 4, 5, 6}, {0, 4, 1, 6, 3, 0, 5, 2});
  expect(topk(in({3}, {-kInf, kNan, kInf}), 3)[1], {1, 2, 0});
  expect(cumsum(x, 1), {1, 8, 6, 14, 11, 20, 13, 29});
  expect_gradient(cumsum(x, 1), x, {1, 2, 3, 4, 5, 6, 7, 8}, {16, 20, 15, 18, 12, 14, 7, 8});
}

TEST_P(Rows, MatricesByHand) {
  const Expression x = in({3, 3}, {1.0F, 0.5F, 0.25F, 0.5F, 1.0F, 0.5F, 0.25F, 0.5F, 1.0F});
  const double t = 1.0 / 3.0;
  const Numbers inverse_of_x{4 * t, -2 * t, 0.0, -2 * t, 5 * t, -2 * t, 0.0, -2 * t, 4 * t};
  expect(inverse(x), inverse_of_x);
  expect(logdet(x), {-0.575364144903561854878438});
  Numbers scaled;
  for (const double v : inverse_of_x) {
    scaled.push_back(3.0 * v);
  }
  expect_gradient(logdet(x), x, {3.0F}, scaled);
  // Two examples; one of them not symmetric, one with a negative determinant.
  const Expression two = in(Dim({2, 2}, 2), {2.0F, 1.0F, 0.0F, 1.0F, 0.0F, 1.0F, 1.0F, 0.0F});
  expect(inverse(two), {0.5, -0.5, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0});
  expect(logdet(two), {std::log(2.0), kNan});
  expect_gradient(pick_batch_elem(logdet(two), 0U), two, {1.0F},
                  {0.5, 0.0, -0.5, 1.0, 0.0, 0.0, 0.0, 0.0});
}

// ---- bounds
// ----------------------------------------------------------------------------------------

TEST_P(Rows, AttributesAndIndicesAtTheirBounds) {
  constexpr unsigned kHuge = std::numeric_limits<unsigned>::max();
  const Expression x = in({4, 3}, std::vector<float>(12, 1.0F));
  const Expression v = in({4}, {1, 2, 3, 4});
  for (const unsigned d : {2U, 7U, kHuge}) {
    EXPECT_THROW(cumsum(x, d), errors::ShapeError) << d;
    EXPECT_THROW(kmax_pooling(x, 1, d), errors::ShapeError) << d;
    EXPECT_THROW(topk(x, 1, d), errors::ShapeError) << d;
    EXPECT_THROW(sparsemax(x, d), errors::ShapeError) << d;
    EXPECT_THROW(constrained_softmax(x, x, d), errors::ShapeError) << d;
    EXPECT_THROW(log_softmax(x, {0}, d), errors::ShapeError) << d;
  }
  for (const unsigned k : {0U, 5U, kHuge}) {
    EXPECT_THROW(topk(v, k), errors::ShapeError) << k;
    EXPECT_THROW(kmax_pooling(x, k), errors::ShapeError) << k;
  }
  for (const unsigned index : {4U, kHuge}) {
    EXPECT_THROW(sparsemax_loss(v, index), errors::IndexError) << index;
    EXPECT_THROW(log_softmax(v, {0, index}), errors::IndexError) << index;
    EXPECT_THROW(log_softmax(x, {index}, 1), errors::IndexError) << index;
  }
  EXPECT_THROW(log_softmax(x, {3}, 1), errors::IndexError);
  EXPECT_THROW(log_softmax(v, std::vector<unsigned>{}), errors::ValueError);
  EXPECT_THROW(sparsemax_loss(v, std::vector<unsigned>{}), errors::ValueError);
  EXPECT_THROW(sparsemax_loss(x, 0U), errors::ShapeError);
  EXPECT_THROW(constrained_softmax(x, v), errors::ShapeError);
  EXPECT_THROW(inverse(x), errors::ShapeError);
  EXPECT_THROW(logdet(v), errors::ShapeError);
  EXPECT_THROW(logdet(in({1, 1, 1}, {1.0F})), errors::ShapeError);
  EXPECT_THROW(weight_norm(v, v), errors::ShapeError);
  EXPECT_THROW(rms_norm(x, in({3}, {1, 2, 3})), errors::ShapeError);
  for (const float epsilon : {-1.0F, kNan}) {
    EXPECT_THROW(rms_norm(v, v, epsilon), errors::ValueError) << epsilon;
  }
  // An index by pointer is looked at when the node runs, and the graph goes on afterwards.
  std::vector<unsigned> support{4};
  const Expression loss = sparsemax_loss(v, &support);
  EXPECT_THROW(graph.forward(loss), errors::IndexError);
  support[0] = 3;
  graph.invalidate();
  expect(loss, {0.0});
}

}  // namespace
}  // namespace dynet::testing
