// Running sums, selection, and small matrices: both devices against the plainest way to say it, on
// every target, in one block and in several, stored and added.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/targets.h"
#include "test_operand_pair.h"
#include "testing/tolerance.h"
#include "testing/worst.h"

namespace dynet::kernels {
namespace {

using ext::Order;
using ext::ScanFrom;
using testing::Layout;
using testing::layouts;
using testing::OperandPair;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class LinesTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use_target(GetParam()); }
  void TearDown() override { use_target(supported_targets().front()); }
  std::mt19937 random_{1};
};
INSTANTIATE_TEST_SUITE_P(EveryTarget, LinesTest, ::testing::ValuesIn(supported_targets()),
                         [](const auto& test) { return test.param; });

/// One tensor in one block, in a device's numbers.
template <class T>
struct Tensor {
  std::vector<T> data;
  ext::Block block;
  ext::Operand operand;
  Tensor(const Dim& d, std::vector<T> numbers, bool fresh = true)
      : data(std::move(numbers)),
        block{data.data(), 1, fresh},
        operand{.dim = d, .examples = 1, .blocks = &block, .block_count = 1} {}
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() = default;
};
template <class T>
const ext::Kernels& device() {
  return std::is_same_v<T, float> ? cpu_kernels() : double_kernels();
}

// ---- running sums ------------------------------------------------------------------------------

TEST_P(LinesTest, ScansByHand) {
  const auto check = [](auto number) {
    using T = decltype(number);
    const Tensor<T> x({2, 3}, {1, 10, 2, 20, 3, 30});
    const auto scan = [&](unsigned axis, ScanFrom from, bool fresh) {
      const Tensor<T> y({2, 3}, std::vector<T>(6, T{100}), fresh);
      device<T>().scan(axis, from, x.operand, y.operand);
      return y.data;
    };
    EXPECT_EQ(scan(0, ScanFrom::kStart, true), (std::vector<T>{1, 11, 2, 22, 3, 33}));
    EXPECT_EQ(scan(0, ScanFrom::kEnd, true), (std::vector<T>{11, 10, 22, 20, 33, 30}));
    EXPECT_EQ(scan(1, ScanFrom::kStart, true), (std::vector<T>{1, 10, 3, 30, 6, 60}));
    EXPECT_EQ(scan(1, ScanFrom::kEnd, false), (std::vector<T>{106, 160, 105, 150, 103, 130}));
  };
  check(0.0F);
  check(0.0);
}

TEST_P(LinesTest, ScansOfFloatsAreThoseOfDoubles) {
  for (const Dim& d : {Dim({1}), Dim({7}), Dim({3, 5}), Dim({3, 19}), Dim({70, 3}), Dim({2, 65, 2}),
                       Dim({4, 0}), Dim({0, 4})}) {
    for (unsigned axis = 0; axis < d.nd; ++axis) {
      for (const ScanFrom from : {ScanFrom::kStart, ScanFrom::kEnd}) {
        for (const Layout& in : layouts(5)) {
          for (const Layout& out : layouts(5)) {
            const OperandPair x(d, in, random_);
            const OperandPair y(d, out, random_);
            cpu_kernels().scan(axis, from, x.in_float(), y.in_float());
            double_kernels().scan(axis, from, x.in_double(), y.in_double());
            EXPECT_LE(y.difference(), tolerance::kFewInFloat) << to_string(d) << " axis " << axis;
          }
        }
      }
    }
  }
}

