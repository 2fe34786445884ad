// Random draws: the generator itself, moments of the distributions, and that neither the target nor
// the device changes a draw.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/targets.h"
#include "philox.h"
#include "testing/tolerance.h"

namespace dynet::kernels {
namespace {

using ext::Distribution;

constexpr ext::RandomKey kKey{1, 2, 3, 4};

std::vector<float> draw(Distribution kind, double a, double b, std::size_t n,
                        const ext::RandomKey& key = kKey) {
  std::vector<float> y(n);
  cpu_kernels().random(kind, a, b, key, y.data(), static_cast<std::int64_t>(n));
  return y;
}

TEST(Philox, GivesTheWordsOfItsPaper) {
  // Known answers published with the generator: counter and key all zero, and all ones.
  PhiloxKey key(kKey);
  key.key[0] = key.key[1] = key.counter[0] = key.counter[1] = 0;
  EXPECT_EQ(philox(key, 0),
            (std::array<std::uint32_t, 4>{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  key.key[0] = key.key[1] = key.counter[0] = key.counter[1] = 0xFFFFFFFF;
  EXPECT_EQ(philox(key, 0xFFFFFFFFFFFFFFFF),
            (std::array<std::uint32_t, 4>{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
}

TEST(Random, EveryTargetAndDeviceDrawsTheSame) {
  struct Case {
    Distribution kind;
    double a, b, bound;
  };
  for (const Case& c : {Case{Distribution::kBernoulli, 0.3, 2.0, 0.0},
                        Case{Distribution::kUniform, -1.0, 3.0, tolerance::kThreeRoundings},
                        Case{Distribution::kNormal, 0.5, 2.0, tolerance::kNormalInFloat}}) {
    for (const std::size_t n : {1U, 5U, 63U, 64U, 1001U}) {
      std::vector<double> truth(n);
      double_kernels().random(c.kind, c.a, c.b, kKey, truth.data(), static_cast<std::int64_t>(n));
      for (const std::string& target : supported_targets()) {
        use_target(target);
        const std::vector<float> y = draw(c.kind, c.a, c.b, n);
        for (std::size_t i = 0; i < n; ++i) {
          ASSERT_NEAR(static_cast<double>(y[i]), truth[i], c.bound) << target << " element " << i;
        }
      }
      use_target(supported_targets().front());
    }
  }
}

TEST(Random, UniformAndBernoulliAreEqualToTheBitOnAllTargets) {
  const std::vector<float> uniform = draw(Distribution::kUniform, -0.3, 0.9, 1001);
  const std::vector<float> bernoulli = draw(Distribution::kBernoulli, 0.3, 1.0 / 0.7, 1001);
  for (const std::string& target : supported_targets()) {
    use_target(target);
    EXPECT_EQ(draw(Distribution::kUniform, -0.3, 0.9, 1001), uniform) << target;
    EXPECT_EQ(draw(Distribution::kBernoulli, 0.3, 1.0 / 0.7, 1001), bernoulli) << target;
  }
  use_target(supported_targets().front());
}

TEST(Random, AnElementDoesNotDependOnTheLength) {
  for (const auto kind :
       {Distribution::kUniform, Distribution::kBernoulli, Distribution::kNormal}) {
    const std::vector<float> all = draw(kind, 0.3, 1.0, 300);
    for (const std::size_t n : {1U, 2U, 3U, 17U, 64U, 65U, 299U}) {
      const std::vector<float> some = draw(kind, 0.3, 1.0, n);
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()));
    }
  }
}

TEST(Random, KeysDiffer) {
  const auto base = draw(Distribution::kUniform, 0.0, 1.0, 8);
  for (const ext::RandomKey& key :
       {ext::RandomKey{2, 2, 3, 4}, ext::RandomKey{1, 3, 3, 4}, ext::RandomKey{1, 2, 4, 4},
        ext::RandomKey{1, 2, 3, 5}, ext::RandomKey{2, 1, 3, 4}}) {
    EXPECT_NE(draw(Distribution::kUniform, 0.0, 1.0, 8, key), base);
  }
  EXPECT_EQ(draw(Distribution::kUniform, 0.0, 1.0, 8), base);
}

/// Mean of f over the draws.
template <class F>
double mean(const std::vector<float>& x, F f) {
  double sum = 0.0;
  for (const float v : x) {
    sum += f(static_cast<double>(v));
  }
  return sum / static_cast<double>(x.size());
}

TEST(Random, Moments) {
  constexpr std::size_t kCount = 1 << 20;  // a mean is off by 0.001 of a deviation
  const auto normal = draw(Distribution::kNormal, 0.0, 1.0, kCount);
  EXPECT_NEAR(mean(normal, [](double v) { return v; }), 0.0, tolerance::of_mean(1.0, kCount));
  EXPECT_NEAR(mean(normal, [](double v) { return v * v; }), 1.0,
              tolerance::of_mean(std::sqrt(2.0), kCount));
  EXPECT_NEAR(mean(normal, [](double v) { return v * v * v; }), 0.0,
              tolerance::of_mean(std::sqrt(15.0), kCount));
  EXPECT_NEAR(mean(normal, [](double v) { return v * v * v * v; }), 3.0,
              tolerance::of_mean(std::sqrt(96.0), kCount));
  EXPECT_NEAR(mean(normal, [](double v) { return v < 1.0 ? 1.0 : 0.0; }), 0.841345,
              tolerance::of_mean(0.366, kCount));
  const auto uniform = draw(Distribution::kUniform, -1.0, 3.0, kCount);
  EXPECT_NEAR(mean(uniform, [](double v) { return v; }), 1.0, tolerance::of_mean(1.155, kCount));
  EXPECT_NEAR(mean(uniform, [](double v) { return (v - 1.0) * (v - 1.0); }), 16.0 / 12.0,
              tolerance::of_mean(1.193, kCount));
  const auto bernoulli = draw(Distribution::kBernoulli, 0.3, 2.0, kCount);
  EXPECT_NEAR(mean(bernoulli, [](double v) { return v; }), 0.6, tolerance::of_mean(0.917, kCount));
  // Neighbours are independent.
  double product = 0.0;
  for (std::size_t i = 0; i + 1 < kCount; ++i) {
    product += static_cast<double>(normal[i]) * static_cast<double>(normal[i + 1]);
  }
  EXPECT_NEAR(product / kCount, 0.0, tolerance::of_mean(1.0, kCount));
}

TEST(Random, BoundsHold) {
  for (const float v : draw(Distribution::kUniform, 0.0, 1.0, 1 << 16)) {
    ASSERT_TRUE(v >= 0.0F && v < 1.0F);
  }
  for (const float v : draw(Distribution::kUniform, 1.0, 1.0000001, 1 << 12)) {
    ASSERT_TRUE(v >= 1.0F && v < 1.0000001F);
  }
  for (const float v : draw(Distribution::kUniform, 2.0, 2.0, 100)) {
    ASSERT_EQ(v, 2.0F);
  }
  for (const float v : draw(Distribution::kBernoulli, 1.0, 3.0, 1000)) {
    ASSERT_EQ(v, 3.0F);
  }
  for (const float v : draw(Distribution::kBernoulli, 0.0, 3.0, 1000)) {
    ASSERT_EQ(v, 0.0F);
  }
  for (const float v : draw(Distribution::kNormal, 1.0, 0.0, 100)) {
    ASSERT_EQ(v, 1.0F);
  }
}

}  // namespace
}  // namespace dynet::kernels
