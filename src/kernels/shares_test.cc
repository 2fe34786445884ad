// Loops of the float device on several threads: the same bits as on one, for each way of a product,
// in one block and in many, and for moves, norms, rules and rows of results.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/targets.h"
#include "kernels/team.h"
#include "test_operand_pair.h"

namespace dynet::kernels {
namespace {

using ext::Transposed;
using testing::Layout;

constexpr Transposed kNo = Transposed::kNo;
constexpr Transposed kYes = Transposed::kYes;

/// An operand whose numbers have many sizes, so that another order of additions shows. Blocks have
/// gaps between them.
class Numbers {
 public:
  Numbers(const Dim& dim, const Layout& layout, unsigned seed) {
    const std::int64_t size = dim.example_elements();
    std::int64_t examples = 0;
    for (const std::int64_t n : layout.examples) {
      examples += n;
    }
    constexpr std::int64_t kGap = 3;
    const auto blocks = static_cast<std::int64_t>(layout.examples.size());
    memory_.resize(static_cast<std::size_t>(examples * size + blocks * kGap));
    std::mt19937 random(seed);
    std::normal_distribution<float> draw(0.0F, 1.0F);
    for (float& x : memory_) {
      x = std::exp(2.0F * draw(random)) * draw(random);
    }
    begin_ = memory_;
    float* at = memory_.data();
    for (std::size_t b = 0; b < layout.examples.size(); ++b) {
      blocks_.push_back({at, layout.examples[b], static_cast<bool>(layout.fresh[b])});
      at += layout.examples[b] * size + kGap;
    }
    operand_ = {.dim = dim,
                .examples = examples,
                .blocks = blocks_.data(),
                .block_count = static_cast<std::int64_t>(blocks_.size())};
  }
  void restore() { memory_ = begin_; }
  [[nodiscard]] const ext::Operand& operand() const { return operand_; }
  [[nodiscard]] std::vector<float>& memory() { return memory_; }
  /// A second block that is the place of the first: its numbers are added.
  void repeat_first_block() {
    blocks_.push_back({blocks_[0].data, blocks_[0].examples, false});
    operand_.blocks = blocks_.data();
    operand_.examples += blocks_[0].examples;
    operand_.block_count = static_cast<std::int64_t>(blocks_.size());
  }

 private:
  std::vector<float> memory_, begin_;
  std::vector<ext::Block> blocks_;
  ext::Operand operand_{};
};

class SharesTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use_target(GetParam()); }
  void TearDown() override {
    use_target(supported_targets().front());
    set_threads(0);
  }

  /// Runs `loop` on 1, 2 and 7 threads; its results in `y` have to be the same bits.
  template <class F>
  void expect_same(Numbers& y, const F& loop, const std::string& text) {
    const CutEverything cuts;
    std::vector<float> expected;
    double norm = 0.0;
    for (const unsigned n : {1U, 2U, 7U}) {
      set_threads(n);
      const Section section;
      y.restore();
      const std::uint64_t before = team_counts().loops;
      const double found = loop();
      was_cut_ = n > 1 && team_counts().loops > before;
      if (n == 1) {
        expected = y.memory();
        norm = found;
        continue;
      }
      ASSERT_EQ(std::memcmp(expected.data(), y.memory().data(), expected.size() * sizeof(float)), 0)
          << text << " on " << n << " threads";
      ASSERT_EQ(std::memcmp(&norm, &found, sizeof norm), 0) << text << " on " << n << " threads";
    }
  }
  void expect_same_product(unsigned m, unsigned n, unsigned k, Transposed ta, Transposed tb,
                           const Layout& a, const Layout& b, const Layout& c) {
    Numbers left(ta == kNo ? Dim({m, k}) : Dim({k, m}), a, 1);
    Numbers right(tb == kNo ? Dim({k, n}) : Dim({n, k}), b, 2);
    Numbers result(Dim({m, n}), c, 3);
    expect_same(
        result,
        [&] {
          cpu_kernels().product(left.operand(), ta, right.operand(), tb, result.operand());
          return 0.0;
        },
        "{" + std::to_string(m) + "," + std::to_string(k) + "} * {" + std::to_string(k) + "," +
            std::to_string(n) + "}" + (ta == kYes ? " left transposed" : "") +
            (tb == kYes ? " right transposed" : ""));
  }

  bool was_cut_ = false;  ///< of the last loop, on 7 threads
};