/// Both devices share their loops: whole numbers against sums by hand, of more lines than go
/// together, in several examples, one after the other.
TEST_P(LinesTest, ScansOfManyLinesByHand) {
  constexpr std::size_t kLength = 5;
  for (const unsigned count : {7U, 8U, 19U}) {
    std::vector<float> numbers(std::size_t{2} * count * kLength);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<float>(i * i % 31);
    }
    for (const bool fresh : {true, false}) {
      std::vector<float> from_start(numbers.size(), 100);
      std::vector<float> from_end(numbers.size(), 100);
      const auto scan = [&](ScanFrom from, std::vector<float>& to) {
        const ext::Block in{numbers.data(), 2, false};
        const ext::Block out{to.data(), 2, fresh};
        const Dim d({kLength, count});
        cpu_kernels().scan(0, from, {.dim = d, .examples = 2, .blocks = &in, .block_count = 1},
                           {.dim = d, .examples = 2, .blocks = &out, .block_count = 1});
      };
      scan(ScanFrom::kStart, from_start);
      scan(ScanFrom::kEnd, from_end);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(i);
        const auto line = at - static_cast<std::ptrdiff_t>(i % kLength);
        const float start = fresh ? 0.0F : 100.0F;
        EXPECT_EQ(from_start[i], std::accumulate(line, at + 1, start));
        EXPECT_EQ(from_end[i], std::accumulate(at, line + kLength, start));
      }
    }
  }
}

/// In float sums, 2^24 + 1 + 1 is 2^24.
TEST_P(LinesTest, ScansKeepTheirSumsInDouble) {
  const Tensor<float> x({3}, {0x1p24F, 1.0F, 1.0F});
  const Tensor<float> y({3}, {0, 0, 0});
  cpu_kernels().scan(0, ScanFrom::kStart, x.operand, y.operand);
  EXPECT_EQ(y.data.back(), 0x1p24F + 2.0F);
}

// ---- the largest -------------------------------------------------------------------------------

/// The places of the `count` largest of one line, by a sort; of equal ones the first.
template <class T>
std::vector<std::uint32_t> largest(const std::vector<T>& line, std::size_t count, Order order) {
  std::vector<std::uint32_t> all(line.size());
  std::iota(all.begin(), all.end(), 0U);
  const auto is_larger = [&](std::uint32_t a, std::uint32_t b) {
    return std::isnan(line[a]) ? !std::isnan(line[b]) : line[a] > line[b];
  };
  std::sort(all.begin(), all.end(), [&](std::uint32_t a, std::uint32_t b) {
    return is_larger(a, b) || (a < b && !is_larger(b, a));
  });
  all.resize(count);
  if (order == Order::kAsTheyStand) {
    std::sort(all.begin(), all.end());
  }
  return all;
}

template <class T>
void check_selection(const std::vector<T>& numbers, std::int64_t inner, std::size_t length,
                     std::size_t count, Order order) {
  const auto columns = static_cast<std::size_t>(inner);
  const std::size_t outer = numbers.size() / (columns * length);
  const auto extent = [](std::size_t n) { return static_cast<unsigned>(n); };
  const Tensor<T> x({extent(columns), extent(length), extent(outer)}, numbers);
  const Tensor<std::uint32_t> places({extent(columns), extent(count), extent(outer)},
                                     std::vector<std::uint32_t>(columns * count * outer, 99));
  device<T>().select(1, order, x.operand, places.operand);
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t i = 0; i < columns; ++i) {
      std::vector<T> line(length);
      for (std::size_t k = 0; k < length; ++k) {
        line[k] = numbers[i + columns * (k + length * o)];
      }
      std::vector<std::uint32_t> found(count);
      for (std::size_t k = 0; k < count; ++k) {
        found[k] = places.data[i + columns * (k + count * o)];
      }
      ASSERT_EQ(found, largest(line, count, order)) << "length " << length << " count " << count;
    }
  }
}

