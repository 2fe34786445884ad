// Sums of many terms on the float device, on every target. Stated bound (carried.h): the error is
// at most 1e-5 of the sum of the terms' absolute values, for up to 10^6 terms. Equal terms are the
// worst: all roundings go to one side.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "dynet/ext/chain.h"

#include "float_loops.h"
#include "kernels/kernels.h"
#include "kernels/targets.h"
#include "testing/tolerance.h"
#include "testing/worst.h"

namespace dynet::kernels {
namespace {

using ext::Block;
using ext::Move;
using ext::Operand;
using ext::Transposed;
using ext::Write;

constexpr std::int64_t kMany = 1000000;
constexpr float kTerms[] = {0.1F, 1.0F / 3.0F, 0.7F, 1.9F};

/// Some examples in one block, or each in a block of its own, or all in the same memory.
class Tensor {
 public:
  enum Blocks { kOne, kApart };
  Tensor(const Dim& dim, std::int64_t examples, float value, Blocks how = kOne,
         bool is_fresh = true)
      : dim_(dim),
        examples_(examples),
        numbers_(static_cast<std::size_t>(dim.example_elements() * examples), value) {
    const std::int64_t each = how == kOne ? examples : 1;
    for (std::int64_t e = 0; e < examples; e += each) {
      blocks_.push_back({numbers_.data() + e * dim.example_elements(), each, is_fresh});
    }
  }
  [[nodiscard]] Operand operand() const {
    return {.dim = dim_,
            .examples = examples_,
            .blocks = blocks_.data(),
            .block_count = static_cast<std::int64_t>(blocks_.size())};
  }
  [[nodiscard]] const std::vector<float>& numbers() const { return numbers_; }
  /// The largest error, relative to the wanted value of all numbers.
  [[nodiscard]] double error(double wanted) const {
    dynet::testing::Worst worst;
    for (const float x : numbers_) {
      worst.add(std::abs(static_cast<double>(x) - wanted) / wanted);
    }
    return worst.get();
  }

 private:
  Dim dim_;
  std::int64_t examples_;
  std::vector<float> numbers_;
  std::vector<Block> blocks_;
};

class LongSums : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use_target(GetParam()); }
  void TearDown() override { use_target(supported_targets().front()); }
};
INSTANTIATE_TEST_SUITE_P(EveryTarget, LongSums, ::testing::ValuesIn(supported_targets()),
                         [](const auto& test) { return test.param; });

double sum_of(std::int64_t n, float term) {
  return static_cast<double>(n) * static_cast<double>(term);
}

TEST_P(LongSums, OfNumbersInARowAndOfColumns) {
  for (const float term : kTerms) {
    for (const std::int64_t n : {kMany, kMany / 7, std::int64_t{3001}}) {
      const Tensor x({static_cast<unsigned>(n)}, 1, term);
      const float found = float_loops().sum(x.numbers().data(), n);
      EXPECT_LE(std::abs(static_cast<double>(found) / sum_of(n, term) - 1.0), tolerance::kLongSum)
          << n << " of " << term;
    }
    for (const unsigned rows : {1U, 3U, 67U}) {
      const std::int64_t columns = kMany / rows;
      const Tensor x({rows}, columns, term);
      const Tensor y({rows}, 1, 0.0F);
      Move m;
      m.box = Dim({rows});
      m.from_stride[0] = m.to_stride[0] = 1;
      cpu_kernels().move(m, x.operand(), y.operand(), Write::kStore);
      EXPECT_LE(y.error(sum_of(columns, term)), tolerance::kLongSum) << rows << " rows of " << term;
    }
  }
}

/// Examples in separate blocks, or with a step between the numbers, are added one by one.
TEST_P(LongSums, OfExamplesThatLieApart) {
  const Tensor x({3}, kMany / 4, 0.1F, Tensor::kApart);
  const Tensor y({3}, 1, 0.0F);
  Move m;
  m.box = Dim({3});
  m.from_stride[0] = m.to_stride[0] = 1;
  cpu_kernels().move(m, x.operand(), y.operand(), Write::kStore);
  EXPECT_LE(y.error(sum_of(kMany / 4, 0.1F)), tolerance::kLongSum);

  const Tensor row({3, kMany / 4}, 1, 0.1F);
  const Tensor one({1}, 1, 0.0F);
  Move every_third;
  every_third.box = Dim({kMany / 4});
  every_third.from_stride[0] = 3;
  cpu_kernels().move(every_third, row.operand(), one.operand(), Write::kStore);
  EXPECT_LE(one.error(sum_of(kMany / 4, 0.1F)), tolerance::kLongSum);
}