struct Sizes {
  unsigned m, n, k;
};
/// On both sides of each threshold of simd_gemm.cc and simd_transposed-inl.h.
const std::vector<Sizes> kSizes{
    {1, 1, 1},       {7, 3, 5},      {16, 16, 16},   {17, 5, 40},     {33, 9, 65},
    {50, 2, 130},    {67, 27, 19},   {200, 1, 101},  {200, 1, 200},   {650, 1, 640},
    {650, 2, 640},   {651, 3, 640},  {650, 4, 640},  {650, 5, 641},   {900, 7, 900},
    {200, 60, 190},  {333, 40, 333}, {5000, 2, 100}, {650, 13, 640},  {650, 11, 641},
    {400, 380, 430}, {9, 8, 2500},   {40, 300, 384}, {130, 1, 1},     {70, 9, 1},
    {100, 16, 72},   {104, 6, 72},   {300, 12, 24},  {120, 300, 150}, {24, 24, 24}};

TEST_P(SharesTest, ProductsOfMatrices) {
  std::size_t cut = 0;
  for (const auto& [m, n, k] : kSizes) {
    for (const Transposed ta : {kNo, kYes}) {
      for (const Transposed tb : {kNo, kYes}) {
        for (const bool is_fresh : {true, false}) {
          expect_same_product(m, n, k, ta, tb, Layout({1}), Layout({1}), Layout({1}, {is_fresh}));
          cut += was_cut_ ? 1 : 0;
        }
      }
    }
  }
  EXPECT_EQ(cut, kSizes.size() * 8);
}

TEST_P(SharesTest, ProductsOfBlocks) {
  const Layout apart({3, 1, 1, 5, 70, 2, 1}, {true, false, true, true, false, true, false});
  const Layout other({40, 43});
  const Layout one({1});
  for (const auto& [m, n, k] : {Sizes{20, 1, 30}, Sizes{100, 3, 50}, Sizes{65, 2, 129}}) {
    for (const Transposed ta : {kNo, kYes}) {
      expect_same_product(m, n, k, ta, kNo, one, apart, other);
      expect_same_product(m, n, k, ta, kNo, one, other, apart);
      expect_same_product(m, n, k, ta, kNo, one, apart, apart);
      expect_same_product(m, n, k, ta, kNo, apart, apart, apart);
      expect_same_product(m, n, k, ta, kNo, apart, other, one);
      expect_same_product(m, n, k, ta, kYes, apart, other, apart);
      expect_same_product(m, n, k, ta, kYes, other, apart, one);
    }
  }
}

/// Two blocks that are one place have to be written in order.
TEST_P(SharesTest, BlocksAtOnePlace) {
  for (const bool has_one_weight : {true, false}) {
    Numbers w(Dim({40, 30}), Layout({has_one_weight ? 1 : 8}), 1);
    Numbers x(Dim({30}), Layout({8}), 2);
    Numbers y(Dim({40}), Layout({4}), 3);
    y.repeat_first_block();
    expect_same(
        y,
        [&] {
          cpu_kernels().product(w.operand(), kNo, x.operand(), kNo, y.operand());
          return 0.0;
        },
        "two blocks");
  }
}

TEST_P(SharesTest, GradientsOfWeightsAndTheirNorms) {
  for (const auto& [m, n, columns] :
       {Sizes{50, 40, 30}, Sizes{320, 330, 64}, Sizes{700, 400, 150}, Sizes{320, 50, 63},
        Sizes{1000, 300, 200}, Sizes{130, 47, 70}, Sizes{2100, 16, 40}, Sizes{400, 300, 703}}) {
    for (const bool is_apart : {false, true}) {
      const auto half = static_cast<std::int64_t>(columns / 2);
      const auto rest = static_cast<std::int64_t>(columns) - half;
      const Layout layout = is_apart ? Layout({half, 1, rest - 1}) : Layout({half + rest});
      Numbers dy(Dim({m}), layout, 1);
      Numbers x(Dim({n}), layout, 2);
      for (const bool is_fresh : {true, false}) {
        Numbers dw(Dim({m, n}), Layout({1}, {is_fresh}), 3);
        expect_same(
            dw,
            [&] {
              return cpu_kernels()
                  .product_with_norm(dy.operand(), x.operand(), dw.operand())
                  .value_or(-1.0);
            },
            "gradient {" + std::to_string(m) + "," + std::to_string(n) + "}");
        EXPECT_TRUE(was_cut_);
      }
    }
  }
}