TEST_P(LinesTest, SelectsTheLargest) {
  const auto check = [&](auto number) {
    using T = decltype(number);
    const std::vector<T> specials{T(kNan), T(kInf), T(-kInf), T{0}, -T{0}, T{1},
                                  T{1},    T{-1},   T(kNan),  T{2}, T{-2}, T(1e-30)};
    for (const Order order : {Order::kDescending, Order::kAsTheyStand}) {
      for (std::size_t count = 1; count <= specials.size(); ++count) {
        check_selection(specials, 1, specials.size(), count, order);
      }
      std::vector<T> long_line;  // of which a few are selected
      for (int k = 0; k < 20; ++k) {
        long_line.insert(long_line.end(), specials.rbegin(), specials.rend());
      }
      for (const std::size_t count : {1U, 5U, 15U}) {
        check_selection(long_line, 1, long_line.size(), count, order);
      }
      for (const auto& [inner, length] : {std::pair{1, 40}, {3, 5}, {7, 1}, {2, 300}}) {
        std::vector<T> numbers(static_cast<std::size_t>(inner * length) * 2);
        for (T& v : numbers) {  // with many ties
          v = static_cast<T>(static_cast<int>(random_() % 50U) - 25);
        }
        for (const int count : {1, (length + 19) / 20, (length + 1) / 2, length}) {
          check_selection(numbers, inner, static_cast<std::size_t>(length),
                          static_cast<std::size_t>(count), order);
        }
      }
    }
  };
  check(0.0F);
  check(0.0);
}

/// Elements by an index each: taken, and put back, with equal indices too.
TEST_P(LinesTest, MovesByAnIndexPerElement) {
  const std::vector<std::uint32_t> places{1, 0, 2, 2, 1, 1, 0, 2, 0, 1, 2, 0};
  for (const std::int64_t n : {1, 2}) {
    const Dim all({2, 3});
    const Dim few({2, 3});
    const ext::Block block{const_cast<std::uint32_t*>(places.data()), n, true};
    ext::Move take;
    take.box = few;
    ext::strides_of(all, take.from_stride);
    ext::strides_of(few, take.to_stride);
    take.from_index_stride = take.from_stride[1];
    take.from_stride[1] = 0;
    take.index = {.dim = few, .examples = n, .blocks = &block, .block_count = 1};
    take.index_axis = ext::Move::kPerElement;
    take.scale = 0.5;
    ext::Move put = take;
    std::swap(put.from_stride, put.to_stride);
    std::swap(put.from_index_stride, put.to_index_stride);
    for (const ext::Move& m : {take, put}) {
      for (const Layout& in : layouts(n)) {
        for (const Layout& out : layouts(n)) {
          for (const auto write : {ext::Write::kAsBlocks, ext::Write::kMax}) {
            const OperandPair x(all, in, random_);
            const OperandPair y(few, out, random_);
            cpu_kernels().move(m, x.in_float(), y.in_float(), write);
            double_kernels().move(m, x.in_double(), y.in_double(), write);
            EXPECT_LE(y.difference(), tolerance::kFewInFloat);
          }
        }
      }
    }
    const Tensor<double> x(all, {1, 2, 3, 4, 5, 6});
    const Tensor<double> y(few, std::vector<double>(6, 7.0));
    take.index.examples = 1;
    double_kernels().move(take, x.operand, y.operand, ext::Write::kAsBlocks);
    EXPECT_EQ(y.data, (std::vector<double>{1.5, 1, 2.5, 3, 1.5, 2}));
  }
}

// ---- matrices ----------------------------------------------------------------------------------

/// The largest element of a * b - 1.
double away_from_one(const std::vector<double>& a, const std::vector<double>& b, std::size_t n) {
  dynet::testing::Worst worst;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = i == j ? -1.0 : 0.0;
      for (std::size_t k = 0; k < n; ++k) {
        sum += a[i + k * n] * b[k + j * n];
      }
      worst.add(std::fabs(sum));
    }
  }
  return worst.get();
}

