// Values of the operations: small cases by hand, and the edges that the specification names.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "dynet/ops/all.h"

#include "ops/by_hand.h"
#include "testing/tolerance.h"

namespace dynet::ops::testing {
namespace {

using Numbers = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();

void set(Held& to, const Numbers& values) {
  ASSERT_EQ(to.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    to[i] = values[i];
  }
}
Numbers get(Held& from) {
  Numbers values;
  for (std::size_t i = 0; i < from.size(); ++i) {
    values.push_back(from[i]);
  }
  return values;
}
void expect_near(const Numbers& a, const Numbers& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], b[i], tolerance::kLongInDouble * std::fabs(b[i]) + tolerance::kSameInDouble)
        << i;
  }
}

template <class Op>
Numbers value(const ext::Example<Op>& example, const std::vector<Numbers>& in, unsigned batch = 1) {
  const Sample s = sample_of(example);
  ByHand call(s, {.batch = batch}, 1);
  for (std::size_t a = 0; a < in.size(); ++a) {
    set(call.in(a), in[a]);
  }
  call.forward();
  return get(call.out(0));
}
/// The gradient of argument `a` if the gradient of each output element is 1.
template <class Op>
Numbers gradient(const ext::Example<Op>& example, const std::vector<Numbers>& in, std::size_t a) {
  const Sample s = sample_of(example);
  ByHand call(s, {}, 1);
  for (std::size_t i = 0; i < in.size(); ++i) {
    set(call.in(i), in[i]);
  }
  call.d_out(0).fill(1.0);
  call.forward();
  call.backward();
  return get(call.d_in(a));
}

TEST(Values, Activations) {
  const Numbers x{-2.0, -0.5, 0.0, 0.25, 3.0};
  const auto check = [&](auto op, double (*f)(double)) {
    Numbers expected;
    for (const double v : x) {
      expected.push_back(f(v));
    }
    expect_near(value(ext::Example<decltype(op)>{op, {{5}}}, {x}), expected);
  };
  check(Tanh{}, [](double v) { return std::tanh(v); });
  check(Logistic{}, [](double v) { return 1 / (1 + std::exp(-v)); });
  check(Rectify{}, [](double v) { return v > 0 ? v : 0; });
  check(Exp{}, [](double v) { return std::exp(v); });
  check(Erf{}, [](double v) { return std::erf(v); });
  check(Square{}, [](double v) { return v * v; });
  check(Elu{2.5F}, [](double v) { return v > 0 ? v : 2.5 * (std::exp(v) - 1); });
  check(Silu{2.0F}, [](double v) { return v / (1 + std::exp(-2 * v)); });
  check(Negate{}, [](double v) { return -v; });
  expect_near(value(ext::Example<Log>{{}, {{2}}}, {{1.0, 4.0}}), {0.0, std::log(4.0)});
  EXPECT_EQ(value(ext::Example<Log>{{}, {{1}}}, {{0.0}})[0], -kInf);
  expect_near(value(ext::Example<Sqrt>{{}, {{2}}}, {{0.0, 9.0}}), {0.0, 3.0});
  EXPECT_EQ(gradient(ext::Example<Rectify>{{}, {{2}}}, {{0.0, 1.0}}, 0), (Numbers{0.0, 1.0}));
}

