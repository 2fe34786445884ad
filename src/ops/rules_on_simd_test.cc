// Every rule of the list, on every SIMD target, against the plain loop in double: all lengths
// around whole vectors, all modes of the streams.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "dynet/ops/all.h"

#include "kernels/targets.h"
#include "ops/simd_rules.h"
#include "testing/tolerance.h"
#include "testing/worst.h"

namespace dynet::ops {
namespace {

using ext::RuleLoop;
using ext::Stream;

constexpr std::size_t kLongest = 67;

/// Streams of one kind, with the numbers in both types.
struct Streams {
  std::vector<std::vector<float>> floats;
  std::vector<std::vector<double>> doubles;
  std::vector<Stream::Mode> modes;

  void add(std::mt19937& random, Stream::Mode mode, double low, double high) {
    std::uniform_real_distribution<double> draw(low, high);
    std::vector<float> row(kLongest);
    std::generate(row.begin(), row.end(), [&] { return static_cast<float>(draw(random)); });
    floats.push_back(row);
    doubles.emplace_back(row.begin(), row.end());
    modes.push_back(mode);
  }
  /// Numbers computed in double, rounded to numbers that both types hold.
  void add_rounded(const std::vector<double>& values, Stream::Mode mode) {
    floats.emplace_back(values.begin(), values.end());
    doubles.emplace_back(floats.back().begin(), floats.back().end());
    modes.push_back(mode);
  }
  template <class T>
  std::vector<Stream> streams() {
    std::vector<Stream> all;
    for (std::size_t k = 0; k < modes.size(); ++k) {
      if constexpr (std::is_same_v<T, float>) {
        all.push_back({floats[k].data(), modes[k]});
      } else {
        all.push_back({doubles[k].data(), modes[k]});
      }
    }
    return all;
  }
  /// Largest difference relative to max(1, |double|); of sums relative to their length.
  [[nodiscard]] double difference(std::int64_t n) const {
    dynet::testing::Worst worst;
    for (std::size_t k = 0; k < modes.size(); ++k) {
      for (std::size_t i = 0; i < kLongest; ++i) {
        const double terms =
            modes[k] == Stream::kSum ? std::max<double>(1.0, static_cast<double>(n)) : 1.0;
        worst.add(dynet::testing::relative_error(static_cast<double>(floats[k][i]), doubles[k][i]) /
                  terms);
      }
    }
    return worst.get();
  }
};

Stream::Mode input_mode(std::size_t k, int variant) {
  return variant != 0 && (k + static_cast<std::size_t>(variant)) % 3 == 0 ? Stream::kRepeat
                                                                          : Stream::kRun;
}
Stream::Mode output_mode(std::size_t k, int variant) {
  constexpr Stream::Mode kModes[] = {Stream::kStore, Stream::kAdd, Stream::kSum, Stream::kSkip};
  return variant == 0 ? Stream::kStore : kModes[(k + static_cast<std::size_t>(variant)) % 4];
}

void compare(RuleLoop in_float, RuleLoop in_double, const void* op, Streams in, Streams out,
             std::int64_t n, const std::string& what) {
  in_float(op, in.streams<float>().data(), out.streams<float>().data(), n);
  in_double(op, in.streams<double>().data(), out.streams<double>().data(), n);
  EXPECT_LE(out.difference(n), tolerance::kRuleInFloat) << what << ", " << n << " elements";
}

/// Form: the rule of the operation, or a form of it without some arguments.
template <class Form, class Op>
void compare_rule(const ext::Example<Op>& example) {
  using Arity = ext::RuleArity<Form>;
  const ext::RuleLoops& loops = *ext::kRuleInfo<Form>.loops;
  const std::string name(Op::kInfo.name);
  std::mt19937 random(1);
  for (const std::int64_t n : {1, 2, 4, 5, 16, 19, 32, 67}) {
    for (int variant = 0; variant < 5; ++variant) {
      Streams in;
      for (std::size_t k = 0; k < Arity::inputs(); ++k) {
        in.add(random, input_mode(k, variant), example.low, example.high);
      }
      Streams results;
      for (std::size_t k = 0; k < Arity::results(); ++k) {
        results.add(random, output_mode(k, variant), -1.0, 1.0);
      }
      compare(loops.forward_float, loops.forward_double, &example.op, in, results, n,
              name + " forward");
      for (auto& mode : results.modes) {
        mode = Stream::kStore;
      }
      auto from = in.template streams<double>();
      auto to = results.template streams<double>();
      loops.forward_double(&example.op, from.data(), to.data(),
                           static_cast<std::int64_t>(kLongest));
      Streams back = in;
      for (const auto& row : results.doubles) {
        back.add_rounded(row, Stream::kRun);
      }
      for (std::size_t k = 0; k < Arity::outputs(); ++k) {
        back.add(random, input_mode(k, variant), -1.0, 1.0);
      }
      Streams gradients;
      for (std::size_t k = 0; k < Arity::gradients(); ++k) {
        gradients.add(random, output_mode(k, variant), -1.0, 1.0);
      }
      compare(loops.backward_float, loops.backward_double, &example.op, back, gradients, n,
              name + " backward");
    }
  }
}

/// Equal elements have equal results at every place, to the bit.
template <class Form, class Op>
void check_places(const ext::Example<Op>& example) {
  using Arity = ext::RuleArity<Form>;
  std::vector<float> in(kLongest, static_cast<float>(0.3 * example.low + 0.7 * example.high));
  std::vector<std::vector<float>> out(std::max(Arity::results(), Arity::gradients()),
                                      std::vector<float>(kLongest, 0.25F));
  const std::vector<Stream> from(Arity::backward_inputs(), {in.data(), Stream::kRun});
  std::vector<Stream> to;
  to.reserve(out.size());
  for (std::size_t k = 0; k < out.size(); ++k) {
    to.push_back({out[k].data(), k % 2 == 0 ? Stream::kStore : Stream::kAdd});
  }
  for (const RuleLoop loop :
       {ext::kRuleInfo<Form>.loops->forward_float, ext::kRuleInfo<Form>.loops->backward_float}) {
    loop(&example.op, from.data(), to.data(), static_cast<std::int64_t>(kLongest));
    for (const auto& row : out) {
      for (const float v : row) {
        ASSERT_TRUE(v == row[0] || (std::isnan(v) && std::isnan(row[0]))) << Op::kInfo.name;
      }
    }
  }
}

class RulesOnSimd : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    kernels::use_target(GetParam());
    install_simd_rules();
  }
  void TearDown() override {
    kernels::use_target(kernels::supported_targets().front());
    install_simd_rules();
  }
};

