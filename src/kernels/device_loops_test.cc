// The kernels of device_loops.h against the loops of the CPU. Built with -DDYNET_CUDA=ON; skipped,
// with a message, without a device.

#include "kernels/device_loops.h"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "testing/tolerance.h"

namespace dynet::kernels {
namespace {

using ext::Move;
using ext::Operand;
using ext::Transposed;
using ext::Write;

/// An operand in memory that both the host and the device see: random numbers, in blocks of so many
/// examples, with a number between blocks that belongs to none.
class Numbers {
 public:
  Numbers(const Dim& dim, const std::vector<std::int64_t>& blocks, unsigned seed,
          bool is_fresh = true) {
    std::int64_t examples = 0;
    for (const std::int64_t n : blocks) {
      examples += n;
    }
    const std::int64_t size = dim.example_elements();
    count_ = examples * size + static_cast<std::int64_t>(blocks.size()) + 1;
    EXPECT_EQ(cudaMallocManaged(&data_, static_cast<std::size_t>(count_) * 4), cudaSuccess);
    std::mt19937 random(seed);
    for (std::int64_t i = 0; i < count_; ++i) {
      floats()[i] = std::uniform_real_distribution<float>(-1.0F, 1.0F)(random);
    }
    std::int64_t at = 1;
    for (const std::int64_t n : blocks) {
      blocks_.push_back({floats() + at, n, is_fresh});
      at += n * size + 1;
    }
    operand_ = {.dim = dim,
                .examples = examples,
                .blocks = blocks_.data(),
                .block_count = static_cast<std::int64_t>(blocks_.size())};
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  ~Numbers() { cudaFree(data_); }

  [[nodiscard]] float* floats() const { return static_cast<float*>(data_); }
  [[nodiscard]] const Operand& operand() const { return operand_; }
  [[nodiscard]] std::vector<float> all() const { return {floats(), floats() + count_}; }
  void set(const std::vector<float>& numbers) const {
    std::copy(numbers.begin(), numbers.end(), floats());
  }
  /// Every element as an index below `limit`.
  void make_indices(unsigned limit) const {
    std::mt19937 random(7);
    for (std::int64_t i = 0; i < count_; ++i) {
      reinterpret_cast<unsigned*>(floats())[i] = static_cast<unsigned>(random() % limit);
    }
  }

 private:
  void* data_ = nullptr;
  std::int64_t count_ = 0;
  std::vector<ext::Block> blocks_;
  Operand operand_;
};

enum class As : std::uint8_t { kNumbers, kIndices };

/// Runs both and compares `result`, the numbers beside it too. The device computes twice: the bits
/// must be equal.
void compare(const std::string& what, const Numbers& result, const std::function<void()>& on_cpu,
             const std::function<void()>& on_device, As as = As::kNumbers) {
  const std::vector<float> before = result.all();
  on_cpu();
  const std::vector<float> wanted = result.all();
  std::vector<float> found[2];
  for (std::vector<float>& numbers : found) {
    result.set(before);
    on_device();
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    numbers = result.all();
  }
  result.set(before);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double bound = tolerance::kSumsInFloat * std::max(1.0, std::fabs(double{wanted[i]}));
    if (as == As::kIndices) {
      EXPECT_EQ(std::bit_cast<unsigned>(found[0][i]), std::bit_cast<unsigned>(wanted[i]))
          << what << ", index " << i;
    } else if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(found[0][i])) << what << ", number " << i;
    } else {
      EXPECT_NEAR(found[0][i], wanted[i], bound) << what << ", number " << i;
      EXPECT_EQ(found[0][i], found[1][i]) << what << ", number " << i;
    }
  }
}

class DeviceLoops : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      GTEST_SKIP() << "no CUDA device";
    }
  }
};

void compare_move(const std::string& what, const Move& m, const Numbers& x, const Numbers& y,
                  Write write) {
  compare(
      what, y, [&] { cpu_kernels().move(m, x.operand(), y.operand(), write); },
      [&] { start_move(m, x.operand(), y.operand(), write, nullptr); });
}

const std::vector<std::vector<std::int64_t>> kBlocks = {{1}, {5}, {2, 0, 3}};

