// Loops of the float device against the double device, on every target.

#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "dynet/except.h"

#include "kernels/float_mode.h"
#include "kernels/targets.h"
#include "test_operand_pair.h"
#include "testing/tolerance.h"

namespace dynet::kernels {
namespace {

using ext::Move;
using ext::Write;
using testing::Layout;
using testing::layouts;
using testing::OperandPair;

class KernelsTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use_target(GetParam()); }
  void TearDown() override { use_target(supported_targets().front()); }

  void compare_move(const Move& m, const Dim& from, const Layout& x, const Dim& to, const Layout& y,
                    Write write = Write::kAsBlocks, double bound = tolerance::kSumsInFloat) {
    const OperandPair source(from, x, random_);
    const OperandPair result(to, y, random_);
    cpu_kernels().move(m, source.in_float(), result.in_float(), write);
    double_kernels().move(m, source.in_double(), result.in_double(), write);
    EXPECT_LE(result.difference(), bound) << to_string(from) << " -> " << to_string(to);
  }
  /// For all layouts of x and y with these many examples.
  void compare_moves(const Move& m, const Dim& from, std::int64_t x, const Dim& to,
                     std::int64_t y) {
    for (const Layout& source : layouts(x)) {
      for (const Layout& result : layouts(y)) {
        compare_move(m, from, source, to, result);
      }
    }
    compare_move(m, from, Layout({x}), to, Layout({y}, {false}), Write::kStore);
    compare_move(m, from, Layout({x}), to, Layout({y}), Write::kAdd);
    for (const Layout& result : layouts(y)) {
      compare_move(m, from, Layout({x}), to, result, Write::kMax);
    }
  }

  std::mt19937 random_{1};
};

// For elements that are only copied or added once, the bound is one rounding; sums get
// tolerance::kSumsInFloat.

TEST_P(KernelsTest, MoveWholeExamples) {
  for (const unsigned n : {1U, 3U, 4U, 15U, 16U, 17U, 64U, 100U}) {
    for (const auto& [x, y] : {std::pair{1, 1}, {5, 5}, {1, 5}, {5, 1}}) {
      compare_moves(ext::whole_move(n, 0.7), Dim({n}), x, Dim({n}), y);
    }
  }
}

TEST_P(KernelsTest, MovePartsOfABox) {
  // Rows 1 to 3 of {5,4} to columns 2 and on of {3,7}, one row after the other and back.
  Move m;
  m.box = Dim({3, 4});
  m.from_stride[0] = 1;
  m.from_stride[1] = 5;
  m.to_stride[0] = 1;
  m.to_stride[1] = 3;
  m.from_offset = 1;
  m.to_offset = 6;
  for (const auto& [x, y] : {std::pair{1, 1}, {4, 4}, {1, 4}, {4, 1}}) {
    compare_moves(m, Dim({5, 4}), x, Dim({3, 7}), y);
  }
}

TEST_P(KernelsTest, MoveTransposes) {
  for (const unsigned rows : {1U, 3U, 4U, 9U, 20U, 33U}) {
    for (const unsigned columns : {1U, 2U, 4U, 11U, 16U, 37U}) {
      for (const bool reads_in_order : {false, true}) {
        Move m;
        m.box = reads_in_order ? Dim({rows, columns}) : Dim({columns, rows});
        const int fast = reads_in_order ? 0 : 1;
        m.from_stride[fast] = 1;
        m.from_stride[1 - fast] = rows;
        m.to_stride[fast] = columns;
        m.to_stride[1 - fast] = 1;
        m.scale = -1.5;
        compare_moves(m, Dim({rows, columns}), 3, Dim({columns, rows}), 3);
      }
    }
  }
  Move m;  // {2,3,4} -> {4,2,3}
  m.box = Dim({4, 2, 3});
  m.from_stride[0] = 6;
  m.from_stride[1] = 1;
  m.from_stride[2] = 2;
  ext::strides_of(m.box, m.to_stride);
  compare_moves(m, Dim({2, 3, 4}), 4, Dim({4, 2, 3}), 4);
}

TEST_P(KernelsTest, MoveSumsAndRepeats) {
  const Dim matrix({37, 6});
  const auto strides = [&](std::int64_t first, std::int64_t second, bool sums) {
    Move m;
    m.box = matrix;
    ext::strides_of(matrix, sums ? m.from_stride : m.to_stride);
    auto& few = sums ? m.to_stride : m.from_stride;
    few[0] = first;
    few[1] = second;
    m.scale = 0.5;
    return m;
  };
  for (const auto& [x, y] : {std::pair{1, 1}, {4, 4}, {1, 4}, {4, 1}}) {
    compare_moves(strides(0, 0, true), matrix, x, Dim({1}), y);   // all to one
    compare_moves(strides(1, 0, true), matrix, x, Dim({37}), y);  // columns
    compare_moves(strides(0, 1, true), matrix, x, Dim({6}), y);   // rows
    compare_moves(strides(0, 0, false), Dim({1}), x, matrix, y);
    compare_moves(strides(1, 0, false), Dim({37}), x, matrix, y);
    compare_moves(strides(0, 1, false), Dim({6}), x, matrix, y);
  }
  Move diagonal;  // neither side in order
  diagonal.box = Dim({5});
  diagonal.from_stride[0] = 6;
  diagonal.to_stride[0] = 2;
  compare_moves(diagonal, Dim({5, 5}), 2, Dim({9}), 2);
}