TEST_P(LinesTest, InverseTimesMatrixIsOne) {
  const auto check = [&](auto number, double bound) {
    using T = decltype(number);
    for (const unsigned n : {1U, 2U, 5U, 31U, 32U, 33U, 64U, 100U}) {
      std::uniform_real_distribution<double> draw(-1.0, 1.0);
      std::vector<T> a(static_cast<std::size_t>(n) * n);
      std::generate(a.begin(), a.end(), [&] { return static_cast<T>(draw(random_)); });
      for (std::size_t i = 0; i < n; ++i) {  // well conditioned, with pivots off the diagonal
        a[(i + 1) % n + i * n] += static_cast<T>(n);
      }
      const Tensor<T> x({n, n}, a);
      const Tensor<T> y({n, n}, std::vector<T>(a.size()));
      const Tensor<T> log_det({1}, {T{0}});
      device<T>().invert(x.operand, y.operand, log_det.operand);
      EXPECT_LE(away_from_one({a.begin(), a.end()}, {y.data.begin(), y.data.end()}, n), bound) << n;
      EXPECT_LE(away_from_one({y.data.begin(), y.data.end()}, {a.begin(), a.end()}, n), bound) << n;
    }
  };
  check(0.0F, tolerance::kSumsInFloat);
  check(0.0, tolerance::kSameInDouble);
}

TEST_P(LinesTest, InverseAndDeterminantByHand) {
  const auto check = [](auto number) {
    using T = decltype(number);
    const auto of = [](std::vector<T> a, bool fresh = true) {
      const unsigned n = a.size() == 4 ? 2 : 3;
      const Tensor<T> x({n, n}, std::move(a));
      Tensor<T> y({n, n}, std::vector<T>(static_cast<std::size_t>(n) * n, T{100}), fresh);
      Tensor<T> log_det({1}, {T{100}}, fresh);
      device<T>().invert(x.operand, y.operand, log_det.operand);
      y.data.push_back(log_det.data[0]);
      return y.data;
    };
    const T log_two = static_cast<T>(std::log(2.0));
    EXPECT_EQ(of({2, 0, 0, 1}), (std::vector<T>{T(0.5), 0, 0, 1, log_two}));
    EXPECT_EQ(of({2, 0, 0, 1}, false), (std::vector<T>{T(100.5), 100, 100, 101, T{100} + log_two}));
    // An exchange of rows makes the determinant negative: -1.
    const std::vector<T> exchange = of({0, 1, 1, 0});
    EXPECT_EQ(std::vector<T>(exchange.begin(), exchange.end() - 1), (std::vector<T>{0, 1, 1, 0}));
    EXPECT_TRUE(std::isnan(exchange.back()));
    // Two exchanges make the determinant positive.
    EXPECT_EQ(of({0, 1, 0, 0, 0, 1, 1, 0, 0}).back(), T{0});
    const std::vector<T> singular = of({1, 2, 2, 4});
    EXPECT_TRUE(std::all_of(singular.begin(), singular.end() - 1, [](T v) { return v != v; }));
    EXPECT_EQ(singular.back(), -std::numeric_limits<T>::infinity());
    // A minus sign on the diagonal, and a zero after it.
    EXPECT_EQ(of({-1, 0, 0, 0}).back(), -std::numeric_limits<T>::infinity());
  };
  check(0.0F);
  check(0.0);
}

TEST_P(LinesTest, MatricesInSeveralBlocks) {
  for (const Layout& in : layouts(4)) {
    for (const Layout& out : layouts(4)) {
      const OperandPair x({3, 3}, in, random_, 1.0, 2.0);
      const OperandPair log_det({1}, out, random_);
      cpu_kernels().invert(x.in_float(), {}, log_det.in_float());
      double_kernels().invert(x.in_double(), {}, log_det.in_double());
      // Some small random matrices are nearly singular: the test compares determinants.
      const ext::Operand f = log_det.in_float();
      const ext::Operand d = log_det.in_double();
      for (std::int64_t e = 0; e < 4; ++e) {
        const auto found = static_cast<double>(*f.example<float>(e));
        const double truth = *d.example<double>(e);
        EXPECT_EQ(std::isnan(found), std::isnan(truth));
        if (!std::isnan(truth)) {
          EXPECT_NEAR(std::exp(found), std::exp(truth), tolerance::kSumsInFloat);
        }
      }
    }
  }
}

}  // namespace
}  // namespace dynet::kernels
