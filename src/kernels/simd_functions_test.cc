// Every bound that simd_functions-inl.h states, on every target of this machine.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "dynet/ext/gamma.h"

#include "kernels/simd_targets.h"
#include "testing/sanitized.h"
#include "testing/tolerance.h"
#include "testing/worst.h"
#include "ulps.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_functions_test.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd_functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

/// z = f(x), or f(x, y), for a number of elements that is a multiple of every target's lanes.
void apply_function(char f, const float* x, const float* y, float* z, std::size_t n) {
  const FloatTag d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto v = hn::LoadU(d, x + i);
    FloatVector r = v;
    switch (f) {
      case 's':
        r = sin(d, v);
        break;
      case 'c':
        r = cos(d, v);
        break;
      case 't':
        r = tan(d, v);
        break;
      case 'S':
        r = asin(d, v);
        break;
      case 'C':
        r = acos(d, v);
        break;
      case 'T':
        r = atan(d, v);
        break;
      case 'g':
        r = log_gamma(d, v);
        break;
      case 'd':
        r = digamma(d, v);
        break;
      default:
        r = pow(d, v, hn::LoadU(d, y + i));
        break;
    }
    hn::StoreU(r, d, z + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet::kernels {
HWY_EXPORT(apply_function);

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();

std::vector<float> run(char f, std::vector<float> x, std::vector<float> y = {}) {
  const std::size_t n = x.size();
  x.resize((n + 15) / 16 * 16, 0.5F);
  y.resize(x.size(), 0.5F);
  std::vector<float> z(x.size());
  DYNET_FOR_TARGET(apply_function)(f, x.data(), y.data(), z.data(), x.size());
  z.resize(n);
  return z;
}
float one(char f, float x, float y = 0.5F) { return run(f, {x}, {y})[0]; }

double log_gamma_of(double x) { return rule::log_gamma(x); }
double digamma_of(double x) { return rule::derivative_of_log_gamma(x); }

class SimdFunctions : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use_target(GetParam()); }
  void TearDown() override { use_target(supported_targets().front()); }

  /// `relative`: the bound is relative to numbers above 1, absolute below; else it is in ulp.
  void expect_within(char f, double bound, float low, float high, double (*truth)(double),
                     bool relative = false) {
    const std::vector<float> x = sample(low, high, dynet::testing::trials(4099U, 16411U));
    const std::vector<float> y = run(f, x);
    dynet::testing::Worst worst;
    float at = 0.0F;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double t = truth(static_cast<double>(x[i]));
      const double error =
          relative ? dynet::testing::relative_error(static_cast<double>(y[i]), t) : ulps(y[i], t);
      if (worst.add(error)) {
        at = x[i];
      }
    }
    EXPECT_GT(x.size(), 1000U);
    EXPECT_LE(worst.get(), bound) << f << " at " << at;
    RecordProperty(std::string("worst_") + f, std::to_string(worst.get()));
  }
};

TEST_P(SimdFunctions, Sines) {
  for (const float top : {100.0F, 12800.0F, kMax}) {
    expect_within('s', 3.0, -top, top, [](double x) { return std::sin(x); });
    expect_within('c', 3.0, -top, top, [](double x) { return std::cos(x); });
    expect_within('t', 4.0, -top, top, [](double x) { return std::tan(x); });
  }
  // The floats that are nearest to multiples of pi / 2.
  std::vector<float> x;
  for (int k = 1; k < 8000; ++k) {
    x.push_back(static_cast<float>(k * 1.5707963267948966));
  }
  for (const auto& [f, truth] :
       {std::pair<char, double (*)(double)>{'s', [](double v) { return std::sin(v); }},
        {'c', [](double v) { return std::cos(v); }},
        {'t', [](double v) { return std::tan(v); }}}) {
    const std::vector<float> y = run(f, x);
    dynet::testing::Worst worst;
    for (std::size_t i = 0; i < x.size(); ++i) {
      worst.add(ulps(y[i], truth(static_cast<double>(x[i]))));
    }
    EXPECT_LE(worst.get(), f == 't' ? 4.0 : 3.0) << f;
  }
  for (const char f : {'s', 'c', 't'}) {
    EXPECT_TRUE(std::isnan(one(f, kInf)));
    EXPECT_TRUE(std::isnan(one(f, -kInf)));
    EXPECT_TRUE(std::isnan(one(f, kNan)));
  }
  EXPECT_EQ(one('s', 0.0F), 0.0F);
  EXPECT_EQ(one('c', 0.0F), 1.0F);
  EXPECT_EQ(one('s', 1e-30F), 1e-30F);
}