TEST(Values, Arithmetic) {
  const auto scalar = [](auto op, float a) {
    using Op = decltype(op);
    return value(ext::Example<Op>{op, {{2}}}.with_values({a}), {{3.0, -1.0}});
  };
  EXPECT_EQ(scalar(AddScalar{}, 0.5F), (Numbers{3.5, -0.5}));
  EXPECT_EQ(scalar(SubtractScalar{}, 0.5F), (Numbers{2.5, -1.5}));
  EXPECT_EQ(scalar(SubtractFrom{}, 0.5F), (Numbers{-2.5, 1.5}));
  EXPECT_EQ(scalar(MultiplyScalar{}, 0.5F), (Numbers{1.5, -0.5}));
  EXPECT_EQ(scalar(DivideScalar{}, 0.5F), (Numbers{6.0, -2.0}));
  EXPECT_EQ(value(ext::Example<Subtract>{{}, {{2}, {1}}}, {{3.0, 5.0}, {1.0}}),
            (Numbers{2.0, 4.0}));
  EXPECT_EQ(value(ext::Example<CDiv>{{}, {{2}, {2}}}, {{3.0, 5.0}, {2.0, -5.0}}),
            (Numbers{1.5, -1.0}));
  const ext::Example<Max> max{{}, {{3}, {3}}};
  EXPECT_EQ(value(max, {{1.0, 2.0, 4.0}, {3.0, 2.0, -4.0}}), (Numbers{3.0, 2.0, 4.0}));
  EXPECT_EQ(gradient(max, {{1.0, 2.0, 4.0}, {3.0, 2.0, -4.0}}, 0), (Numbers{0.0, 0.0, 1.0}));
  EXPECT_EQ(gradient(max, {{1.0, 2.0, 4.0}, {3.0, 2.0, -4.0}}, 1), (Numbers{1.0, 1.0, 0.0}));
  EXPECT_EQ(value(ext::Example<Sum>{{}, {{2}, {2}, {2}}}, {{1, 2}, {10, 20}, {100, 200}}),
            (Numbers{111, 222}));
  EXPECT_EQ(value(ext::Example<Average>{{}, {{2}, {2}}}, {{1, 2}, {3, 8}}), (Numbers{2, 5}));
}

TEST(Values, Reductions) {
  const Numbers x{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};  // {2,3,2}
  const auto over = [&](auto op) {
    return value(ext::Example<decltype(op)>{op, {{2, 3, 2}}}, {x});
  };
  EXPECT_EQ(over(SumDim{{{0, 2}, 2}}), (Numbers{1 + 2 + 7 + 8, 3 + 4 + 9 + 10, 5 + 6 + 11 + 12}));
  EXPECT_EQ(over(SumDim{{{1}, 1}}), (Numbers{9, 12, 27, 30}));
  EXPECT_EQ(over(SumDim{{{2, 0, 1}, 3}}), (Numbers{78}));
  expect_near(over(MeanDim{{{0, 2}, 2}}), {4.5, 6.5, 8.5});
  expect_near(over(MeanDim{{{1}, 1}, 9}), {1, 12.0 / 9, 3, 30.0 / 9});
  expect_near(over(MomentDim{{{1}, 1}, 2}), {35.0 / 3, 56.0 / 3, 251.0 / 3, 308.0 / 3});
  expect_near(over(MomentDim{{{0, 1, 2}, 3}, 3, 1}), {78.0 * 78.0});
  expect_near(over(StdDim{{{0}, 1}}), {0.5, 0.5, 0.5, 0.5, 0.5, 0.5});
  // With n = 4 the mean of {1, 2} is 3/4.
  expect_near({over(StdDim{{{0}, 1}, 4})[0]}, {std::sqrt((0.0625 + 1.5625) / 4)});
  EXPECT_EQ(over(MaxDim{1}), (Numbers{5, 6, 11, 12}));
  EXPECT_EQ(over(MinDim{2}), (Numbers{1, 2, 3, 4, 5, 6}));
  expect_near({over(LogSumExpDim{0})[0]}, {std::log(std::exp(1) + std::exp(2))});
  expect_near(value(ext::Example<LogSumExpDim>{{0}, {{2}}}, {{2000, 2000}}),
              {2000 + std::log(2.0)});
  // The first of equal elements counts.
  EXPECT_EQ(gradient(ext::Example<MaxDim>{{0}, {{4}}}, {{1, 3, 3, 2}}, 0), (Numbers{0, 1, 0, 0}));
  EXPECT_EQ(gradient(ext::Example<MinDim>{{0}, {{4}}}, {{1, 3, 1, 2}}, 0), (Numbers{1, 0, 0, 0}));
}