/// `count` indices for each of some examples, in one block or in one each.
class Indices {
 public:
  Indices(std::vector<unsigned> values, unsigned count, bool apart = false)
      : values_(std::move(values)), count_(count) {
    const auto examples = static_cast<std::int64_t>(values_.size() / count);
    for (std::int64_t e = 0; e < (apart ? examples : 1); ++e) {
      blocks_.push_back({values_.data() + e * count, apart ? 1 : examples, false});
    }
  }
  [[nodiscard]] ext::Operand operand() const {
    return {.dim = {count_},
            .examples = static_cast<std::int64_t>(values_.size() / count_),
            .blocks = blocks_.data(),
            .block_count = static_cast<std::int64_t>(blocks_.size())};
  }

 private:
  std::vector<unsigned> values_;
  unsigned count_;
  std::vector<ext::Block> blocks_;
};

TEST_P(KernelsTest, MoveByIndex) {
  const Indices index({2, 0, 3, 2}, 1);
  Move pick;
  pick.box = Dim({5});
  pick.from_stride[0] = 1;
  pick.to_stride[0] = 1;
  pick.index = index.operand();
  pick.from_index_stride = 5;
  compare_moves(pick, Dim({5, 4}), 4, Dim({5}), 4);
  compare_moves(pick, Dim({5, 4}), 1, Dim({5}), 4);
  compare_moves(pick, Dim({5, 4}), 4, Dim({5}), 1);
  Move put;
  put.box = Dim({5});
  put.from_stride[0] = 1;
  put.to_stride[0] = 1;
  put.index = index.operand();
  put.to_index_stride = 5;
  compare_moves(put, Dim({5}), 4, Dim({5, 4}), 4);
  compare_moves(put, Dim({5}), 4, Dim({5, 4}), 1);
  put.to_stride[0] = 0;
  compare_moves(put, Dim({5}), 4, Dim({1, 20}), 4);
}

/// Rows or columns of a matrix by a list for each example, or one list for all: read, and added to.
TEST_P(KernelsTest, MoveByIndexAlongAnAxis) {
  const std::vector<unsigned> lists{2, 0, 2, 1, 1, 1, 3, 2, 0, 0, 3, 1};
  for (const bool apart : {false, true}) {
    for (const bool is_one : {false, true}) {
      const Indices index(is_one ? std::vector<unsigned>{2, 0, 2} : lists, 3, apart);
      for (const unsigned axis : {0U, 1U}) {
        const Dim few = axis == 0 ? Dim({3, 5}) : Dim({5, 3});
        const Dim all = axis == 0 ? Dim({4, 5}) : Dim({5, 4});
        Move select;
        select.box = few;
        ext::strides_of(all, select.from_stride);
        ext::strides_of(few, select.to_stride);
        select.index = index.operand();
        select.index_axis = axis;
        select.from_index_stride = select.from_stride[axis];
        select.from_stride[axis] = 0;
        Move put = select;
        std::swap(put.from_stride, put.to_stride);
        std::swap(put.from_index_stride, put.to_index_stride);
        compare_moves(select, all, 4, few, 4);
        compare_moves(select, all, 1, few, 4);
        compare_moves(put, few, 4, all, 4);
        compare_moves(put, few, 4, all, 1);
        select.to_stride[axis] = 0;  // the sum of the chosen elements
        compare_moves(select, all, 4, few, 4);
      }
    }
  }
}

/// The largest of all terms and the old number: in order, by rows, by lists.
TEST_P(KernelsTest, MoveTakesTheLargest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x{3, -1, nan, -infinity, 2, -2, 5, infinity, 5, 1, 0, 7};  // {2,6}
  const auto moved = [](const Move& m, const Dim& from, const std::vector<float>& numbers,
                        const Dim& to, std::vector<float> y) {
    std::vector<float> copy = numbers;
    const ext::Block read{copy.data(), 1, false};
    const ext::Block written{y.data(), 1, true};
    cpu_kernels().move(m, {.dim = from, .examples = 1, .blocks = &read, .block_count = 1},
                       {.dim = to, .examples = 1, .blocks = &written, .block_count = 1},
                       Write::kMax);
    return y;
  };
  Move columns;
  columns.box = Dim({2, 6});
  ext::strides_of(columns.box, columns.from_stride);
  columns.to_stride[0] = 1;
  std::vector<float> y = moved(columns, columns.box, x, Dim({2}), {4, 4});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], infinity);
  EXPECT_TRUE(std::isnan(
      moved(columns, columns.box, std::vector<float>(12, 1.0F), Dim({2}), {nan, 0.0F})[0]))
      << "what is NaN stays";
  const Indices index({2, 0, 0, 1, 2, 0}, 6);
  Move put = columns;
  put.index = index.operand();
  put.index_axis = 1;
  put.to_index_stride = 2;
  y = moved(put, put.box, x, Dim({2, 4}), std::vector<float>(8, -4.0F));
  EXPECT_TRUE(std::isnan(y[0]));
  y[0] = 0.0F;
  EXPECT_EQ(y, (std::vector<float>{0, 7, 5, infinity, 5, 1, -4, -4}));
}