TEST_P(SharesTest, TransposedProductsOfSeveralMatrices) {
  for (const auto& [m, n, k] : {Sizes{50, 6, 40}, Sizes{72, 17, 72}, Sizes{200, 40, 100}}) {
    Numbers a(Dim({k, m}), Layout({1}), 1);
    Numbers b(Dim({k, m}), Layout({1}), 2);
    Numbers x(Dim({k}), Layout({static_cast<std::int64_t>(n)}), 3);
    Numbers y(Dim({m}), Layout({static_cast<std::int64_t>(n)}), 4);
    const ext::Factors all[] = {{&a.operand(), &x.operand()}, {&b.operand(), &x.operand()}};
    expect_same(
        y,
        [&] {
          cpu_kernels().transposed_products(all, y.operand());
          return 0.0;
        },
        "two matrices");
  }
}

TEST_P(SharesTest, ProductsWithAStart) {
  for (const auto& [m, n, k] : {Sizes{50, 1, 40}, Sizes{130, 1, 200}, Sizes{200, 17, 72}}) {
    Numbers start(Dim({m}), Layout({1}), 1);
    Numbers a(Dim({m, k}), Layout({1}), 2);
    Numbers x(Dim({k}), Layout({static_cast<std::int64_t>(n)}), 3);
    Numbers y(Dim({m}), Layout({static_cast<std::int64_t>(n)}), 4);
    expect_same(
        y,
        [&] {
          cpu_kernels().product_plus(start.operand(), a.operand(), x.operand(), y.operand());
          return 0.0;
        },
        "affine");
  }
}

TEST_P(SharesTest, NormsFillsAndSums) {
  for (const unsigned n : {1U, 100U, 32768U, 32769U, 200001U}) {
    Numbers x(Dim({n}), Layout({1}), 1);
    Numbers y(Dim({n}), Layout({1}), 2);
    expect_same(
        y,
        [&] {
          double sum = 0.25;
          float* const to = y.memory().data();
          cpu_kernels().add_squared_norm(x.memory().data(), n, &sum);
          cpu_kernels().add_scaled(0.3, x.memory().data(), to, n, false);
          cpu_kernels().fill(to, 0.0, n / 2);
          return sum;
        },
        "norm of " + std::to_string(n));
  }
}

/// A box of moves: its extents, and for each axis the strides read and written.
struct Box {
  std::vector<unsigned> extents;
  std::vector<std::int64_t> from, to;
};

TEST_P(SharesTest, MovesAndSums) {
  const std::vector<Box> boxes{
      {{60, 70}, {1, 60}, {1, 60}},  // a copy
      {{60, 70}, {1, 60}, {70, 1}},  // transposed
      {{60, 70}, {1, 60}, {1, 0}},   // sums of rows
      {{60, 70}, {1, 60}, {0, 1}},   // sums of columns
      {{60, 70}, {1, 60}, {0, 0}},   // one sum
      {{60, 70}, {1, 60}, {1, 1}},   // windows that overlap
      {{20, 7, 30}, {1, 20, 140}, {30, 0, 1}},
      {{20, 7, 30}, {1, 20, 140}, {1, 20, 0}},
      {{20, 7, 30}, {7, 1, 140}, {0, 1, 7}},
      {{60, 70}, {0, 1}, {70, 1}},   // repeated
      {{33, 5}, {-1, 33}, {1, 33}},  // backwards
  };
  for (const Box& box : boxes) {
    for (const bool is_batch : {false, true}) {
      for (const bool is_fresh : {false, true}) {
        ext::Move move;
        move.box = Dim(std::vector<long>(box.extents.begin(), box.extents.end()));
        move.scale = 0.7;
        std::copy(box.from.begin(), box.from.end(), move.from_stride);
        std::copy(box.to.begin(), box.to.end(), move.to_stride);
        move.from_offset = box.from[0] < 0 ? box.extents[0] - 1 : 0;
        Numbers x(Dim({4200}), Layout({is_batch ? 5 : 1}), 1);
        Numbers y(Dim({4200}), Layout({is_batch ? 5 : 1}, {is_fresh}), 2);
        Numbers all(Dim({4200}), Layout({1}, {is_fresh}), 3);
        const std::string text = "box " + std::to_string(&box - boxes.data());
        for (Numbers* const to : {&y, &all}) {
          expect_same(
              *to,
              [&] {
                cpu_kernels().move(move, x.operand(), to->operand());
                return 0.0;
              },
              text);
        }
      }
    }
  }
}

TEST_P(SharesTest, AFailureInAShareReachesTheCaller) {
  const CutEverything cuts;
  set_threads(3);
  const Section section;
  EXPECT_THROW(run_shares(3,
                          [](unsigned s) {
                            if (s == 2) {
                              throw std::bad_alloc();
                            }
                          }),
               std::bad_alloc);
}

INSTANTIATE_TEST_SUITE_P(Targets, SharesTest, ::testing::ValuesIn(supported_targets()),
                         [](const auto& p) { return p.param; });

}  // namespace
}  // namespace dynet::kernels