TEST(Values, LayerNorm) {
  const ext::Example<LayerNorm> op{{}, {{2, 2}, {2}, {2}}};
  const Numbers y = value(op, {{1, 3, 10, 20}, {2, 5}, {100, 200}});
  expect_near(y, {100 - 2 / (1 + 1e-8), 200 + 5 / (1 + 1e-8), 100 - 10 / (5 + 1e-8),
                  200 + 25 / (5 + 1e-8)});
  // Equal elements alone: b, and no gradient.
  EXPECT_EQ(value(op, {{4, 4, 4, 4}, {2, 5}, {1, 2}}), (Numbers{1, 2, 1, 2}));
  EXPECT_EQ(gradient(op, {{4, 4, 4, 4}, {2, 2}, {1, 2}}, 0), (Numbers{0, 0, 0, 0}));
}

TEST(Values, Products) {
  const Numbers w{1, 2, 3, 4, 5, 6};  // {2,3}: rows 1 3 5 and 2 4 6
  EXPECT_EQ(value(ext::Example<MatMul>{{}, {{2, 3}, {3}}}, {w, {1, 10, 100}}), (Numbers{531, 642}));
  EXPECT_EQ(value(ext::Example<AffineTransform>{{}, {{2}, {2, 3}, {3, 2}}},
                  {{1000, 2000}, w, {1, 10, 100, 100, 10, 1}}),
            (Numbers{1531, 2642, 1135, 2246}));
  EXPECT_EQ(value(ext::Example<Transpose>{{}, {{2, 3}}}, {w}), (Numbers{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(value(ext::Example<Transpose>{{{{2, 0, 1}, 3}}, {{1, 2, 3}}}, {w}),
            (Numbers{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(value(ext::Example<DotProduct>{{}, {{3}, {3}}}, {{1, 2, 3}, {4, 5, 6}}), (Numbers{32}));
  EXPECT_EQ(value(ext::Example<SquaredNorm>{{}, {{3}}}, {{1, 2, 3}}), (Numbers{14}));
  EXPECT_EQ(value(ext::Example<SquaredDistance>{{}, {{2}, {2}}}, {{1, 2}, {4, 6}}), (Numbers{25}));
  EXPECT_EQ(value(ext::Example<SumElems>{{}, {{2}}}, {{1, 2, 3, 4}}, 2), (Numbers{3, 7}));
  EXPECT_EQ(value(ext::Example<SumBatches>{{}, {{2}}}, {{1, 2, 3, 4}}, 2), (Numbers{4, 6}));
}

TEST(Values, PartsAndLists) {
  const Numbers x{1, 2, 3, 4, 5, 6};  // {2,3}
  EXPECT_EQ(value(ext::Example<Pick>{{0}, {{2, 3}}}.with_indices({1}), {x}), (Numbers{2, 4, 6}));
  EXPECT_EQ(value(ext::Example<Pick>{{1}, {{2, 3}}}.with_indices({2}), {x}), (Numbers{5, 6}));
  EXPECT_EQ(value(ext::Example<PickRange>{{1, 3, 1}, {{2, 3}}}, {x}), (Numbers{3, 4, 5, 6}));
  EXPECT_EQ(value(ext::Example<PickRange>{{1, 2, 0}, {{2, 3}}}, {x}), (Numbers{2, 4, 6}));
  EXPECT_EQ(value(ext::Example<Concatenate>{{0}, {{2, 3}, {1, 3}}}, {x, {7, 8, 9}}),
            (Numbers{1, 2, 7, 3, 4, 8, 5, 6, 9}));
  EXPECT_EQ(value(ext::Example<Concatenate>{{1}, {{2, 3}, {2}}}, {x, {7, 8}}),
            (Numbers{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(
      value(ext::Example<ConcatenateToBatch>{{}, {{2}, {2}}}, {{1, 2, 3, 4}, {5, 6, 7, 8}}, 2),
      (Numbers{1, 2, 3, 4, 5, 6, 7, 8}));
  // by_hand.h takes the last example.
  EXPECT_EQ(value(ext::Example<PickBatchElem>{{}, {{2}}}.with_indices({0}), {x}, 3),
            (Numbers{5, 6}));
  EXPECT_EQ(value(ext::Example<Reshape>{{{3, 2}}, {{2, 3}}}, {x}), x);
}

TEST(Values, Softmaxes) {
  const Numbers x{1, 2, 3, 4};
  const double a = 1 / (1 + std::exp(1.0));
  const double b = 1 / (1 + std::exp(2.0));
  expect_near(value(ext::Example<Softmax>{{0}, {{2, 2}}}, {x}), {a, 1 - a, a, 1 - a});
  expect_near(value(ext::Example<Softmax>{{1}, {{2, 2}}}, {x}), {b, b, 1 - b, 1 - b});
  expect_near(value(ext::Example<LogSoftmax>{{0}, {{2}}}, {{1, 2}}),
              {std::log(a), std::log(1 - a)});
  expect_near(value(ext::Example<PickNegLogSoftmax>{{}, {{2}}}.with_indices({0}), {{1, 2}}),
              {-std::log(a)});
}

TEST(Values, BinaryLogLossAtItsEdges) {
  const double tiny = -std::log(1.17549435e-38);
  const auto loss = [](double x, double y) {
    return value(ext::Example<BinaryLogLoss>{{}, {{1}, {1}}}, {{x}, {y}})[0];
  };
  const auto slope = [](double x, double y) {
    return gradient(ext::Example<BinaryLogLoss>{{}, {{1}, {1}}}, {{x}, {y}}, 0)[0];
  };
  EXPECT_NEAR(loss(0.25, 0.5), -0.5 * std::log(0.25) - 0.5 * std::log(0.75),
              tolerance::kSameInDouble);
  EXPECT_NEAR(loss(0.25, 1), -std::log(0.25), tolerance::kSameInDouble);
  EXPECT_NEAR(loss(0.25, 0), -std::log(0.75), tolerance::kSameInDouble);
  EXPECT_EQ(loss(1, 1), 0.0);
  EXPECT_EQ(loss(0, 0), 0.0);
  EXPECT_NEAR(loss(0, 1), tiny, tolerance::kThroughFloat);
  EXPECT_NEAR(loss(1, 0), tiny, tolerance::kThroughFloat);
  EXPECT_NEAR(loss(0, 0.5), tiny, tolerance::kThroughFloat);
  EXPECT_NEAR(loss(1, 0.25), tiny, tolerance::kThroughFloat);
  EXPECT_EQ(slope(0.5, 0.5), 0.0);
  EXPECT_EQ(slope(1, 1), 0.0);
  EXPECT_EQ(slope(0, 0), 0.0);
  EXPECT_NEAR(slope(0, 1) / (-1 / 1.17549435e-38), 1.0, tolerance::kThroughFloat);
  EXPECT_NEAR(slope(1, 0), 1 / (1 - 0.9999999), tolerance::kThroughFloat / (1 - 0.9999999));
}

TEST(Values, Random) {
  const Numbers ones(100, 1.0);
  for (const double y : value(ext::Example<Dropout>{{1.0F}, {{100}}}, {ones})) {
    EXPECT_EQ(y, 0.0);
  }
  EXPECT_EQ(value(ext::Example<Dropout>{{0.0F}, {{100}}}, {ones}), ones);
  int dropped = 0;
  for (const double y : value(ext::Example<Dropout>{{0.25F}, {{100}}}, {ones})) {
    EXPECT_TRUE(y == 0.0 || std::fabs(y - 1 / 0.75) < tolerance::kSameInDouble) << y;
    dropped += y == 0.0 ? 1 : 0;
  }
  EXPECT_GT(dropped, 5);
  EXPECT_LT(dropped, 60);
  EXPECT_EQ(value(ext::Example<Noise>{{0.0F}, {{100}}}, {ones}), ones);
  EXPECT_NE(value(ext::Example<Noise>{{0.5F}, {{100}}}, {ones}), ones);
  double sum = 0;
  for (const double y : value(ext::Example<RandomBernoulli>{{{1000}, 0.25F, 2.0F}, {}}, {})) {
    EXPECT_TRUE(y == 0.0 || y == 2.0);
    sum += y;
  }
  EXPECT_NEAR(sum / 2000, 0.25, tolerance::of_mean(0.433, 1000));
  for (const double y : value(ext::Example<RandomUniform>{{{100}, -1.0F, 3.0F}, {}}, {})) {
    EXPECT_TRUE(y >= -1.0 && y < 3.0);
  }
  EXPECT_EQ(value(ext::Example<Constant>{{{3}, 2.5F}, {}}, {}), (Numbers{2.5, 2.5, 2.5}));
}

double sigma(double v) { return 1 / (1 + std::exp(-v)); }

TEST(Values, Cells) {
  const double i = 0.1, f = -0.3, o = 0.7, g = 1.1, c = 0.4;
  const double c_new = sigma(f + 0.5) * c + sigma(i) * std::tanh(g);
  const Sample cell = sample_of(ext::Example<LstmCell>{{0.5F}, {{4}, {1}}});
  ByHand call(cell, {}, 1);
  set(call.in(0), {i, f, o, g});
  set(call.in(1), {c});
  call.forward();
  EXPECT_NEAR(call.out(0)[0], c_new, tolerance::kSameInDouble);
  EXPECT_NEAR(call.out(1)[0], sigma(o) * std::tanh(c_new), tolerance::kSameInDouble);

  expect_near(value(ext::Example<LstmGates>{{1.0F}, {{4}}}, {{i, f, o, g}}),
              {sigma(i), sigma(f + 1), sigma(o), std::tanh(g)});
  expect_near(value(ext::Example<VanillaLstmC>{{}, {{1}, {4}}}, {{c}, {i, f, o, g}}),
              {i * g + f * c});
  expect_near(value(ext::Example<VanillaLstmH>{{}, {{1}, {4}}}, {{c}, {i, f, o, g}}),
              {o * std::tanh(c)});
  expect_near(value(ext::Example<LstmCell>{{0.5F}, {{4}, ext::absent()}}, {{i, f, o, g}, {}}),
              {sigma(i) * std::tanh(g)});
  expect_near(value(ext::Example<CoupledLstmC>{{}, {{1}, {1}, {1}}}, {{i}, {g}, {c}}),
              {sigma(i) * std::tanh(g) + (1 - sigma(i)) * c});
  expect_near(value(ext::Example<CoupledLstmC>{{}, {{1}, {1}, ext::absent()}}, {{i}, {g}, {}}),
              {sigma(i) * std::tanh(g)});
  expect_near(value(ext::Example<CoupledLstmH>{{}, {{1}, {1}}}, {{o}, {c}}),
              {sigma(o) * std::tanh(c)});
  expect_near(value(ext::Example<GatedSum>{{}, {{1}, {1}, {1}, {1}}}, {{i}, {g}, {f}, {c}}),
              {sigma(i) * g + sigma(f) * c});
  expect_near(value(ext::Example<GatedSum>{{}, {{1}, {1}, ext::absent(), ext::absent()}},
                    {{i}, {g}, {}, {}}),
              {sigma(i) * g});

  const double tree = sigma(i) * std::tanh(g) + sigma(f) * c + sigma(0.9) * -0.6;
  const Sample node = sample_of(ext::Example<TreeLstmCell>{{}, {{3}, {1}, {1}, {1}, {1}}});
  ByHand parent(node, {}, 1);
  set(parent.in(0), {i, o, g});
  set(parent.in(1), {f});
  set(parent.in(2), {0.9});
  set(parent.in(3), {c});
  set(parent.in(4), {-0.6});
  parent.forward();
  EXPECT_NEAR(parent.out(0)[0], tree, tolerance::kSameInDouble);
  EXPECT_NEAR(parent.out(1)[0], sigma(o) * std::tanh(tree), tolerance::kSameInDouble);
  const Dim absent = ext::absent();
  expect_near(value(ext::Example<TreeLstmCell>{{}, {{3}, absent, absent, absent, absent}},
                    {{i, o, g}, {}, {}, {}, {}}),
              {sigma(i) * std::tanh(g)});
}

}  // namespace
}  // namespace dynet::ops::testing
