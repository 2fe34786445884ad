// Speed of the float kernels against what the machine can do, measured in the same run.
//
//   kernels_bench [target]     prints one table: matrix products in percent of the FMA peak next to
//                              their floors, their columns against single ones, functions,
//                              optimiser

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "float_loops.h"
#include "kernels/kernels.h"
#include "kernels/targets.h"
#include "probes.h"

namespace dynet::kernels {
namespace {

using bench::seconds_a_call;
using ext::Block;
using ext::Operand;
using ext::Transposed;

class Floats {
 public:
  explicit Floats(std::size_t n)
      : data_(static_cast<float*>(std::aligned_alloc(64, (n * sizeof(float) + 63) / 64 * 64))) {
    for (std::size_t i = 0; i < n; ++i) {
      data_[i] = 0.001F * static_cast<float>(i % 1000) - 0.4F;
    }
  }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  ~Floats() { std::free(data_); }
  float* data() { return data_; }

 private:
  float* data_;
};

struct Matrix {
  Floats numbers;
  Block block;
  Operand operand;
  Matrix(unsigned rows, unsigned columns, std::int64_t examples, bool fresh)
      : numbers(static_cast<std::size_t>(rows * columns * examples)),
        block{numbers.data(), examples, fresh},
        operand{columns == 1 ? Dim({rows}) : Dim({rows, columns}), examples, &block, 1, nullptr} {}
};

constexpr unsigned kColumns[] = {1, 2, 4, 8, 16, 32, 64};

struct Row {
  unsigned m, k;
  const char* where;
  double floor[3][7];  ///< percent of the AVX-512 peak: forward, dX, dW
};
const Row kRows[] = {
    {128,
     128,
     "L2",
     {{25, 42, 60, 63, 66, 66, 67}, {21, 34, 40, 44, 49, 50, 59}, {11, 20, 36, 50, 58, 62, 65}}},
    {512,
     256,
     "L2",
     {{25, 42, 60, 63, 66, 66, 67}, {21, 34, 40, 44, 49, 50, 59}, {11, 20, 36, 50, 58, 62, 65}}},
    {1024,
     512,
     "edge",
     {{14, 26, 40, 50, 56, 60, 66}, {15, 27, 42, 48, 54, 44, 54}, {10, 20, 34, 47, 56, 58, 63}}}};

double seconds_of_product(const Row& r, int kind, unsigned n) {
  const ext::Kernels& k = cpu_kernels();
  const Matrix w(r.m, r.k, 1, false);
  const Matrix x(r.k, 1, n, kind == 0 ? false : false);
  const Matrix y(r.m, 1, n, true);
  return seconds_a_call([&] {
    if (kind == 0) {
      k.product(w.operand, Transposed::kNo, x.operand, Transposed::kNo, y.operand);
    } else if (kind == 1) {
      k.product(w.operand, Transposed::kYes, y.operand, Transposed::kNo, x.operand);
    } else {
      k.product(y.operand, Transposed::kNo, x.operand, Transposed::kYes, w.operand);
    }
  });
}

void products(double peak_gflops) {
  const char* kinds[] = {"forward", "dX", "dW"};
  std::printf("product         n:     ");
  for (const unsigned n : kColumns) {
    std::printf("%9u", n);
  }
  std::printf("    percent of peak / floor (AVX-512)\n");
  for (const Row& r : kRows) {
    for (int kind = 0; kind < 3; ++kind) {
      std::printf("%4ux%-4u %-4s %-8s ", r.m, r.k, r.where, kinds[kind]);
      double single = 0.0;
      std::string slower;
      for (int i = 0; i < 7; ++i) {
        const unsigned n = kColumns[i];
        const double seconds = seconds_of_product(r, kind, n);
        single = n == 1 ? seconds : single;
        if (seconds > single * n * 1.05) {
          slower += " " + std::to_string(n);
        }
        const double percent = 2e-7 * r.m * r.k * n / seconds / peak_gflops;
        std::printf("%5.0f/%-3.0f", percent, r.floor[kind][i]);
      }
      std::printf("%s%s\n",
                  slower.empty() ? "" : "   slower than single columns at n =", slower.c_str());
    }
  }
}

void small_products() {
  for (const auto& [m, k] : {std::pair{8U, 8U}, {50U, 50U}}) {
    const Row r{m, k, "", {}};
    std::printf("%ux%u * 1 column: %.0f ns\n", m, k, seconds_of_product(r, 0, 1) * 1e9);
  }
}

void rows_of_numbers() {
  constexpr std::size_t kCount = 4096;
  Floats x(kCount);
  Floats y(kCount);
  const double seconds = seconds_a_call(
      [&] { float_loops().scaled_exp(1.0F, x.data(), 0.0F, y.data(), kCount, true); });
  std::printf("exp: %.2f ns an element (floor 0.30)\n", seconds * 1e9 / kCount);
  const ext::RandomKey key{1, 2, 3, 4};
  for (const auto& [kind, name] : {std::pair{ext::Distribution::kBernoulli, "bernoulli"},
                                   {ext::Distribution::kNormal, "normal"}}) {
    std::printf("%s: %.2f ns an element\n", name,
                seconds_a_call([&, kind = kind] {
                  cpu_kernels().random(kind, 0.5, 1.0, key, y.data(), kCount);
                }) * 1e9 /
                    kCount);
  }
  for (const std::size_t n : {std::size_t{65536}, std::size_t{2500000}}) {
    Floats w(n);
    Floats g(n);
    Floats m(n);
    Floats v(n);
    for (std::size_t i = 0; i < n; ++i) {
      v.data()[i] = 0.5F;
    }
    const double adam = seconds_a_call([&] {
      cpu_kernels().adam_update({1e-6, 0.9, 0.999, 1e-8, 1.0}, w.data(), g.data(), m.data(),
                                v.data(), static_cast<std::int64_t>(n));
    });
    std::printf("adam, %zu parameters: %.2f ns each (floor 0.60)\n", n,
                adam * 1e9 / static_cast<double>(n));
  }
}

void run(const std::string& target) {
  if (!target.empty()) {
    use_target(target);
  }
  const bench::Machine machine = bench::probe_machine();
  std::printf(
      "target %s; probes with %s: FMA %.0f GF/s, read L2 %.0f L3 %.0f GB/s, rmw L2 %.0f L3 %.0f "
      "GB/s\n",
      current_target().c_str(), machine.simd, machine.fma_gflops, machine.l2_read_gbs,
      machine.l3_read_gbs, machine.l2_rmw_gbs, machine.l3_rmw_gbs);
  products(machine.fma_gflops);
  small_products();
  rows_of_numbers();
}

}  // namespace
}  // namespace dynet::kernels

int main(int argc, char** argv) {
  dynet::kernels::run(argc > 1 ? argv[1] : "");
  return 0;
}