TEST_P(LongSums, OfWhatMeetsInOnePlaceByIndex) {
  constexpr unsigned kCount = 20000000;  // more than a float counts in ones
  const std::vector<unsigned> index(kCount, 1);
  const Block block{const_cast<unsigned*>(index.data()), 1, false};
  Move m;
  m.box = Dim({kCount});
  m.from_stride[0] = 1;
  m.index = {.dim = {kCount}, .examples = 1, .blocks = &block, .block_count = 1};
  m.index_axis = 0;
  m.to_index_stride = 1;
  const Tensor x({kCount}, 1, 1.0F);
  const Tensor y({3}, 1, 5.0F);
  cpu_kernels().move(m, x.operand(), y.operand(), Write::kAdd);
  EXPECT_EQ(y.numbers(), (std::vector<float>{5.0F, 2.0e7F + 5.0F, 5.0F}));
}

/// Columns of a matrix, by lists of their own or one after the other into one result, beside places
/// with few terms.
TEST_P(LongSums, OfColumnsByIndex) {
  constexpr unsigned kRows = 5;
  constexpr unsigned kColumns = 3000;
  for (const bool is_one_result : {false, true}) {
    for (const bool is_fresh : {false, true}) {
      std::vector<unsigned> index(2 * kColumns, 2);
      index[7] = index[kColumns + 9] = 0;
      const Block block{index.data(), 2, false};
      Move m;
      m.box = Dim({kRows, kColumns});
      ext::strides_of(m.box, m.from_stride);
      m.to_stride[0] = 1;
      m.index = {.dim = {kColumns}, .examples = 2, .blocks = &block, .block_count = 1};
      m.index_axis = 1;
      m.to_index_stride = kRows;
      const Tensor x(m.box, 2, 0.1F);
      const Tensor y({kRows, 4}, is_one_result ? 1 : 2, 3.0F, Tensor::kOne, is_fresh);
      cpu_kernels().move(m, x.operand(), y.operand(), Write::kAsBlocks);
      const double start = is_fresh ? 0.0 : 3.0;
      const double lists = is_one_result ? 2.0 : 1.0;
      for (std::size_t i = 0; i < y.numbers().size(); ++i) {
        const std::size_t column = i / kRows % 4;
        const double terms = column == 2 ? lists * (kColumns - 1) : column == 0 ? lists : 0.0;
        // Of fresh blocks the places that nothing comes to stay as they are.
        const double begins = column == 0 || column == 2 ? start : 3.0;
        const double wanted = begins + terms * static_cast<double>(0.1F);
        EXPECT_LE(std::abs(static_cast<double>(y.numbers()[i]) - wanted),
                  tolerance::kLongSum * wanted)
            << i << (is_one_result ? ", one result" : "") << (is_fresh ? ", fresh" : "");
      }
    }
  }
}

/// A product of sizes m, n and k, with factors turned so that the inner dimension is as it lies or
/// across.
void expect_product(unsigned m, unsigned n, unsigned k, bool a_turned, bool b_turned) {
  for (const float term : {0.1F, 1.0F / 3.0F}) {
    const Tensor a(a_turned ? Dim({k, m}) : Dim({m, k}), 1, term);
    const Tensor b(b_turned ? Dim({n, k}) : Dim({k, n}), 1, 1.0F);
    const Tensor c({m, n}, 1, 0.0F);
    cpu_kernels().product(a.operand(), a_turned ? Transposed::kYes : Transposed::kNo, b.operand(),
                          b_turned ? Transposed::kYes : Transposed::kNo, c.operand(),
                          Write::kStore);
    EXPECT_LE(c.error(sum_of(k, term)), tolerance::kLongSum)
        << m << "x" << n << ", inner " << k << (a_turned ? ", a turned" : "")
        << (b_turned ? ", b turned" : "");
  }
}
TEST_P(LongSums, OfProducts) {
  for (const bool a_turned : {false, true}) {
    for (const bool b_turned : {false, true}) {
      for (const unsigned k : {97U, 192U, 1024U, 2048U, 2049U, 50000U}) {
        for (const unsigned n : {1U, 2U, 3U, 5U, 12U, 50U}) {
          for (const unsigned m : {1U, 3U, 24U, 40U}) {
            expect_product(m, n, k, a_turned, b_turned);
          }
        }
      }
      expect_product(1, 1, kMany, a_turned, b_turned);
      expect_product(3, 2, kMany / 8, a_turned, b_turned);
      expect_product(600, 2, 1024, a_turned, b_turned);
      expect_product(600, 4, 1100, a_turned, b_turned);
      expect_product(600, 300, 600, a_turned, b_turned);
    }
  }
}