TEST_F(DeviceLoops, MoveAndSum) {
  Move transposes;
  transposes.box = Dim({7, 6});
  transposes.from_stride[0] = transposes.to_stride[1] = 1;
  transposes.from_stride[1] = 7;
  transposes.to_stride[0] = 6;
  transposes.scale = -0.5;
  Move sums = transposes;  // over the first axis
  sums.to_stride[0] = 0;
  Move windows;  // two elements meet in most places
  windows.box = Dim({3, 13});
  windows.from_stride[0] = 1;
  windows.from_stride[1] = 3;
  windows.to_stride[0] = windows.to_stride[1] = 1;
  for (const auto& from : kBlocks) {
    for (const auto& to : kBlocks) {
      if (from.size() == 1 && from[0] == 1 && to.size() == 1 && to[0] == 1) {
        continue;
      }
      const Numbers x(Dim({7, 6}), from, 1);
      for (const bool is_fresh : {false, true}) {
        const Numbers y(Dim({6, 7}), to, 2, is_fresh);
        for (const Write write : {Write::kAsBlocks, Write::kStore, Write::kAdd, Write::kMax}) {
          compare_move("transpose", transposes, x, y, write);
          compare_move("sum", sums, x, y, write);
          if (write == Write::kAdd || write == Write::kMax) {  // no caller stores windows
            compare_move("windows", windows, x, y, write);
          }
        }
      }
    }
  }
}

TEST_F(DeviceLoops, MoveByIndex) {
  const Numbers x(Dim({4, 40}), {1, 2}, 1);
  const Numbers y(Dim({4, 9}), {3}, 2);
  const Numbers single(Dim({4, 9}), {1}, 3);
  const Numbers per_example(Dim({1}), {3}, 4), per_column(Dim({40}), {3}, 5);
  const Numbers per_element(Dim({4, 40}), {3}, 6);
  for (const Numbers* index : {&per_example, &per_column, &per_element}) {
    index->make_indices(9);
  }
  Move gathers;  // a column of y's own
  gathers.box = Dim({4});
  gathers.from_stride[0] = gathers.to_stride[0] = 1;
  gathers.index = per_example.operand();
  gathers.from_index_stride = 4;
  const Move scatters = ext::reversed(gathers);
  Move meets;  // each column goes to one of nine
  meets.box = Dim({4, 40});
  meets.from_stride[0] = meets.to_stride[0] = 1;
  meets.from_stride[1] = 4;
  meets.index = per_column.operand();
  meets.index_axis = 1;
  meets.to_index_stride = 4;
  Move elements = meets;
  elements.index = per_element.operand();
  elements.index_axis = Move::kPerElement;
  for (const Write write : {Write::kStore, Write::kAdd, Write::kMax}) {
    for (const Numbers* to : {&y, &single}) {
      compare_move("gather", gathers, x, *to, write);
      compare_move("scatter", scatters, x, *to, write);
      compare_move("columns that meet", meets, x, *to, write);
      compare_move("elements that meet", elements, x, *to, write);
    }
  }
}