TEST_P(KernelsTest, MoveOfNothing) {
  Move m;
  m.box = Dim({3, 0});
  m.from_stride[0] = 1;
  m.from_stride[1] = 3;
  m.to_stride[0] = 1;  // the sum over no columns is zero
  compare_move(m, Dim({3, 0}), Layout({2}), Dim({3}), Layout({2}));
  compare_move(m, Dim({3, 0}), Layout({2}), Dim({3}), Layout({2}, {false}));
  compare_move(ext::whole_move(0), Dim({0}), Layout({2}), Dim({0}), Layout({2}));
}

TEST_P(KernelsTest, Rows) {
  for (const std::int64_t n : {0, 1, 3, 16, 31, 100, 1027}) {
    const Dim dim({static_cast<unsigned>(n)});
    const OperandPair x(dim, Layout({1}), random_);
    const OperandPair y(dim, Layout({1}), random_);
    const OperandPair m(dim, Layout({1}), random_);
    const OperandPair v(dim, Layout({1}), random_, 0.0, 1.0);
    const auto f = [](const OperandPair& p) { return p.in_float().data<float>(); };
    const auto d = [](const OperandPair& p) { return p.in_double().data<double>(); };
    for (const bool store : {true, false}) {
      cpu_kernels().add_scaled(0.3, f(x), f(y), n, store);
      double_kernels().add_scaled(0.3, d(x), d(y), n, store);
      EXPECT_LE(y.difference(), tolerance::kFewInFloat);
    }
    double norm = 3.0;
    double want = 3.0;
    cpu_kernels().add_squared_norm(f(x), n, &norm);
    double_kernels().add_squared_norm(d(x), n, &want);
    EXPECT_NEAR(norm, want, tolerance::kSameInDouble * static_cast<double>(n));
    cpu_kernels().fill(f(y), 2.5, n);
    double_kernels().fill(d(y), 2.5, n);
    EXPECT_EQ(y.difference(), 0.0);
  }
}

TEST_P(KernelsTest, ResultsDoNotDependOnThePlace) {
  // The same numbers at every offset of a row, and alone.
  std::vector<float> x(67, 0.37F);
  std::vector<float> y(67, 0.11F);
  cpu_kernels().add_scaled(0.3, x.data(), y.data(), 67, false);
  EXPECT_EQ(std::count(y.begin(), y.end(), y[0]), 67);
}

TEST_P(KernelsTest, NormIsTheSameOnEveryTarget) {
  const OperandPair x(Dim({1003}), Layout({1}), random_);
  double here = 0.0;
  cpu_kernels().add_squared_norm(x.in_float().data<float>(), 1003, &here);
  for (const std::string& target : supported_targets()) {
    use_target(target);
    double there = 0.0;
    cpu_kernels().add_squared_norm(x.in_float().data<float>(), 1003, &there);
    EXPECT_EQ(there, here) << target;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, KernelsTest, ::testing::ValuesIn(supported_targets()),
                         [](const auto& test) { return test.param; });

TEST(Targets, AreNamedAndChosen) {
  const std::vector<std::string> all = supported_targets();
  ASSERT_FALSE(all.empty());
  for (const std::string& name : all) {
    use_target(name);
    EXPECT_EQ(current_target(), name);
  }
  EXPECT_THROW(use_target("AVX9"), errors::ValueError);
  EXPECT_EQ(current_target(), all.back());
  use_target(all.front());
#if defined(__x86_64__)
  EXPECT_EQ(all.back(), "SSE4");
#endif
}

TEST(FloatMode, FlushesAndIsRestored) {
  const volatile float tiny = 1e-38F;
  const volatile float factor = 0.01F;
  EXPECT_GT(tiny * factor, 0.0F);
  {
    const FlushDenormals outer;
    EXPECT_EQ(tiny * factor, 0.0F);
    {
      const FlushDenormals inner;
      EXPECT_EQ(tiny * factor, 0.0F);
    }
    EXPECT_EQ(tiny * factor, 0.0F);
  }
  EXPECT_GT(tiny * factor, 0.0F);
}

TEST(TargetDeathTest, TheVariableNamesTheBestOneInUse) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a program that has not chosen yet
  for (const std::string& name : supported_targets()) {
    EXPECT_EXIT(
        {
          setenv("DYNET_SIMD", name.c_str(), 1);
          std::exit(current_target() == name ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "")
        << name;
  }
}

}  // namespace
}  // namespace dynet::kernels
