// The kernels of device_loops.h against the loops of the CPU. Built with -DDYNET_CUDA=ON; skipped,
// with a message, without a device.

#include "kernels/device_loops.h"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
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

/// Sizes around the edges of tiles, of parts of terms and of groups that share them.
TEST_F(DeviceLoops, ProductsOfManySizes) {
  for (const unsigned rows : {1U, 33U, 70U}) {
    for (const unsigned columns : {1U, 8U, 9U, 260U}) {
      for (const unsigned inner : {7U, 65U, 130U}) {
        const Numbers a(Dim({rows, inner}), {1}, 1), turned(Dim({inner, rows}), {1}, 2);
        const Numbers b(Dim({inner, columns}), {1}, 3), across(Dim({columns, inner}), {1}, 4);
        const Numbers c(Dim({rows, columns}), {1}, 5);
        const auto check = [&](const Numbers& left, Transposed tl, const Numbers& right,
                               Transposed tr) {
          const auto multiply = [&](const ext::Kernels* cpu) {
            if (cpu != nullptr) {
              cpu->product(left.operand(), tl, right.operand(), tr, c.operand(), Write::kAdd);
            } else {
              start_product(left.operand(), tl, right.operand(), tr, c.operand(), Write::kAdd,
                            nullptr);
            }
          };
          compare(
              "{" + std::to_string(rows) + "," + std::to_string(inner) + "} * {" +
                  std::to_string(inner) + "," + std::to_string(columns) + "}",
              c, [&] { multiply(&cpu_kernels()); }, [&] { multiply(nullptr); });
        };
        check(a, Transposed::kNo, b, Transposed::kNo);
        check(turned, Transposed::kYes, b, Transposed::kNo);
        check(a, Transposed::kNo, across, Transposed::kYes);
      }
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
  }
}

TEST_F(DeviceLoops, SquaredNorms) {
  const Numbers x(Dim({20'000}), {1}, 1), y(Dim({4}), {1}, 2);
  auto* const sum = reinterpret_cast<double*>(y.floats());
  std::vector<std::int64_t> const many(500, 3);  // their addresses do not fit in parameters
  for (const std::vector<std::int64_t>& lengths :
       {std::vector<std::int64_t>{}, {1}, {0, 31, 0}, {4096, 1, 4097, 9000}, {20'000}, many}) {
    std::vector<ext::NumberRun> runs;
    std::int64_t at = 1;
    for (const std::int64_t n : lengths) {
      runs.push_back({x.floats() + at, n});
      at += n;
    }
    double wanted = 2.0;
    cpu_kernels().add_squared_norms(runs, &wanted);
    double found[2];
    for (double& f : found) {
      *sum = 2.0;
      start_squared_norms(runs, sum, nullptr);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      f = *sum;
    }
    EXPECT_NEAR(found[0], wanted, tolerance::kFewInFloat * wanted);
    EXPECT_EQ(found[0], found[1]);
  }
}

TEST_F(DeviceLoops, AdditionsInOrder) {
  constexpr std::int64_t kRow = 5;
  const Numbers x(Dim({46'000}), {1}, 1), y(Dim({2000}), {1}, 2);
  // Rows of y, and the numbers of the rows that are stored first.
  const auto check = [&](const std::string& what, const std::vector<std::int64_t>& rows,
                         const std::vector<std::size_t>& stored) {
    std::vector<ext::Addition> all;
    all.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      all.push_back({x.floats() + 1 + static_cast<std::int64_t>(i) * kRow,
                     y.floats() + 1 + rows[i] * kRow,
                     std::find(stored.begin(), stored.end(), i) != stored.end()});
    }
    compare(
        what, y, [&] { cpu_kernels().add_all(-0.5, all, kRow); },
        [&] { start_add_all(-0.5, all, kRow, nullptr); });
  };
  check("nothing", {}, {});
  check("one row", {3}, {});
  check("rows of their own", {3, 9, 1, 7}, {1, 2});
  check("rows that meet", {3, 9, 3, 7, 9, 3}, {0});
  check("a row that begins anew", {3, 9, 3, 3}, {2});
  std::vector<std::int64_t> many;
  many.reserve(9000);
  for (std::int64_t i = 0; i < 9000; ++i) {  // more than one copy of addresses
    many.push_back(i * i % 390);
  }
  check("many rows", many, {});
}

TEST_F(DeviceLoops, SumsOfProducts) {
  for (const auto& blocks : kBlocks) {
    const Numbers start(Dim({9}), {1}, 1), w(Dim({9, 7}), {1}, 2), b(Dim({7, 2}), blocks, 3);
    const Numbers c(Dim({9, 2}), blocks, 4);
    compare(
        "product_plus", c,
        [&] { cpu_kernels().product_plus(start.operand(), w.operand(), b.operand(), c.operand()); },
        [&] {
          const ext::Factors pair{&w.operand(), &b.operand()};
          const ext::ProductSum sum{
              .pairs = {&pair, 1}, .c = &c.operand(), .start = &start.operand()};
          start_products({&sum, 1}, nullptr);
        });
    const Numbers left(Dim({7, 9}), {1}, 5), own(Dim({5, 9}), blocks, 6);
    const Numbers right(Dim({5, 2}), blocks, 7);
    for (const bool is_fresh : {false, true}) {
      const Numbers to(Dim({9, 2}), blocks, 8, is_fresh);
      for (const std::size_t count : {1U, 2U, 19U}) {  // a launch has 16
        std::vector<ext::Factors> all;
        all.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
          all.push_back(i % 2 == 0 ? ext::Factors{&left.operand(), &b.operand()}
                                   : ext::Factors{&own.operand(), &right.operand()});
        }
        compare(
            "transposed products", to,
            [&] { cpu_kernels().transposed_products(all, to.operand(), Write::kAsBlocks); },
            [&] {
              const ext::ProductSum sum{
                  .pairs = all, .c = &to.operand(), .ta = ext::Transposed::kYes};
              start_products({&sum, 1}, nullptr);
            });
      }
    }
  }
}

/// Results lie in `whole`, and two sums may have one.
TEST_F(DeviceLoops, ListsOfProducts) {
  constexpr std::int64_t kResults = 11, kExamples = 3;
  const Numbers whole(Dim({9, 2}), std::vector<std::int64_t>(kResults * kExamples, 1), 1, false);
  const Numbers start(Dim({9}), {1}, 2), one(Dim({9, 7}), {1}, 3), own(Dim({9, 7}), {1, 2}, 4);
  const Numbers turned(Dim({7, 9}), {1}, 5), longer(Dim({9, 70}), {1}, 6);
  const Numbers b(Dim({7, 2}), {2, 1}, 7), long_b(Dim({70, 2}), {3}, 8);
  const auto result = [&](std::int64_t r, std::int64_t examples) {
    return Operand{.dim = whole.operand().dim,
                   .examples = examples,
                   .blocks = whole.operand().blocks + r * kExamples,
                   .block_count = examples};
  };
  struct Part {
    std::vector<ext::Factors> pairs;
    std::int64_t place;
    std::int64_t examples = kExamples;
    Transposed ta = Transposed::kNo;
    bool has_start = false;
    Write write = Write::kAsBlocks;
  };
  const auto check = [&](const std::string& what, const std::vector<Part>& parts) {
    std::vector<Operand> results;
    std::vector<ext::ProductSum> list;
    results.reserve(parts.size());
    for (const Part& p : parts) {
      results.push_back(result(p.place, p.examples));
      list.push_back(
          {p.pairs, &results.back(), p.ta, p.write, p.has_start ? &start.operand() : nullptr});
    }
    compare(
        what, whole, [&] { cpu_kernels().products(list); }, [&] { start_products(list, nullptr); });
  };
  const ext::Factors shared{&one.operand(), &b.operand()}, apart{&own.operand(), &b.operand()};
  const ext::Factors of_long{&longer.operand(), &long_b.operand()};
  const ext::Factors back{&turned.operand(), &b.operand()};
  check("gates", {{{shared}, 0}, {{shared, of_long}, 1}, {{of_long}, 2}});
  check("gates that begin", {{{shared}, 0, kExamples, Transposed::kNo, true},
                             {{of_long, shared}, 1, kExamples, Transposed::kNo, true}});
  check("matrices of examples beside shared ones", {{{apart}, 0}, {{shared}, 1}, {{apart}, 2}});
  check("shared matrices beside those of examples", {{{shared}, 0}, {{apart}, 1}});
  check("sums over examples", {{{apart}, 0, 1}, {{shared}, 1, 1}, {{of_long, shared}, 2}});
  check("a transposed matrix among others",
        {{{shared}, 0}, {{back, back}, 1, kExamples, Transposed::kYes}, {{shared}, 2}});
  check("results that are stored and added to",
        {{{shared}, 0, kExamples, Transposed::kNo, false, Write::kStore}, {{of_long}, 1}});
  check("sums that meet", {{{shared}, 0}, {{of_long}, 0}, {{apart}, 1}, {{shared}, 1}});
  std::vector<Part> many;
  many.reserve(kResults);
  for (std::int64_t r = 0; r < kResults; ++r) {
    many.push_back({std::vector<ext::Factors>(static_cast<std::size_t>(1 + r % 4), shared), r});
  }
  many[3].pairs.assign(19, shared);  // more than a launch has
  check("many", many);
}

/// Blocks of an operand that lie in memory of another: results that meet.
TEST_F(DeviceLoops, ResultsThatShareMemory) {
  const Numbers x(Dim({6}), {4}, 1), memory(Dim({6}), {3}, 2);
  const Numbers long_x(Dim({40, 6}), {4}, 4);
  Move sums;  // of 40 numbers each
  sums.box = Dim({40, 6});
  sums.from_stride[0] = sums.to_stride[1] = 1;
  sums.from_stride[1] = 40;
  float* const at = memory.floats() + 1;
  for (const bool is_fresh : {false, true}) {
    const ext::Block twice[] = {{at, 1, is_fresh}, {at + 6, 2, true}, {at, 1, false}};
    const Operand meets{Dim({6}), 4, twice, 3};
    for (const Write write : {Write::kAsBlocks, Write::kAdd, Write::kMax}) {
      compare(
          "moves that meet", memory,
          [&] { cpu_kernels().move(ext::whole_move(6), x.operand(), meets, write); },
          [&] { start_move(ext::whole_move(6), x.operand(), meets, write, nullptr); });
      compare(
          "sums that meet", memory,
          [&] { cpu_kernels().move(sums, long_x.operand(), meets, write); },
          [&] { start_move(sums, long_x.operand(), meets, write, nullptr); });
    }
  }
  const ext::Block shifted[] = {{at + 3, 1, true}, {at + 10, 1, false}};
  const ext::Block sources[] = {{at, 2, true}};
  compare(
      "a move over its source", memory,
      [&] {
        cpu_kernels().move(ext::whole_move(3), {Dim({3}), 2, sources, 1}, {Dim({3}), 2, shifted, 2},
                           Write::kAsBlocks);
      },
      [&] {
        start_move(ext::whole_move(3), {Dim({3}), 2, sources, 1}, {Dim({3}), 2, shifted, 2},
                   Write::kAsBlocks, nullptr);
      });
}

TEST_F(DeviceLoops, ProductsThatShareMemory) {
  const Numbers w(Dim({6, 6}), {1}, 1), x(Dim({6}), {4}, 2), many(Dim({6}), {12}, 3);
  const Numbers memory(Dim({6}), {11}, 4);
  float* const at = memory.floats() + 1;
  for (const Numbers* from : {&x, &many}) {  // columns of one tile, and of several
    const std::int64_t between = from->operand().examples - 2;
    for (const bool is_fresh : {false, true}) {
      const ext::Block twice[] = {{at, 1, is_fresh}, {at + 6, between, true}, {at, 1, false}};
      const Operand meets{Dim({6}), from->operand().examples, twice, 3};
      compare(
          "products that meet", memory,
          [&] {
            cpu_kernels().product(w.operand(), Transposed::kNo, from->operand(), Transposed::kNo,
                                  meets);
          },
          [&] {
            start_product(w.operand(), Transposed::kNo, from->operand(), Transposed::kNo, meets,
                          Write::kAsBlocks, nullptr);
          });
    }
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
