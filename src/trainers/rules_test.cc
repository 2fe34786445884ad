// The rules of all trainers as loops: every SIMD target against plain double, and properties at
// each place, length and number.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "dynet/ext/update.h"
#include "dynet/trainers/all.h"
#include "dynet/training.h"

#include "kernels/kernels.h"
#include "kernels/targets.h"
#include "testing/tolerance.h"
#include "trainers/simd_steps.h"

namespace dynet::trainers {
namespace {

class StepsTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use(GetParam()); }
  void TearDown() override { use(kernels::supported_targets().front()); }
  static void use(const std::string& target) {
    (void)kernels::cpu_kernels();
    kernels::use_target(target);
    install_simd_steps();
  }
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

  std::mt19937 random_{1};
};
INSTANTIATE_TEST_SUITE_P(Targets, StepsTest, ::testing::ValuesIn(kernels::supported_targets()),
                         [](const auto& target) { return target.param; });

/// A rule and its streams in a type of numbers.
template <class Rule, class T>
struct Streams {
  static constexpr std::size_t kInputs = ext::detail::Numbering<Rule>::kInputs;
  std::vector<std::vector<T>> x = std::vector<std::vector<T>>(kInputs);
  void run(const ext::Kernels& k, const Rule& rule, std::size_t offset, std::size_t n,
           bool has_gradient) {
    void* data[kInputs];
    for (std::size_t i = 0; i < kInputs; ++i) {
      data[i] = x[i].data() + offset;
    }
    ext::run_update(k, rule, data, static_cast<std::int64_t>(n), has_gradient);
  }
};

/// Members, and states, of any size that trainers have.
template <class Rule>
void compare_with_double(std::mt19937& random, bool has_gradient) {
  std::uniform_real_distribution<double> member(0.05, 0.95);
  std::normal_distribution<double> normal;
  constexpr std::size_t kLengths[] = {0, 1, 3, 7, 16, 31, 100, 1027};
  for (const std::size_t n : kLengths) {
    std::array<double, sizeof(Rule) / sizeof(double)> members{};
    for (double& m : members) {
      m = static_cast<double>(static_cast<float>(member(random)));
    }
    const Rule rule = std::bit_cast<Rule>(members);
    Streams<Rule, float> f;
    Streams<Rule, double> d;
    constexpr std::size_t kGuard = 5;  // numbers after the end, which must stay as they are
    for (std::size_t k = 0; k < f.kInputs; ++k) {
      for (std::size_t i = 0; i < n + kGuard; ++i) {
        constexpr bool kPositive = std::is_same_v<Rule, trainers::updates::ExponentiatedGradient>;
        const double x = k < 2 && !(kPositive && k == 0) ? normal(random) : member(random);
        f.x[k].push_back(static_cast<float>(x));
        d.x[k].push_back(static_cast<double>(f.x[k].back()));
      }
    }
    const auto before = f.x;
    f.run(kernels::cpu_kernels(), rule, 0, n, has_gradient);
    d.run(kernels::double_kernels(), rule, 0, n, has_gradient);
    for (std::size_t k = 0; k < f.kInputs; ++k) {
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_NEAR(f.x[k][i], d.x[k][i],
                    tolerance::kStepInFloat * std::max(1.0, std::fabs(d.x[k][i])))
            << typeid(Rule).name() << ", stream " << k << ", element " << i << " of " << n;
      }
      for (std::size_t i = n; i < n + kGuard; ++i) {
        ASSERT_EQ(f.x[k][i], before[k][i]) << typeid(Rule).name();
      }
    }
    if (n > 3) {
      EXPECT_NE(f.x[0], before[0]) << typeid(Rule).name();
    }
  }
}

TEST_P(StepsTest, EveryRuleIsTheOneInDouble) {
  AllUpdates::for_each([&]<class T>(const T* /*type*/) {
    compare_with_double<typename T::Rule>(random_, true);
    if constexpr (!std::is_same_v<typename T::CatchUp, NoCatchUp>) {
      compare_with_double<typename T::CatchUp>(random_, false);
    }
  });
}

TEST_P(StepsTest, ResultsDoNotDependOnThePlace) {
  AllUpdates::for_each([&]<class T>(const T* /*type*/) {
    using Rule = typename T::Rule;
    std::array<double, sizeof(Rule) / sizeof(double)> members{};
    members.fill(0.3);
    Streams<Rule, float> f;
    for (std::size_t k = 0; k < f.kInputs; ++k) {
      f.x[k].assign(67, 0.11F * static_cast<float>(k + 1));
    }
    f.run(kernels::cpu_kernels(), std::bit_cast<Rule>(members), 0, 67, true);
    for (const auto& x : f.x) {
      EXPECT_EQ(std::count(x.begin(), x.end(), x[0]), 67) << typeid(Rule).name();
    }
  });
}

/// A prepared step has the numbers of the rule: no constant was replaced by an unequal constant.
TEST(Steps, ConstantsThatAreOneNumberAreEqual) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> member(-1.0, 1.0);
  AllUpdates::for_each([&]<class T>(const T* /*type*/) {
    using Rule = typename T::Rule;
    using Numbers = ext::detail::Numbering<Rule>;
    for (int round = 0; round < 100; ++round) {
      std::array<double, sizeof(Rule) / sizeof(double)> members{};
      for (double& m : members) {
        m = member(random);
      }
      EXPECT_TRUE(Numbers::holds(std::bit_cast<Rule>(members))) << typeid(Rule).name();
    }
  });
}

TEST_P(StepsTest, AdamDividesByTheRootOfAnyNumber) {
  // With these rates v does not change and m becomes 1, so that w is the inverse of the root.
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> v{0.0F, 1e-42F, 0x1p-126F, 1e-36F, 1e-30F, 1e-8F, 0.3F, 1.0F, 3e20F, 3e38F};
  const std::size_t n = v.size();
  v.push_back(kInfinity);
  std::vector<float> w(v.size(), 0.0F);
  std::vector<float> m(v.size(), 1.0F);
  std::vector<float> g(v.size(), 0.0F);
  void* const data[] = {w.data(), g.data(), m.data(), v.data()};
  ext::run_update(kernels::cpu_kernels(), trainers::updates::Adam{-1.0, 1.0, 1.0, 1e-12, 1.0, 1.0},
                  data, static_cast<std::int64_t>(v.size()));
  for (std::size_t i = 0; i < n; ++i) {
    const double want = 1.0 / (std::sqrt(static_cast<double>(v[i])) + 1e-12);
    EXPECT_NEAR(w[i], want, tolerance::kThreeRoundings * want) << v[i];
  }
  EXPECT_EQ(w[n], 0.0F);
}

TEST_P(StepsTest, NothingIsAddedWhereNothingEverMoved) {
  std::vector<float> w(19, 0.5F);
  std::vector<float> zero(19, 0.0F);
  void* const data[] = {w.data(), zero.data(), zero.data()};
  ext::run_update(kernels::cpu_kernels(), trainers::updates::AdamCatchUp{-0.05, 1.1, 0.3, 0.2, 0.0},
                  data, 19, false);
  EXPECT_EQ(w, std::vector<float>(19, 0.5F));
  std::vector<double> x(19, 0.5);
  std::vector<double> none(19, 0.0);
  void* const in_double[] = {x.data(), none.data(), none.data()};
  ext::run_update(kernels::double_kernels(),
                  trainers::updates::AdamCatchUp{-0.05, 1.1, 0.3, 0.2, 0.0}, in_double, 19, false);
  EXPECT_EQ(x, std::vector<double>(19, 0.5));
}

}  // namespace
}  // namespace dynet::trainers