TEST_P(RulesOnSimd, AgreeWithDouble) {
  AllOps::for_each([]<class Op>() {
    if constexpr (ext::Rule<Op>) {
      for (const auto& example : Op::examples()) {
        ext::for_each_form<Op>([&]<class Form>() { compare_rule<Form>(example); });
      }
    }
  });
}

TEST_P(RulesOnSimd, DoNotDependOnThePlace) {
  AllOps::for_each([]<class Op>() {
    if constexpr (ext::Rule<Op>) {
      for (const auto& example : Op::examples()) {
        ext::for_each_form<Op>([&]<class Form>() { check_places<Form>(example); });
      }
    }
  });
}

TEST_P(RulesOnSimd, WhatIsThrownAwayReadsNothing) {
  // The gradient of x alone, of z = x * y: dz * y, for any places of x and z.
  constexpr std::size_t kCount = 37;
  std::vector<float> y(kCount, 3.0F);
  std::vector<float> dz(kCount, 2.0F);
  std::vector<float> dx(kCount, 0.0F);
  const Stream in[] = {{nullptr, Stream::kRun},
                       {y.data(), Stream::kRun},
                       {nullptr, Stream::kRun},
                       {dz.data(), Stream::kRun}};
  const Stream out[] = {{dx.data(), Stream::kStore}, {nullptr, Stream::kSkip}};
  const CMult product;
  ext::rule_loops<CMult>().backward_float(&product, in, out, kCount);
  EXPECT_EQ(dx, std::vector<float>(kCount, 6.0F));
}

TEST_P(RulesOnSimd, EveryRuleHasLoops) {
  int rules = 0;
  AllOps::for_each([&]<class Op>() {
    if constexpr (ext::Rule<Op>) {
      ++rules;
      ext::for_each_form<Op>([]<class Form>() {
        EXPECT_NE(ext::rule_loops<Form>().forward_float, nullptr)
            << Op::kInfo.name << " stands in a family without a simd_*.cc";
        EXPECT_NE(ext::rule_loops<Form>().backward_float, nullptr) << Op::kInfo.name;
      });
    }
  });
  EXPECT_GT(rules, 20);
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, RulesOnSimd,
                         ::testing::ValuesIn(kernels::supported_targets()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace dynet::ops
