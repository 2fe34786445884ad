// Every rule over rows of the list, the steps of operations included, on every SIMD target, against
// the plain loop in double.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dynet/ops/all.h"

#include "kernels/kernels.h"
#include "kernels/targets.h"
#include "ops/simd_rules.h"
#include "row_test_cases.h"
#include "testing/tolerance.h"

namespace dynet::ops {
namespace {

using ext::Direction;
using ext::Rows;
using ext::RowStream;
using rule::Along;
using testing::RowCase;
using testing::rows_of;

/// Runs a call of Op on the float device.
template <class Op>
constexpr auto kOnCpu = [](Direction direction, const ext::RowCall& call) {
  kernels::cpu_kernels().run_rows(ext::kRowRule<Op>, direction, call);
};

/// A row has the same bits alone and among others.
template <class Op>
void check_rows(const ext::Example<Op>& example) {
  for (const Rows& rows : {rows_of(5, 1, 83), rows_of(23, 1, 18), rows_of(50, 1, 83),
                           rows_of(30, 83, 1), rows_of(7, 3, 20)}) {
    RowCase<Op> together(example, rows, 0);
    RowCase<Op> apart(example, rows, 0);
    const auto constants = rule::Numbered<rule::ForwardRule, Op>::values(example.op);
    together.in_float(Direction::kForward, kOnCpu<Op>);
    const auto in = apart.in().template streams<float>();
    const auto out = apart.out().template streams<float>();
    // Rows side by side stay so: two at a time.
    const std::int64_t inner = std::min<std::int64_t>(rows.inner, 2);
    for (std::int64_t o = 0; o < rows.outer; ++o) {
      for (std::int64_t i = 0; i < rows.inner; i += inner) {
        const std::int64_t first = std::min(i, rows.inner - inner);
        const auto shifted = [&](std::vector<RowStream> streams) {
          for (RowStream& s : streams) {  // floats and indices have one size
            s.data = static_cast<float*>(s.data) + o * s.outer_step + first * s.row_step;
          }
          return streams;
        };
        const auto from = shifted(in);
        const auto to = shifted(out);
        kOnCpu<Op>(Direction::kForward,
                   {constants.data(), from.data(), to.data(), rows_of(rows.length, inner, 1)});
      }
    }
    for (std::size_t j = 0; j < together.out().size(); ++j) {
      const auto& a = together.out().floats()[j];
      const auto& b = apart.out().floats()[j];
      ASSERT_TRUE(std::equal(a.begin(), a.end() - 1, b.begin()))
          << Op::kInfo.name << testing::text(rows) << " result " << j;
    }
  }
}

class RowsOnSimd : public ::testing::TestWithParam<std::string> {
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

TEST_P(RowsOnSimd, AgreeWithDouble) {
  testing::for_each_row_example(
      []<class Op>(const ext::Example<Op>& e) { testing::compare_with_double(e, kOnCpu<Op>); });
}

TEST_P(RowsOnSimd, ARowDoesNotDependOnTheBatch) {
  testing::for_each_row_example([]<class Op>(const ext::Example<Op>& e) { check_rows<Op>(e); });
}

TEST_P(RowsOnSimd, EveryRuleHasLoops) {
  int rules = 0;
  ext::WithSteps<AllOps>::for_each([&]<class Op>() {
    if constexpr (ext::RowOperation<Op>) {
      ++rules;
      // The steps of an operation start with the plain loops; an operation starts with none.
      for (const ext::RowLoop loop :
           {ext::row_loops<Op>().forward_float, ext::row_loops<Op>().backward_float}) {
        EXPECT_NE(loop, nullptr) << Op::kInfo.name << " stands in a family without vector loops";
        EXPECT_NE(loop, (&ext::plain::loop<float, rule::ForwardRule, Op>)) << Op::kInfo.name;
        EXPECT_NE(loop, (&ext::plain::loop<float, rule::BackwardRule, Op>)) << Op::kInfo.name;
      }
    }
  });
  EXPECT_GE(rules, 3);
}

TEST_P(RowsOnSimd, LargeNumbersDoNotOverflow) {
  const ext::Example<Softmax> example{{0}, {{3}}, 1000.0, 1001.0};
  RowCase<Softmax> call(example, rows_of(3, 1, 2), 0);
  call.in_float(Direction::kForward, kOnCpu<Softmax>);
  call.in_double(Direction::kForward);
  EXPECT_LE(call.out().difference(), tolerance::kFewInFloat);
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, RowsOnSimd, ::testing::ValuesIn(kernels::supported_targets()),
                         [](const auto& test) { return test.param; });

TEST(NumberedConstants, HoldForEveryExample) {
  testing::for_each_row_example([]<class Op>(const ext::Example<Op>& e) {
    EXPECT_TRUE((rule::Numbered<rule::ForwardRule, Op>::holds(e.op))) << Op::kInfo.name;
    EXPECT_TRUE((rule::Numbered<rule::BackwardRule, Op>::holds(e.op))) << Op::kInfo.name;
  });
}

/// Two reductions that differ in a constant alone stay two; equal reductions become one.
struct Alike {
  float a = 1.0F, b = 2.0F;
  static constexpr std::array kAlong{Along::kElements};
  static constexpr auto value_of(const Alike& op, auto x) {
    return rule::each(over::sum(op.a * x) + over::sum(op.b * x) + over::sum(2.0 * x) +
                      over::sum(op.a * x));
  }
  constexpr auto value(auto x) const { return value_of(*this, x); }
};
template <class... E>
constexpr std::size_t reductions(rule::Types<E...> /*results*/) {
  return rule::Reductions<E...>::kSize;
}
static_assert(reductions(rule::Numbered<rule::ForwardRule, Alike>::Expressions()) == 3);

/// A rule with a choice by ?: on an attribute, which the library must notice.
struct Chooses {
  float a = 1.0F;
  static constexpr std::array kAlong{Along::kElements};
  constexpr auto value(auto x) const {
    return rule::each((a > 100.0F ? 3.0 : 2.0) * over::sum(x) + 2.0 * x);
  }
};
TEST(NumberedConstants, DoNotHoldForAChoice) {
  using Numbered = rule::Numbered<rule::ForwardRule, Chooses>;
  EXPECT_TRUE(Numbered::holds({1.0F}));
  EXPECT_FALSE(Numbered::holds({101.0F}));
}

}  // namespace
}  // namespace dynet::ops