TEST_P(SimdFunctions, InverseSines) {
  expect_within('S', 3.0, -1.0F, 1.0F, [](double x) { return std::asin(x); });
  expect_within('C', 3.0, -1.0F, 1.0F, [](double x) { return std::acos(x); });
  expect_within('T', 3.0, -kMax, kMax, [](double x) { return std::atan(x); });
  EXPECT_EQ(one('S', 1.0F), static_cast<float>(std::asin(1.0)));
  EXPECT_EQ(one('C', -1.0F), static_cast<float>(std::acos(-1.0)));
  EXPECT_EQ(one('C', 1.0F), 0.0F);
  EXPECT_EQ(one('T', -kInf), static_cast<float>(-std::acos(0.0)));
  for (const float x : {1.5F, -1.0000001F, kInf, kNan}) {
    EXPECT_TRUE(std::isnan(one('S', x)) && std::isnan(one('C', x))) << x;
  }
  EXPECT_TRUE(std::isnan(one('T', kNan)));
}

TEST_P(SimdFunctions, Powers) {
  const std::vector<float> base = sample(1e-37F, kMax, dynet::testing::trials(40009U, 160009U));
  dynet::testing::Worst worst;
  for (const float y : {-3.0F, -1.0F, -0.5F, 0.1F, 0.5F, 1.0F, 2.0F, 2.5F, 10.0F, 37.25F}) {
    const std::vector<float> z = run('p', base, std::vector<float>(base.size(), y));
    for (std::size_t i = 0; i < base.size(); ++i) {
      const double truth = std::pow(static_cast<double>(base[i]), static_cast<double>(y));
      const bool is_normal = truth >= 1.2e-38 && truth < 3.4e38;
      worst.add(is_normal ? ulps(z[i], truth) : 0.0);
    }
  }
  EXPECT_LE(worst.get(), 1.0);
  const std::vector<float> all{-kInf, -kMax, -3.0F, -2.5F, -2.0F, -1.0F, -0.5F, -0.0F,       0.0F,
                               0.5F,  1.0F,  2.0F,  2.5F,  3.0F,  1e30F, kMax,  16777217.0F, kInf};
  for (const float x : all) {
    for (const float y : all) {
      const float z = one('p', x, y);
      const auto truth =
          static_cast<float>(std::pow(static_cast<double>(x), static_cast<double>(y)));
      EXPECT_TRUE(z == truth || (std::isnan(z) && std::isnan(truth)) ||
                  ulps(z, static_cast<double>(truth)) <= 1.0)
          << x << " " << y << ": " << z << " against " << truth;
    }
    EXPECT_EQ(one('p', kNan, 0.0F), 1.0F);
    EXPECT_EQ(one('p', 1.0F, kNan), 1.0F);
    EXPECT_TRUE(std::isnan(one('p', kNan, 2.0F)));
    EXPECT_TRUE(std::isnan(one('p', 2.0F, kNan)));
  }
}

TEST_P(SimdFunctions, GammaFunction) {
  expect_within('g', 8.0, std::numeric_limits<float>::min(), 1e36F, log_gamma_of);
  expect_within('g', tolerance::kFewInFloat, -100.0F, 1e36F, log_gamma_of, true);
  expect_within('d', tolerance::kFewInFloat, 1e-30F, kMax, digamma_of, true);
  // Near the poles the slope of the cotangent makes a rounding of x large.
  std::vector<float> x;
  x.reserve(4000);
  for (int i = 0; i < 4000; ++i) {
    x.push_back(-0.05F - static_cast<float>(i) * 0.01F);
  }
  const std::vector<float> y = run('d', x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double truth = digamma_of(static_cast<double>(x[i]));
    if (std::isinf(truth)) {
      EXPECT_EQ(static_cast<double>(y[i]), truth) << x[i];
      continue;
    }
    EXPECT_LE(std::fabs(static_cast<double>(y[i]) - truth),
              tolerance::kFewInFloat * std::max(1.0, std::fabs(truth)))
        << x[i];
  }
  EXPECT_EQ(one('g', 1.0F), 0.0F);
  EXPECT_EQ(one('g', 2.0F), 0.0F);
  for (const float pole : {0.0F, -1.0F, -2.0F, -1e10F, kInf, -kInf}) {
    EXPECT_EQ(one('g', pole), kInf) << pole;
  }
  EXPECT_TRUE(std::isnan(one('g', kNan)));
  EXPECT_TRUE(std::isnan(one('d', kNan)));
  EXPECT_EQ(one('d', kInf), kInf);
  EXPECT_EQ(one('d', 0.0F), -kInf);
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, SimdFunctions, ::testing::ValuesIn(supported_targets()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace dynet::kernels
#endif
