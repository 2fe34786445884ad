// Every rule over rows of the list, the steps of operations among them, on every SIMD target,
// against the plain loop in double: along and across, whole vectors and parts, streams that are
// absent, added to, or repeated.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "dynet/ops/all.h"

#include "kernels/kernels.h"
#include "kernels/targets.h"
#include "ops/simd_rules.h"
#include "testing/tolerance.h"

namespace dynet::ops {
namespace {

using ext::Direction;
using ext::Rows;
using ext::RowStream;
using rule::Along;

/// Operands of some rows, dense, with the numbers in both types.
class Operands {
 public:
  explicit Operands(const Rows& rows) : rows_(rows) {}

  /// `is_repeated`: all rows share the numbers.
  void add(Along along, std::mt19937& random, double low, double high, bool is_repeated = false) {
    RowStream s{};
    const std::int64_t rows = rows_.inner * rows_.outer;
    std::int64_t size = rows_.length * rows;
    if (along == Along::kElements) {
      s.step[0] = rows_.inner;
      s.row_step = 1;
      s.outer_step = rows_.inner * rows_.length;
    } else if (along == Along::kOnce) {
      s.row_step = 1;
      s.outer_step = rows_.inner;
      size = rows;
    } else {
      s.step[0] = 1;
      size = rows_.length;
    }
    if (is_repeated) {
      s.row_step = s.outer_step = 0;
    }
    std::uniform_real_distribution<double> draw(low, high);
    auto& f = floats_.emplace_back(static_cast<std::size_t>(size) + 1);
    std::generate(f.begin(), f.end(), [&] { return static_cast<float>(draw(random)); });
    doubles_.emplace_back(f.begin(), f.end());
    indices_.emplace_back();
    streams_.push_back(s);
  }
  void add_indices(std::mt19937& random) {
    RowStream s{};
    s.row_step = 1;
    s.outer_step = rows_.inner;
    s.is_index = true;
    auto& indices = indices_.emplace_back(static_cast<std::size_t>(rows_.inner * rows_.outer));
    for (auto& index : indices) {
      index = static_cast<std::uint32_t>(random() % static_cast<std::size_t>(rows_.length));
    }
    floats_.emplace_back();
    doubles_.emplace_back();
    streams_.push_back(s);
  }
  /// Rounds what was computed in double to numbers that both types hold.
  void round() {
    for (std::size_t k = 0; k < streams_.size(); ++k) {
      std::copy(doubles_[k].begin(), doubles_[k].end(), floats_[k].begin());
      std::copy(floats_[k].begin(), floats_[k].end(), doubles_[k].begin());
    }
  }
  template <class T>
  std::vector<RowStream> streams() {
    std::vector<RowStream> all = streams_;
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (absent_ >> k & 1U) {
        all[k].data = nullptr;
      } else if (all[k].is_index) {
        all[k].data = indices_[k].data();
      } else if constexpr (std::is_same_v<T, float>) {
        all[k].data = floats_[k].data();
      } else {
        all[k].data = doubles_[k].data();
      }
    }
    return all;
  }
  void set_absent(unsigned mask) { absent_ = mask; }
  void set_adds(std::size_t k) { streams_[k].adds = true; }
  /// Largest difference relative to the largest number of a stream, and 1.
  [[nodiscard]] double difference() const {
    double worst = 0.0;
    for (std::size_t k = 0; k < streams_.size(); ++k) {
      double size = 1.0;
      for (const double v : doubles_[k]) {
        size = std::max(size, std::fabs(v));
      }
      for (std::size_t i = 0; i < doubles_[k].size(); ++i) {
        const double error = std::fabs(static_cast<double>(floats_[k][i]) - doubles_[k][i]) / size;
        worst = error <= worst ? worst : error;
      }
    }
    return worst;
  }
  [[nodiscard]] const std::deque<std::vector<float>>& floats() const { return floats_; }
  [[nodiscard]] std::size_t size() const { return streams_.size(); }

