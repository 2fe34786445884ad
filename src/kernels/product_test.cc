// Products of the float device against the double device, on every target.
//
// Stated bound: an element's error is at most (inner + 4) * 2^-24 times the sum of the absolute
// products; numbers here lie in [-1, 1].

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/targets.h"
#include "test_operand_pair.h"
#include "testing/sanitized.h"
#include "testing/tolerance.h"

namespace dynet::kernels {
namespace {

using dynet::testing::trials;
using ext::Transposed;
using ext::Write;
using testing::Layout;
using testing::layouts;
using testing::OperandPair;

struct Sizes {
  unsigned m, n, k;
};

std::string text(const Sizes& s) {
  return std::to_string(s.m) + "x" + std::to_string(s.k) + " * " + std::to_string(s.k) + "x" +
         std::to_string(s.n);
}

class ProductTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use_target(GetParam()); }
  void TearDown() override { use_target(supported_targets().front()); }

  void compare(const Sizes& s, Transposed ta, Transposed tb, const Layout& a, const Layout& b,
               const Layout& c, Write write = Write::kAsBlocks) {
    const OperandPair left(ta == Transposed::kNo ? Dim({s.m, s.k}) : Dim({s.k, s.m}), a, random_);
    const OperandPair right(tb == Transposed::kNo ? Dim({s.k, s.n}) : Dim({s.n, s.k}), b, random_);
    const OperandPair result(Dim({s.m, s.n}), c, random_);
    const auto inputs = left.in_float();
    cpu_kernels().product(inputs, ta, right.in_float(), tb, result.in_float(), write);
    double_kernels().product(left.in_double(), ta, right.in_double(), tb, result.in_double(),
                             write);
    const std::int64_t summed =
        result.in_float().examples == 1 ? std::max(inputs.examples, right.in_float().examples) : 1;
    const double terms = static_cast<double>(s.k) * static_cast<double>(summed);
    EXPECT_LE(result.difference(), (terms + 4.0) * tolerance::kRounding * std::max(1.0, terms))
        << text(s) << (ta == Transposed::kYes ? " left transposed" : "")
        << (tb == Transposed::kYes ? " right transposed" : "");
  }

  std::mt19937 random_{1};
};

constexpr Transposed kNo = Transposed::kNo;
constexpr Transposed kYes = Transposed::kYes;

TEST_P(ProductTest, OddSizes) {
  for (const unsigned m : {1U, 2U, 5U, 7U, 16U, 17U, 33U, 50U, 67U}) {
    for (const unsigned n : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 9U, 16U, 27U, 49U}) {
      for (const unsigned k : {1U, 2U, 4U, 7U, 16U, 19U, 65U, 130U}) {
        for (const Transposed ta : {kNo, kYes}) {
          for (const Transposed tb : {kNo, kYes}) {
            compare({m, n, k}, ta, tb, Layout({1}), Layout({1}),
                    Layout({1}, {(m + n + k) % 2 == 0}));
          }
        }
      }
    }
  }
}

TEST_P(ProductTest, LargeMatricesInEveryWay) {
  struct Way {
    Transposed left, right;
    bool is_fresh;
  };
  std::size_t turn = 0;
  const auto compare_ways = [&](const Sizes& s, const std::vector<Way>& ways) {
    // With sanitizers each size goes one way; the ways take turns.
    for (std::size_t i = 0; i < trials(ways.size(), std::size_t{1}); ++i) {
      const Way& way = ways[(turn + i) % ways.size()];
      compare(s, way.left, way.right, Layout({1}), Layout({1}), Layout({1}, {way.is_fresh}));
    }
    ++turn;
  };
  // Sizes on both sides of each threshold of simd_gemm.cc.
  for (const Sizes s :
       {Sizes{200, 1, 101}, Sizes{650, 1, 640}, Sizes{650, 2, 640}, Sizes{651, 3, 640},
        Sizes{650, 4, 640}, Sizes{650, 5, 641}, Sizes{900, 7, 1700}, Sizes{200, 60, 190},
        Sizes{333, 40, 333}, Sizes{5000, 2, 100}, Sizes{650, 13, 640}, Sizes{650, 11, 641},
        Sizes{700, 380, 530}, Sizes{9, 8, 2500}, Sizes{40, 700, 384}}) {
    compare_ways(s, {{kNo, kNo, true}, {kNo, kNo, false}, {kYes, kNo, true}, {kYes, kYes, false}});
  }
  for (const Sizes s : {Sizes{320, 330, 64}, Sizes{320, 330, 150}, Sizes{320, 50, 63},
                        Sizes{800, 330, 530}, Sizes{320, 60, 900}}) {
    compare_ways(s, {{kNo, kYes, false}, {kNo, kYes, true}});
  }
}

