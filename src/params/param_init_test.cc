#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "dynet/except.h"
#include "dynet/model.h"
#include "dynet/param-init.h"

#include "support/far_device.h"
#include "testing/temporary_folder.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

std::vector<float> values_of(const Dim& d, const ParameterInit& init) {
  ParameterCollection model;
  return as_vector(*model.add_parameters(d, init).values());
}
float largest(const std::vector<float>& x) {
  float m = 0.0F;
  for (const float v : x) {
    m = std::max(m, std::fabs(v));
  }
  return m;
}
/// All within [-s, s), and some in the outer fifth.
void expect_fills(const std::vector<float>& x, double s) {
  EXPECT_LE(static_cast<double>(largest(x)), s * (1 + tolerance::kThroughFloat));
  EXPECT_GE(static_cast<double>(largest(x)), s * 0.8);
}

TEST(ParameterInit, GlorotRanges) {
  expect_fills(values_of({30, 20}, ParameterInitGlorot()), std::sqrt(6.0 / 50));
  expect_fills(values_of({300}, ParameterInitGlorot()), std::sqrt(3.0 / 300));
  expect_fills(values_of({30, 20}, ParameterInitGlorot(false, 2.0F)), 2 * std::sqrt(6.0 / 50));
  expect_fills(values_of({3, 4, 5}, ParameterInitGlorot()), std::sqrt(9.0 / 12));
  expect_fills(values_of({3, 3, 4, 8}, ParameterInitGlorot()), std::sqrt(6.0 / (9 * 4 + 9 * 8)));
  ParameterCollection model;
  expect_fills(as_vector(model.add_lookup_parameters(100, {16}).get_storage().all_values),
               std::sqrt(3.0 / 16));
  expect_fills(as_vector(model.add_lookup_parameters(100, {16}, ParameterInitGlorot(false))
                             .get_storage()
                             .all_values),
               std::sqrt(6.0 / 116));
  expect_fills(as_vector(model.add_lookup_parameters(10, {3, 3, 4, 8}).get_storage().all_values),
               std::sqrt(6.0 / (9 * 4 + 9 * 8)));
  EXPECT_TRUE(std::isfinite(values_of({}, ParameterInitGlorot())[0]));
}

TEST(ParameterInit, DefaultsOfCollections) {
  ParameterCollection model;
  expect_fills(as_vector(*model.add_parameters({40, 10}).values()), std::sqrt(6.0 / 50));
  expect_fills(as_vector(*model.add_parameters({40, 10}, 0.01F).values()), 0.01);
}

TEST(ParameterInit, SimpleOnes) {
  EXPECT_EQ(values_of({3}, ParameterInitConst(2.5F)), std::vector<float>(3, 2.5F));
  EXPECT_EQ(values_of({2, 2}, ParameterInitIdentity()), (std::vector<float>{1, 0, 0, 1}));
  EXPECT_EQ(values_of({3}, ParameterInitFromVector({1, 2, 3})), (std::vector<float>{1, 2, 3}));
  const std::vector<float> uniform = values_of({1000}, ParameterInitUniform(2, 3));
  EXPECT_GE(*std::min_element(uniform.begin(), uniform.end()), 2.0F);
  EXPECT_LT(*std::max_element(uniform.begin(), uniform.end()), 3.0F);
}

TEST(ParameterInit, NormalTakesTheVariance) {
  const std::vector<float> x = values_of({20000}, ParameterInitNormal(1.0F, 4.0F));
  double mean = 0.0;
  double square = 0.0;
  for (const float v : x) {
    mean += static_cast<double>(v) / 20000;
  }
  for (const float v : x) {
    square += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean) / 20000;
  }
  EXPECT_NEAR(mean, 1.0, tolerance::of_mean(2.0, 20000));
  EXPECT_NEAR(square, 4.0, tolerance::of_mean(4.0 * std::sqrt(2.0), 20000));
}

TEST(ParameterInit, SaxeIsOrthonormalTimesGain) {
  const std::vector<float> q = values_of({8, 8}, ParameterInitSaxe(2.0F));
  for (unsigned i = 0; i < 8; ++i) {
    for (unsigned j = 0; j < 8; ++j) {
      float dot = 0.0F;
      for (unsigned k = 0; k < 8; ++k) {
        dot += q[i * 8 + k] * q[j * 8 + k];
      }
      EXPECT_NEAR(dot, i == j ? 4.0F : 0.0F, tolerance::kSumsInFloat);
    }
  }
}

TEST(ParameterInit, RefusesWhatDoesNotFit) {
  EXPECT_THROW(ParameterInitUniform(0.0F), std::domain_error);
  EXPECT_THROW(ParameterInitUniform(2.0F, 2.0F), std::domain_error);
  EXPECT_THROW(ParameterInitNormal(0.0F, -1.0F), std::domain_error);
  EXPECT_THROW(values_of({2, 3}, ParameterInitIdentity()), std::runtime_error);
  EXPECT_THROW(values_of({2, 3}, ParameterInitSaxe()), std::runtime_error);
  EXPECT_THROW(values_of({2}, ParameterInitFromVector({1, 2, 3})), errors::SizeError);
  EXPECT_THROW(values_of({4}, ParameterInitFromVector({1, 2, 3})), errors::SizeError);
}

TEST(ParameterInit, AFailedOneLeavesTheCollectionAsItWas) {
  ParameterCollection model;
  EXPECT_THROW(model.add_parameters({2, 3}, ParameterInitIdentity(), "w"), errors::UsageError);
  EXPECT_EQ(model.size(), 0U);
  EXPECT_EQ(model.add_parameters({2}, "w").get_fullname(), "/w");
}

TEST(ParameterInit, FromFile) {
  const testing::TemporaryFolder folder;
  const std::string name = folder.file("init.txt");
  const auto write = [&](const char* text) { std::ofstream(name) << text; };
  write("1 2.5\n-3e-1\t4\n");
  EXPECT_EQ(values_of({2, 2}, ParameterInitFromFile(name)),
            (std::vector<float>{1, 2.5F, -0.3F, 4}));
  EXPECT_THROW(values_of({3}, ParameterInitFromFile(name)), errors::IoError);
  EXPECT_THROW(values_of({5}, ParameterInitFromFile(name)), errors::IoError);
  write("1 2x");
  EXPECT_THROW(values_of({2}, ParameterInitFromFile(name)), errors::IoError);
  std::remove(name.c_str());
  EXPECT_THROW(values_of({2}, ParameterInitFromFile(name)), errors::IoError);
}

TEST(ParameterInit, DoubleDeviceGetsTheSameNumbers) {
  Device* checker = testing::test_device("CPU:double");
  ParameterCollection model;
  rndeng->seed(3);
  const std::vector<float> single = as_vector(*model.add_parameters({4, 5}).values());
  rndeng->seed(3);
  EXPECT_EQ(as_vector(*model.add_parameters({4, 5}, checker).values()), single);
}

}  // namespace
}  // namespace dynet