 private:
  Rows rows_;
  std::deque<std::vector<float>> floats_;
  std::deque<std::vector<double>> doubles_;
  std::deque<std::vector<std::uint32_t>> indices_;
  std::vector<RowStream> streams_;
  unsigned absent_ = 0;
};

template <class Op>
Along result_along(std::size_t j) {
  return ext::kRowRule<Op>.once[j] ? Along::kOnce : Along::kElements;
}

/// A call of both directions; what variant 1 and 2 repeat, add to, or leave out.
template <class Op>
class Both {
 public:
  using Forward = rule::Numbered<rule::ForwardRule, Op>;
  using Backward = rule::Numbered<rule::BackwardRule, Op>;

  Both(const ext::Example<Op>& example, const Rows& rows, int variant)
      : op_(example.op), rows_(rows), in_(rows), out_(rows), slopes_(rows), gradients_(rows) {
    std::mt19937 random(static_cast<unsigned>(variant) + 1);
    const ext::RowRule& rule = ext::kRowRule<Op>;
    for (std::size_t k = 0; k < rule.args; ++k) {
      in_.add(rule.along[k], random, example.low, example.high, variant == 2 && k > 0);
    }
    if (ext::detail::payload_of<Op>() == ext::Payload::kIndices) {
      in_.add_indices(random);
    } else if (rule.has_payload) {
      in_.add(Along::kOnce, random, example.low, example.high);
    }
    for (std::size_t j = 0; j < rule.results; ++j) {
      out_.add(result_along<Op>(j), random, -1.0, 1.0);
    }
    for (std::size_t j = 0; j < rule.outputs; ++j) {
      slopes_.add(result_along<Op>(j), random, -1.0, 1.0);
    }
    for (std::size_t k = 0; k < rule.args; ++k) {
      const bool is_repeated = variant == 2 && k > 0;
      gradients_.add(rule.along[k], random, -1.0, 1.0, is_repeated);
      if (is_repeated || rule.along[k] == Along::kPositions || variant == 1) {
        gradients_.set_adds(k);
      }
    }
    if (variant == 3) {
      slopes_.set_absent(rule.outputs > 1 ? 1U : 0U);
      gradients_.set_absent(rule.args > 1 ? 1U : 0U);
    }
  }
  template <class T>
  void forward() {
    const auto constants = Forward::values(op_);
    const auto in = in_.template streams<T>();
    const auto out = out_.template streams<T>();
    kernels<T>().run_rows(ext::kRowRule<Op>, Direction::kForward,
                          {constants.data(), in.data(), out.data(), rows_});
  }
  template <class T>
  void backward() {
    const auto constants = Backward::values(op_);
    auto in = in_.template streams<T>();
    const auto results = out_.template streams<T>();
    const auto slopes = slopes_.template streams<T>();
    in.insert(in.end(), results.begin(), results.end());
    in.insert(in.end(), slopes.begin(), slopes.end());
    const auto out = gradients_.template streams<T>();
    kernels<T>().run_rows(ext::kRowRule<Op>, Direction::kBackward,
                          {constants.data(), in.data(), out.data(), rows_});
  }
  Operands& in() { return in_; }
  Operands& out() { return out_; }
  Operands& gradients() { return gradients_; }