/// The gradient of a weight: the inner dimension is the examples, in one block or in many.
TEST_P(LongSums, OfProductsOverExamples) {
  for (const Tensor::Blocks how : {Tensor::kOne, Tensor::kApart}) {
    for (const bool is_fresh : {false, true}) {
      constexpr std::int64_t kExamples = 60000;
      const Tensor a({3}, kExamples, 0.1F, how);
      const Tensor b({2}, kExamples, 1.0F, how);
      const Tensor c({3, 2}, 1, 7.0F, Tensor::kOne, is_fresh);
      const double wanted = sum_of(kExamples, 0.1F) + (is_fresh ? 0.0 : 7.0);
      const auto norm = cpu_kernels().product_with_norm(a.operand(), b.operand(), c.operand());
      EXPECT_LE(c.error(wanted), tolerance::kLongSum);
      if (norm.has_value()) {
        EXPECT_LE(std::abs(*norm / (6.0 * wanted * wanted) - 1.0), 2.0 * tolerance::kLongSum);
      }
      // Matrices, with products added up one by one.
      const Tensor x({4, 3}, kExamples / 4, 0.1F, how);
      const Tensor y({4, 2}, kExamples / 4, 1.0F, how);
      const Tensor z({3, 2}, 1, 7.0F, Tensor::kOne, is_fresh);
      cpu_kernels().product(x.operand(), Transposed::kYes, y.operand(), Transposed::kNo,
                            z.operand(), Write::kAsBlocks);
      EXPECT_LE(z.error(wanted), tolerance::kLongSum);
    }
  }
}

/// All states are alike, and every transition has the same score: each path has the score of any,
/// and the share of each transition is known.
TEST_P(LongSums, OfChains) {
  constexpr unsigned kStates = 3;
  constexpr unsigned kSteps = 20000;
  std::vector<std::uint32_t> path(kSteps, 1);
  for (const ext::Paths paths : {ext::Paths::kGiven, ext::Paths::kBest, ext::Paths::kSum}) {
    const Tensor emissions({kStates, kSteps}, 1, 0.7F);
    const Tensor transitions({kStates, kStates}, 1, 0.1F);
    const Tensor before({kStates, kSteps}, 1, 0.0F);
    const Tensor value({1}, 1, 0.0F);
    const Tensor d_value({1}, 1, 0.1F);
    const Tensor d_transitions({kStates, kStates}, 1, 0.0F, Tensor::kOne, false);
    const Block block{path.data(), 1, true};
    ext::Chain c;
    c.paths = paths;
    c.emissions = emissions.operand();
    c.transitions = transitions.operand();
    c.before = before.operand();
    c.value = value.operand();
    c.path = {.dim = {kSteps}, .examples = 1, .blocks = &block, .block_count = 1};
    cpu_kernels().chain(c, ext::Direction::kForward);
    const double score = sum_of(kSteps, 0.7F) + sum_of(kSteps - 1, 0.1F);
    const double all = paths == ext::Paths::kSum ? kSteps * std::log(3.0) : 0.0;
    EXPECT_LE(value.error(score + all), tolerance::kLongSum) << static_cast<int>(paths);
    c.d_value = d_value.operand();
    c.d_transitions = d_transitions.operand();
    cpu_kernels().chain(c, ext::Direction::kBackward);
    const double shares =
        std::accumulate(d_transitions.numbers().begin(), d_transitions.numbers().end(), 0.0);
    EXPECT_LE(std::abs(shares / sum_of(kSteps - 1, 0.1F) - 1.0), tolerance::kLongSum)
        << static_cast<int>(paths);
  }
}

}  // namespace
}  // namespace dynet::kernels