/// The numbers of an operand of one block, copied to where a matrix starts on a line of the cache.
class Aligned {
 public:
  explicit Aligned(const OperandPair& pair) : operand_(pair.in_float()) {
    const auto bytes = sizeof(float) * static_cast<std::size_t>(operand_.dim.example_elements());
    data_.reset(::operator new(bytes, std::align_val_t{64}));
    std::memcpy(data_.get(), operand_.data<float>(), bytes);
    block_ = {data_.get(), 1, true};
    operand_.blocks = &block_;
  }
  [[nodiscard]] const ext::Operand& operand() const { return operand_; }

 private:
  struct Release {
    void operator()(void* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  ext::Operand operand_;
  std::unique_ptr<void, Release> data_;
  ext::Block block_{};
};

TEST_P(ProductTest, ColumnsThatStartHalfAVectorApart) {
  for (const unsigned rows : {2U, 4U, 8U, 12U, 20U, 24U, 40U, 200U, 216U}) {
    for (const unsigned columns : {1U, 2U, 7U, 8U, 17U, 50U}) {
      const OperandPair left(Dim({rows, columns}), Layout({1}), random_);
      const OperandPair start(Dim({rows}), Layout({1}), random_);
      const Aligned a(left);
      for (const unsigned n : {1U, 2U, 3U, 7U}) {
        for (const Transposed ta : {kYes, kNo}) {
          const Sizes s = ta == kYes ? Sizes{columns, n, rows} : Sizes{rows, n, columns};
          const OperandPair right(Dim({s.k, n}), Layout({1}), random_);
          const OperandPair result(Dim({s.m, n}), Layout({1}, {n != 2}), random_);
          const double bound = (s.k + 4.0) * 0x1p-24 * s.k;
          const auto product = [&](Write write) {
            cpu_kernels().product(a.operand(), ta, right.in_float(), kNo, result.in_float(), write);
            double_kernels().product(left.in_double(), ta, right.in_double(), kNo,
                                     result.in_double(), write);
            EXPECT_LE(result.difference(), bound) << text(s);
          };
          product(Write::kAsBlocks);
          product(Write::kStore);
          if (ta == kNo) {
            cpu_kernels().product_plus(start.in_float(), a.operand(), right.in_float(),
                                       result.in_float());
            double_kernels().product_plus(start.in_double(), left.in_double(), right.in_double(),
                                          result.in_double());
            EXPECT_LE(result.difference(), bound + 0x1p-24) << text(s) << " from a vector";
          }
        }
      }
    }
  }
}

TEST_P(ProductTest, SharedLeftOperandInBlocks) {
  for (const std::int64_t n : {2, 5, 9, 150}) {
    for (const unsigned columns : {1U, 3U}) {
      for (const Layout& b : layouts(n)) {
        for (const Layout& c : layouts(n)) {
          compare({19, columns, 13}, kNo, kNo, Layout({1}), b, c);
          compare({19, columns, 13}, kYes, kNo, Layout({1}), b, c);
        }
      }
    }
  }
  compare({19, 1, 13}, kNo, kNo, Layout({1}), Layout({3, 70, 2, 200}), Layout({100, 5, 170}));
  compare({19, 1, 13}, kNo, kNo, Layout({1}), Layout({0, 3, 0, 2}), Layout({1, 0, 4}));
}

TEST_P(ProductTest, SummedResultInBlocks) {
  for (const std::int64_t n : {2, 5, 150}) {
    for (const unsigned columns : {1U, 3U}) {
      for (const Layout& a : layouts(n)) {
        for (const Layout& b : layouts(n)) {
          compare({19, 13, columns}, kNo, kYes, a, b, Layout({1}));
          compare({19, 13, columns}, kNo, kYes, a, b, Layout({1}, {false}));
        }
      }
    }
  }
  compare({40, 33, 1}, kNo, kYes, Layout({3, 70, 2, 200}), Layout({100, 5, 170}), Layout({1}));
  for (const Layout& a : layouts(4)) {
    compare({9, 5, 7}, kYes, kNo, a, Layout({4}), Layout({1}));
    compare({9, 5, 7}, kNo, kNo, Layout({1}), a, Layout({1}, {false}));
  }
}

/// Columns of whole vectors lie side by side in scratch, as in their blocks.
TEST_P(ProductTest, ColumnsOfWholeVectorsInBlocks) {
  for (const unsigned columns : {1U, 3U}) {
    for (const Layout& some : layouts(9)) {
      for (const Layout& others : layouts(9)) {
        compare({32, columns, 16}, kNo, kNo, Layout({1}), some, others);
        compare({16, 32, columns}, kNo, kYes, some, others, Layout({1}));
        compare({16, 13, columns}, kNo, kYes, some, others, Layout({1}, {false}));
      }
    }
  }
}

TEST_P(ProductTest, EachExampleByItself) {
  for (const Layout& a : layouts(5)) {
    for (const Layout& c : layouts(5)) {
      compare({9, 5, 7}, kNo, kNo, a, Layout({5}), c);
      compare({9, 5, 7}, kNo, kYes, a, Layout({2, 3}), c);
      compare({9, 5, 7}, kYes, kNo, a, Layout({1}), c);
      compare({9, 1, 7}, kYes, kYes, Layout({1}), a, c);
    }
  }
}

TEST_P(ProductTest, WriteOverridesTheBlocks) {
  for (const Write write : {Write::kStore, Write::kAdd}) {
    compare({9, 1, 7}, kNo, kNo, Layout({1}), Layout({5}), Layout({2, 3}, {true, false}), write);
    compare({9, 8, 7}, kNo, kYes, Layout({5}), Layout({5}), Layout({1}, {true}), write);
    compare({9, 8, 7}, kNo, kNo, Layout({5}), Layout({5}), Layout({2, 3}, {false, true}), write);
  }
}

TEST_P(ProductTest, ManyShortBlocksAreGatheredInChunks) {
  const Layout many(std::vector<std::int64_t>(1100, 1));
  compare({7, 1, 5}, kNo, kNo, Layout({1}), many, Layout({1100}));
  compare({7, 1, 5}, kNo, kNo, Layout({1}), many, many);
  compare({7, 5, 1}, kNo, kYes, many, many, Layout({1}, {false}));
  compare({7, 5, 1}, kNo, kYes, Layout({1100}), many, Layout({1}));
}

TEST_P(ProductTest, SumsOfTransposedProducts) {
  // {k,m} transposed times {k,n}, for each of `ks`.
  const auto check = [&](unsigned m, unsigned n, const std::vector<unsigned>& ks, const Layout& a,
                         const Layout& b, const Layout& c, Write write = Write::kAsBlocks) {
    std::vector<OperandPair> pairs;
    std::vector<ext::Operand> floats;
    std::vector<ext::Operand> doubles;
    double terms = 0;
    for (const unsigned k : ks) {
      pairs.emplace_back(Dim({k, m}), a, random_);
      pairs.emplace_back(Dim({k, n}), b, random_);
      terms += k;
    }
    for (const OperandPair& pair : pairs) {
      floats.push_back(pair.in_float());
      doubles.push_back(pair.in_double());
    }
    const auto factors = [](const std::vector<ext::Operand>& operands) {
      std::vector<ext::Factors> all;
      for (std::size_t i = 0; i < operands.size(); i += 2) {
        all.push_back({&operands[i], &operands[i + 1]});
      }
      return all;
    };
    const OperandPair result(Dim({m, n}), c, random_);
    cpu_kernels().transposed_products(factors(floats), result.in_float(), write);
    double_kernels().transposed_products(factors(doubles), result.in_double(), write);
    EXPECT_LE(result.difference(), (terms + 5.0) * 0x1p-24 * std::max(1.0, terms))
        << ks.size() << " of " << text({m, n, ks[0]});
  };
  const Layout one({1});
  for (const unsigned m : {1U, 4U, 7U, 16U, 67U}) {
    for (const unsigned n : {1U, 3U, 6U, 7U, 16U, 70U, 300U}) {
      for (const unsigned k : {1U, 7U, 16U, 40U, 65U}) {
        check(m, n, {k, k, k}, one, one, Layout({1}, {(m + n + k) % 2 == 0}));
      }
    }
  }
  check(33, 16, {128}, one, one, one);
  check(33, 16, {128, 128, 128, 128}, one, one, one);
  check(33, 16, {128, 128, 128, 128, 128}, one, one, one);  // more than are walked through at once
  check(9, 20, {900, 900, 900}, one, one, one);             // longer than is walked through at once
  check(9, 5, {7, 8, 7}, one, one, one);
  check(9, 5, {0, 0}, one, one, one);
  check(9, 5, {200, 200}, one, one, one);  // columns that start half a vector apart
  for (const Write write : {Write::kStore, Write::kAdd, Write::kAsBlocks}) {
    for (const Layout& b : layouts(5)) {
      for (const Layout& c : layouts(5)) {
        check(19, 1, {13, 13}, one, b, c, write);
        check(19, 3, {13, 13}, Layout({2, 3}), b, c, write);
      }
    }
  }
  check(19, 1, {13, 13, 13}, one, Layout({5}), one);  // a result of all examples
}

TEST_P(ProductTest, ColumnsThatStartFromAVector) {
  const auto check = [&](const Sizes& s, const Layout& b, const Layout& c, const Layout& start) {
    const OperandPair first(Dim({s.m}), start, random_);
    const OperandPair left(Dim({s.m, s.k}), Layout({1}), random_);
    const OperandPair right(Dim({s.k, s.n}), b, random_);
    const OperandPair result(Dim({s.m, s.n}), c, random_);
    cpu_kernels().product_plus(first.in_float(), left.in_float(), right.in_float(),
                               result.in_float());
    double_kernels().product_plus(first.in_double(), left.in_double(), right.in_double(),
                                  result.in_double());
    EXPECT_LE(result.difference(), (s.k + 5.0) * 0x1p-24 * std::max(1.0, double{1.0} * s.k))
        << text(s);
  };
  for (const unsigned m : {1U, 5U, 16U, 33U, 67U}) {
    for (const unsigned n : {1U, 2U, 4U, 7U, 49U}) {
      for (const unsigned k : {0U, 1U, 2U, 7U, 65U}) {
        check({m, n, k}, Layout({1}), Layout({1}), Layout({1}));
      }
    }
  }
  for (const unsigned n : {1U, 2U, 3U, 4U, 5U, 13U, 60U}) {
    check({650, n, 640}, Layout({1}), Layout({1}), Layout({1}));
    check({201, n, 160}, Layout({1}), Layout({1}), Layout({1}));
  }
  check({700, 380, 530}, Layout({1}), Layout({1}), Layout({1}));
  for (const Layout& b : layouts(5)) {
    for (const Layout& c : layouts(5)) {
      check({19, 1, 13}, b, c, Layout({1}));
      check({19, 3, 13}, b, c, Layout({5}));
    }
  }
}

TEST_P(ProductTest, NothingToSum) {
  compare({5, 3, 0}, kNo, kNo, Layout({1}), Layout({2}), Layout({2}));
  compare({5, 3, 0}, kNo, kNo, Layout({1}), Layout({2}), Layout({2}, {false}));
  compare({5, 3, 0}, kNo, kYes, Layout({2}), Layout({2}), Layout({1}));
  compare({0, 3, 2}, kNo, kNo, Layout({1}), Layout({2}), Layout({2}));
  compare({5, 0, 2}, kYes, kNo, Layout({1}), Layout({2}), Layout({2}));
}

TEST_P(ProductTest, OneMemoryInTwoBlocks) {
  // Two examples' results go to the same place: the first is stored, the second added.
  const OperandPair left(Dim({4, 3}), Layout({1}), random_);
  const OperandPair right(Dim({3}), Layout({2}), random_);
  std::vector<float> y(4, 7.0F);
  const ext::Block blocks[] = {{y.data(), 1, true}, {y.data(), 1, false}};
  ext::Operand c;
  c.dim = Dim({4});
  c.examples = 2;
  c.blocks = blocks;
  c.block_count = 2;
  cpu_kernels().product(left.in_float(), kNo, right.in_float(), kNo, c, Write::kAsBlocks);
  const OperandPair sum(Dim({4, 1}), Layout({1}), random_);
  cpu_kernels().product(left.in_float(), kNo, right.in_float(), kNo, sum.in_float(),
                        Write::kAsBlocks);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(y[i], sum.in_float().data<float>()[i], tolerance::kFewInFloat);
  }
}

TEST_P(ProductTest, NormOfWhatWasWritten) {
  // Both sides of each threshold; some ways of small results do not count.
  for (const Sizes s :
       {Sizes{5, 3, 2}, Sizes{67, 50, 1}, Sizes{67, 49, 19}, Sizes{50, 7, 130}, Sizes{16, 1, 9},
        Sizes{33, 1, 2000}, Sizes{330, 310, 70}, Sizes{510, 500, 600}, Sizes{2000, 50, 200},
        Sizes{500, 5, 1000}, Sizes{500, 3, 1000}}) {
    for (const bool store : {true, false}) {
      for (const Layout& layout : {Layout({s.k}), Layout(std::vector<std::int64_t>(s.k, 1))}) {
        const OperandPair dy(Dim({s.m}), layout, random_);
        const OperandPair x(Dim({s.n}), layout, random_);
        const OperandPair result(Dim({s.m, s.n}), Layout({1}, {store}), random_);
        const OperandPair same(Dim({s.m, s.n}), Layout({1}, {true}), random_);
        const auto c = result.in_float();
        if (!store) {
          cpu_kernels().add_scaled(1.0, c.data<float>(), same.in_float().data<float>(),
                                   c.dim.elements(), true);
        }
        const std::optional<double> norm =
            cpu_kernels().product_with_norm(dy.in_float(), x.in_float(), c);
        double fresh = 0.0;
        cpu_kernels().add_squared_norm(c.data<float>(), c.dim.elements(), &fresh);
        EXPECT_NEAR(norm.value_or(fresh), fresh, 24 * tolerance::kRounding * fresh) << text(s);
        EXPECT_TRUE(norm.has_value() || s.n <= 3 || s.k == 1) << text(s);
        cpu_kernels().product(dy.in_float(), kNo, x.in_float(), kYes, same.in_float(),
                              store ? Write::kStore : Write::kAdd);
        EXPECT_TRUE(std::equal(c.data<float>(), c.data<float>() + c.dim.elements(),
                               same.in_float().data<float>()))
            << text(s);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, ProductTest, ::testing::ValuesIn(supported_targets()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace dynet::kernels