 private:
  template <class T>
  static const ext::Kernels& kernels() {
    return std::is_same_v<T, float> ? kernels::cpu_kernels() : kernels::double_kernels();
  }
  Op op_;
  Rows rows_;
  Operands in_, out_, slopes_, gradients_;
};

Rows rows_of(std::int64_t length, std::int64_t inner, std::int64_t outer) {
  return {.length = length, .inner = inner, .outer = outer, .axes = 1, .extent = {length}};
}
std::string text(const Rows& r) {
  return " length " + std::to_string(r.length) + " inner " + std::to_string(r.inner) + " outer " +
         std::to_string(r.outer);
}

template <class Op>
void compare_rule(const ext::Example<Op>& example) {
  for (const Rows& rows :
       {rows_of(1, 1, 3), rows_of(5, 1, 83), rows_of(17, 1, 5), rows_of(24, 1, 17),
        rows_of(50, 1, 7), rows_of(1000, 1, 2), rows_of(50, 33, 2), rows_of(5, 83, 3),
        rows_of(67, 3, 2), rows_of(130, 1, 1)}) {
    for (int variant = 0; variant < 4; ++variant) {
      Both<Op> call(example, rows, variant);
      const std::string what =
          std::string(Op::kInfo.name) + text(rows) + " variant " + std::to_string(variant);
      call.template forward<float>();
      call.template forward<double>();
      EXPECT_LE(call.out().difference(), tolerance::kRuleInFloat) << what << " forward";
      call.out().round();
      call.template backward<float>();
      call.template backward<double>();
      EXPECT_LE(call.gradients().difference(), tolerance::kRuleInFloat) << what << " backward";
    }
  }
}

/// A row has the same bits alone and among others.
template <class Op>
void check_rows(const ext::Example<Op>& example) {
  for (const Rows& rows : {rows_of(5, 1, 83), rows_of(23, 1, 18), rows_of(50, 1, 83),
                           rows_of(30, 83, 1), rows_of(7, 3, 20)}) {
    Both<Op> together(example, rows, 0);
    Both<Op> apart(example, rows, 0);
    const auto constants = rule::Numbered<rule::ForwardRule, Op>::values(example.op);
    together.template forward<float>();
    const auto in = apart.in().template streams<float>();
    const auto out = apart.out().template streams<float>();
    // Side by side, rows stay such: two at a time.
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
        kernels::cpu_kernels().run_rows(
            ext::kRowRule<Op>, Direction::kForward,
            {constants.data(), from.data(), to.data(), rows_of(rows.length, inner, 1)});
      }
    }
    for (std::size_t j = 0; j < together.out().size(); ++j) {
      const std::vector<float>& a = together.out().floats()[j];
      const std::vector<float>& b = apart.out().floats()[j];
      ASSERT_TRUE(std::equal(a.begin(), a.end() - 1, b.begin()))
          << Op::kInfo.name << text(rows) << " result " << j;
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
  static void for_each_example(auto&& f) {
    ext::WithSteps<AllOps>::for_each([&]<class Op>() {
      if constexpr (ext::RowOperation<Op>) {
        for (const auto& example : Op::examples()) {
          f(example);
        }
      }
    });
  }
};

TEST_P(RowsOnSimd, AgreeWithDouble) {
  for_each_example([]<class Op>(const ext::Example<Op>& e) { compare_rule<Op>(e); });
}

TEST_P(RowsOnSimd, ARowDoesNotDependOnTheBatch) {
  for_each_example([]<class Op>(const ext::Example<Op>& e) { check_rows<Op>(e); });
}

TEST_P(RowsOnSimd, EveryRuleHasLoops) {
  int rules = 0;
  ext::WithSteps<AllOps>::for_each([&]<class Op>() {
    if constexpr (ext::RowOperation<Op>) {
      ++rules;
      // A step of an operation starts with the plain loops, an operation with none.
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
  Both<Softmax> call(example, rows_of(3, 1, 2), 0);
  call.forward<float>();
  call.forward<double>();
  EXPECT_LE(call.out().difference(), tolerance::kFewInFloat);
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, RowsOnSimd, ::testing::ValuesIn(kernels::supported_targets()),
                         [](const auto& test) { return test.param; });

TEST(NumberedConstants, HoldForEveryExample) {
  ext::WithSteps<AllOps>::for_each([]<class Op>() {
    if constexpr (ext::RowOperation<Op>) {
      for (const auto& example : Op::examples()) {
        EXPECT_TRUE((rule::Numbered<rule::ForwardRule, Op>::holds(example.op))) << Op::kInfo.name;
        EXPECT_TRUE((rule::Numbered<rule::BackwardRule, Op>::holds(example.op))) << Op::kInfo.name;
      }
    }
  });
}

/// Reductions that differ in a constant alone are different, and those with equal ones are one.
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

/// A choice by ?: on an attribute is found out.
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