TEST_F(DeviceLoops, ManyTermsMeetInOnePlace) {
  constexpr unsigned kTerms = 20'000;
  const Numbers x(Dim({kTerms}), {1}, 1), index(Dim({kTerms}), {1}, 2), y(Dim({1}), {1}, 3);
  x.set(std::vector<float>(kTerms + 1, 0.1F));
  index.make_indices(1);
  Move m;
  m.box = x.operand().dim;
  m.from_stride[0] = 1;
  m.index = index.operand();
  m.index_axis = 0;
  m.to_index_stride = 1;
  start_move(m, x.operand(), y.operand(), Write::kStore, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_NEAR(y.floats()[1], 2000.0, 2000.0 * tolerance::kLongSum);
}

TEST_F(DeviceLoops, Products) {
  for (const std::int64_t inner : {1, 5, 300}) {
    for (const auto& blocks : kBlocks) {
      const auto k = static_cast<unsigned>(inner);
      const Numbers shared(Dim({9, k}), {1}, 1), turned(Dim({k, 9}), {1}, 2);
      const Numbers own(Dim({9, k}), blocks, 3), b(Dim({k, 6}), blocks, 4);
      const Numbers c(Dim({9, 6}), blocks, 5), c_own(Dim({9, 6}), blocks, 6, false);
      const Numbers dy(Dim({9, 6}), blocks, 7), dw(Dim({9, k}), {1}, 8);
      const auto check = [&](const Numbers& left, Transposed tl, const Numbers& right,
                             Transposed tr, const Numbers& to, Write write) {
        compare(
            "product over " + std::to_string(inner), to,
            [&] {
              cpu_kernels().product(left.operand(), tl, right.operand(), tr, to.operand(), write);
            },
            [&] {
              start_product(left.operand(), tl, right.operand(), tr, to.operand(), write, nullptr);
            });
      };
      check(shared, Transposed::kNo, b, Transposed::kNo, c, Write::kAsBlocks);
      check(turned, Transposed::kYes, b, Transposed::kNo, c, Write::kAdd);
      check(own, Transposed::kNo, b, Transposed::kNo, c_own, Write::kAsBlocks);
      check(dy, Transposed::kNo, b, Transposed::kYes, dw, Write::kStore);
    }
  }
}

TEST_F(DeviceLoops, Lines) {
  for (const auto& blocks : kBlocks) {
    const Numbers x(Dim({3, 20, 2}), blocks, 1);
    x.floats()[2] = x.floats()[9] = NAN;
    const Numbers y(Dim({3, 20, 2}), blocks, 2, blocks.size() == 1);
    const Numbers some(Dim({3, 4, 2}), blocks, 3), all(Dim({3, 20, 2}), blocks, 4);
    for (const auto from : {ext::ScanFrom::kStart, ext::ScanFrom::kEnd}) {
      compare(
          "scan", y, [&] { cpu_kernels().scan(1, from, x.operand(), y.operand()); },
          [&] { start_scan(1, from, x.operand(), y.operand(), nullptr); });
    }
    for (const auto order : {ext::Order::kDescending, ext::Order::kAsTheyStand}) {
      for (const Numbers* places : {&some, &all}) {
        places->make_indices(3);
        compare(
            "select", *places,
            [&] { cpu_kernels().select(1, order, x.operand(), places->operand()); },
            [&] { start_select(1, order, x.operand(), places->operand(), nullptr); }, As::kIndices);
      }
    }
  }
}

TEST_F(DeviceLoops, Inverses) {
  for (const unsigned n : {1U, 2U, 40U}) {
    const Numbers a(Dim({n, n}), {2, 3}, 1);
    // Pivots stand below the diagonal, and so far above the rest that roundings do not grow.
    const float pivot = 4.0F * std::sqrt(static_cast<float>(n));
    for (std::int64_t k = 0; k < a.operand().block_count; ++k) {
      const ext::Block& block = a.operand().blocks[k];
      for (std::int64_t i = 0; i < block.examples * n; ++i) {
        static_cast<float*>(block.data)[i * n + (i + 1) % n] += pivot;
      }
    }
    const Numbers inverse(Dim({n, n}), {4, 1}, 2, false), log_det(Dim({1}), {5}, 3);
    compare(
        "inverse", inverse,
        [&] { cpu_kernels().invert(a.operand(), inverse.operand(), log_det.operand()); },
        [&] { start_invert(a.operand(), inverse.operand(), log_det.operand(), nullptr); });
    compare(
        "determinant", log_det,
        [&] { cpu_kernels().invert(a.operand(), Operand(), log_det.operand()); },
        [&] { start_invert(a.operand(), Operand(), log_det.operand(), nullptr); });
  }
}

TEST_F(DeviceLoops, NumbersInARow) {
  const ext::RandomKey key{11, 22, 33, 44};
  for (const std::int64_t n : {0, 1, 31, 32, 33, 255, 257, 1030}) {
    const Numbers x(Dim({1100}), {1}, 1), y(Dim({1100}), {1}, 2);
    float* const to = y.floats() + 1;
    const auto check = [&](const char* what, const std::function<void(bool)>& run) {
      compare(what, y, [&] { run(false); }, [&] { run(true); });
    };
    check("fill", [&](bool device) {
      device ? start_fill(to, 0.25, n, nullptr) : cpu_kernels().fill(to, 0.25, n);
    });
    for (const bool store : {false, true}) {
      check("add_scaled", [&](bool device) {
        device ? start_add_scaled(-1.5, x.floats(), to, n, store, nullptr)
               : cpu_kernels().add_scaled(-1.5, x.floats(), to, n, store);
      });
    }
    for (const auto kind : {ext::Distribution::kBernoulli, ext::Distribution::kUniform,
                            ext::Distribution::kNormal, ext::Distribution::kGumbel}) {
      check("random", [&](bool device) {
        device ? start_random(kind, 0.3, 1.7, key, to, n, nullptr)
               : cpu_kernels().random(kind, 0.3, 1.7, key, to, n);
      });
    }
    auto* const sum = reinterpret_cast<double*>(y.floats());
    *sum = 2.0;
    double wanted = 2.0;
    cpu_kernels().add_squared_norm(x.floats(), n, &wanted);
    start_squared_norm(x.floats(), n, sum, nullptr);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_NEAR(*sum, wanted, tolerance::kFewInFloat * wanted);
  }
}

TEST_F(DeviceLoops, DrawTheBitsOfTheCpu) {
  const Numbers y(Dim({500}), {1}, 1);
  for (const auto kind : {ext::Distribution::kBernoulli, ext::Distribution::kUniform}) {
    start_random(kind, 0.3, 1.7, {1, 2, 3, 4}, y.floats(), 500, nullptr);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const std::vector<float> drawn = y.all();
    cpu_kernels().random(kind, 0.3, 1.7, {1, 2, 3, 4}, y.floats(), 500);
    EXPECT_EQ(drawn, y.all());
  }
}

}  // namespace
}  // namespace dynet::kernels
