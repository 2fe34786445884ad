// Every bound that simd_math-inl.h states, on every target of this machine.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_math_test.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd_math-inl.h"
#include "kernels/simd_memory-inl.h"
#include "testing/tolerance.h"
#include "testing/worst.h"
#include "ulps.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

/// y = f(x) for a number of elements that is a multiple of every target's lanes.
void apply_math(char f, const float* x, float* y, std::size_t n) {
  const FloatTag d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto v = hn::LoadU(d, x + i);
    FloatVector r = v;
    FloatVector other = v;
    switch (f) {
      case 'e':
        r = exp(d, v);
        break;
      case 'm':
        r = expm1(d, v);
        break;
      case 'l':
        r = log(d, v);
        break;
      case 'p':
        r = log1p(d, v);
        break;
      case 't':
        r = tanh(d, v);
        break;
      case 'g':
        r = logistic(d, v);
        break;
      case 'f':
        r = erf(d, v);
        break;
      case '5':
        r = power(d, v, hn::Set(d, 5.0F));
        break;
      case '0':
        r = power(d, v, hn::Zero(d));
        break;
      case 'c':
        cos_sin_of_turn(d, v, r, other);
        break;
      default:
        cos_sin_of_turn(d, v, other, r);
        break;
    }
    hn::StoreU(r, d, y + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet::kernels {
HWY_EXPORT(apply_math);

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> run(char f, std::vector<float> x) {
  const std::size_t n = x.size();
  x.resize((n + 15) / 16 * 16, 0.5F);
  std::vector<float> y(x.size());
  DYNET_FOR_TARGET(apply_math)(f, x.data(), y.data(), x.size());
  y.resize(n);
  return y;
}

class SimdMath : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use_target(GetParam()); }
  void TearDown() override { use_target(supported_targets().front()); }

  void expect_within(char f, double bound, float low, float high, double (*truth)(double)) {
    const std::vector<float> x = sample(low, high, 4099);
    const std::vector<float> y = run(f, x);
    dynet::testing::Worst worst;
    float at = 0.0F;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = ulps(y[i], truth(static_cast<double>(x[i])));
      if (worst.add(error)) {
        at = x[i];
      }
    }
    EXPECT_GT(x.size(), 1000U);
    EXPECT_LE(worst.get(), bound) << f << " at " << at;
    RecordProperty(std::string("worst_ulps_") + f, std::to_string(worst.get()));
  }
};

TEST_P(SimdMath, ErrorsAreWithinTheStatedBounds) {
  const bool is_fused = GetParam() != "SSE4";
  expect_within('e', 2.0, -87.33F, 88.72F, [](double x) { return std::exp(x); });
  expect_within('m', 3.0, -1000.0F, 88.72F, [](double x) { return std::expm1(x); });
  expect_within('l', 3.0, std::numeric_limits<float>::min(), std::numeric_limits<float>::max(),
                [](double x) { return std::log(x); });
  expect_within('p', 4.0, std::nextafter(-1.0F, 0.0F), std::numeric_limits<float>::max(),
                [](double x) { return std::log1p(x); });
  expect_within('t', is_fused ? 5.0 : 6.0, -1000.0F, 1000.0F,
                [](double x) { return std::tanh(x); });
  expect_within('g', 4.0, -87.33F, 1000.0F, [](double x) { return 1.0 / (1.0 + std::exp(-x)); });
}

TEST_P(SimdMath, ErrorFunctionAndPowers) {
  expect_within('f', 3.0, -1000.0F, 1000.0F, [](double x) { return std::erf(x); });
  expect_within('5', 10.0, 1e-6F, 1e6F, [](double x) { return x * x * x * x * x; });
  const auto one = [](char f, float x) { return run(f, {x})[0]; };
  EXPECT_EQ(one('f', 4.0F), 1.0F);
  EXPECT_EQ(one('f', -kInf), -1.0F);
  EXPECT_EQ(one('f', -0.0F), 0.0F);
  EXPECT_TRUE(std::isnan(one('f', kNan)));
  EXPECT_EQ(one('5', -2.0F), -32.0F);
  EXPECT_EQ(one('0', 0.0F), 1.0F);
}

TEST_P(SimdMath, CosineAndSineOfATurn) {
  std::vector<float> u;
  u.reserve(1U << 20U);
  for (int i = 0; i < 1 << 20; ++i) {
    u.push_back(static_cast<float>(i) * 0x1p-20F);
  }
  const std::vector<float> c = run('c', u);
  const std::vector<float> s = run('s', u);
  dynet::testing::Worst worst;
  for (std::size_t i = 0; i < u.size(); ++i) {
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(u[i]);
    worst.add(std::fabs(static_cast<double>(c[i]) - std::cos(angle)));
    worst.add(std::fabs(static_cast<double>(s[i]) - std::sin(angle)));
  }
  EXPECT_LE(worst.get(), tolerance::kCosSin);
}

TEST_P(SimdMath, EdgesAreAsStated) {
  const auto one = [](char f, float x) { return run(f, {x})[0]; };
  EXPECT_EQ(one('e', -88.0F), 0.0F);
  EXPECT_EQ(one('e', -kInf), 0.0F);
  EXPECT_EQ(one('e', 88.73F), kInf);
  EXPECT_EQ(one('e', kInf), kInf);
  EXPECT_EQ(one('e', 0.0F), 1.0F);
  EXPECT_EQ(one('m', -kInf), -1.0F);
  EXPECT_EQ(one('m', 100.0F), kInf);
  EXPECT_EQ(one('m', 0.0F), 0.0F);
  EXPECT_EQ(one('m', 1e-30F), 1e-30F);
  EXPECT_EQ(one('l', 0.0F), -kInf);
  EXPECT_EQ(one('l', 1.0F), 0.0F);
  EXPECT_TRUE(std::isnan(one('l', -1.0F)));
  EXPECT_TRUE(std::isnan(one('l', -kInf)));
  EXPECT_EQ(one('l', kInf), kInf);
  EXPECT_EQ(one('p', -1.0F), -kInf);
  EXPECT_TRUE(std::isnan(one('p', -1.5F)));
  EXPECT_EQ(one('p', kInf), kInf);
  EXPECT_EQ(one('p', 0.0F), 0.0F);
  EXPECT_EQ(one('p', 1e-30F), 1e-30F);
  EXPECT_EQ(one('t', kInf), 1.0F);
  EXPECT_EQ(one('t', -kInf), -1.0F);
  EXPECT_EQ(one('t', 1e-30F), 1e-30F);
  EXPECT_EQ(one('g', kInf), 1.0F);
  EXPECT_EQ(one('g', -kInf), 0.0F);
  EXPECT_EQ(one('g', -89.0F), 0.0F);
  EXPECT_EQ(one('g', 0.0F), 0.5F);
  // NaN stays NaN, whatever its payload.
  for (const std::uint32_t payload : {0x00000001U, 0x00001234U, 0x003FFFFFU, 0x80000000U}) {
    const auto nan = std::bit_cast<float>(std::bit_cast<std::uint32_t>(kNan) | payload);
    for (const char f : {'e', 'm', 'l', 'p', 't', 'g'}) {
      EXPECT_TRUE(std::isnan(one(f, nan))) << f;
    }
  }
}

TEST_P(SimdMath, TanhStaysWithinOne) {
  for (const float y : run('t', sample(-20.0F, 20.0F, 1021))) {
    ASSERT_LE(std::fabs(y), 1.0F);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, SimdMath, ::testing::ValuesIn(supported_targets()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace dynet::kernels
#endif
