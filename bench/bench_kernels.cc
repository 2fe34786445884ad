// Matrix products and the optimiser's pass, through the interface that operations use, against the
// floors of the design: shares of this machine's peak, for a matrix in each level of memory.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "dynet/devices.h"
#include "dynet/dynet.h"
#include "dynet/ext/kernels.h"
#include "dynet/ops/activation.h"
#include "dynet/ops/elementary.h"

#include "report.h"

namespace dynet::bench {

namespace {

using ext::Block;
using ext::Operand;
using ext::Transposed;
using ext::Write;

constexpr unsigned kColumns[] = {1, 2, 4, 8, 16, 32, 64, 256};
constexpr int kCounts = 8;

struct Shape {
  unsigned rows, cols;
};
/// Floors in percent of the FMA peak, for kColumns.
struct Class {
  const char* name;
  std::vector<Shape> shapes;
  double forward[kCounts], d_x[kCounts], d_w[kCounts];
};
const std::vector<Class>& wide_classes() {
  static const std::vector<Class> classes = {{"W in L1",
                                              {{64, 64}, {50, 50}, {128, 64}},
                                              {30, 45, 55, 58, 62, 62, 62, 63},
                                              {18, 24, 28, 33, 39, 42, 47, 55},
                                              {15, 22, 33, 42, 50, 56, 60, 60}},
                                             {"W in L2",
                                              {{128, 128}, {256, 256}, {512, 256}},
                                              {25, 42, 60, 63, 66, 66, 67, 70},
                                              {21, 34, 40, 44, 49, 50, 59, 68},
                                              {11, 20, 36, 50, 58, 62, 65, 66}},
                                             {"W in L3",
                                              {{2048, 1024}},
                                              {6, 12, 22, 36, 46, 52, 60, 66},
                                              {6, 12, 23, 31, 43, 45, 54, 64},
                                              {6, 12, 22, 39, 52, 56, 60, 65}}};
  return classes;
}
/// The floors for machines with vectors of 256 bits, in percent of the peak of such machines.
const std::vector<Class>& narrow_classes() {
  static const std::vector<Class> classes = {{"W in L1",
                                              {{64, 64}, {50, 50}, {128, 64}},
                                              {45, 64, 78, 79, 80, 80, 82, 85},
                                              {40, 58, 58, 62, 65, 73, 80, 85},
                                              {22, 34, 50, 64, 74, 77, 80, 80}},
                                             {"W in L2",
                                              {{128, 128}, {256, 256}, {512, 256}},
                                              {45, 64, 78, 79, 80, 80, 82, 85},
                                              {40, 58, 58, 62, 65, 73, 80, 85},
                                              {22, 34, 50, 64, 74, 77, 80, 80}},
                                             {"W in L3",
                                              {{2048, 1024}},
                                              {12, 23, 40, 57, 60, 65, 72, 80},
                                              {12, 23, 40, 57, 60, 65, 72, 80},
                                              {12, 23, 40, 57, 60, 65, 72, 80}}};
  return classes;
}

/// Numbers on a line of 64 bytes, as all memory of the library is.
class Numbers {
 public:
  explicit Numbers(std::size_t n)
      : data_(static_cast<float*>(std::aligned_alloc(64, (n * 4 + 63) / 64 * 64))) {
    for (std::size_t i = 0; i < n; ++i) {
      data_[i] = 0.01F * static_cast<float>(i % 97) - 0.5F;
    }
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  ~Numbers() { std::free(data_); }
  [[nodiscard]] float* data() const { return data_; }

 private:
  float* data_;
};

/// One block of examples of one shape.
class Matrix {
 public:
  Matrix(const Dim& dim, std::int64_t examples)
      : numbers_(static_cast<std::size_t>(dim.example_elements() * examples)),
        block_{numbers_.data(), examples, true} {
    operand_.dim = dim;
    operand_.examples = examples;
    operand_.blocks = &block_;
    operand_.block_count = 1;
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix() = default;
  [[nodiscard]] const Operand& operand() const { return operand_; }

 private:
  Numbers numbers_;
  Block block_;
  Operand operand_;
};

enum class Product { kForward, kInputGradient, kWeightGradient };

/// GF/s of Y = W X, dX += W' dY or dW += dY X', n columns.
double gflops(const ext::Kernels& kernels, Product kind, const Shape& s, unsigned n) {
  const Matrix w({s.rows, s.cols}, 1);
  const Matrix x({s.cols}, n);
  const Matrix y({s.rows}, n);
  const double seconds = seconds_a_call(
      [&] {
        if (kind == Product::kForward) {
          kernels.product(w.operand(), Transposed::kNo, x.operand(), Transposed::kNo, y.operand(),
                          Write::kStore);
        } else if (kind == Product::kInputGradient) {
          // Stored, not added, because a sum of thousands of calls would overflow.
          kernels.product(w.operand(), Transposed::kYes, y.operand(), Transposed::kNo, x.operand(),
                          Write::kStore);
        } else {
          kernels.product(y.operand(), Transposed::kNo, x.operand(), Transposed::kYes, w.operand(),
                          Write::kAdd);
        }
      },
      0.002);
  return 2.0 * s.rows * s.cols * n / seconds * 1e-9;
}

void add_products(Report& report, const ext::Kernels& kernels, const Settings& settings,
                  Product kind, const char* name, const Class& c, const double (&floors)[kCounts]) {
  std::vector<double> single;
  double least_gain = 1e9;  // n columns at once against n times one
  for (int i = 0; i < kCounts; ++i) {
    if (settings.is_quick && i % 4 != 0) {
      continue;
    }
    double log_sum = 0;
    for (std::size_t s = 0; s < c.shapes.size(); ++s) {
      const double speed = gflops(kernels, kind, c.shapes[s], kColumns[i]);
      log_sum += std::log(speed);
      if (i == 0) {
        single.push_back(speed);
      } else {
        least_gain = std::min(least_gain, speed / single[s]);
      }
    }
    const double mean = std::exp(log_sum / static_cast<double>(c.shapes.size()));
    char title[64];
    std::snprintf(title, sizeof title, "%s, %s, %u column%s", name, c.name, kColumns[i],
                  i == 0 ? "" : "s");
    char note[64];
    std::snprintf(note, sizeof note, "%.0f GF/s", mean);
    report.add({"matrix products", title, 100 * mean / report.machine().fma_gflops, "% of FMA",
                Want::kAtLeast, floors[i], note});
  }
  report.add({"matrix products", std::string(name) + ", " + c.name + ", n columns over n single",
              least_gain, "x at least", Want::kAtLeast, 1, ""});
}

/// An elementwise rule, called through its record as the executor does.
template <class Op>
void add_function(Report& report, const ext::Kernels& kernels) {
  constexpr unsigned kElements = 4096;
  const Matrix x({kElements}, 1), y({kElements}, 1);
  const Op op{};
  ext::Call call(kernels);
  call.examples = 1;
  call.in = {&x.operand(), 1};
  call.out = {&y.operand(), 1};
  const double seconds = seconds_a_call([&] { ext::kRecord<Op>.forward(&op, call); });
  report.add({"other kernels", std::string(Op::kInfo.name) + ", 4096 elements",
              seconds * 1e9 / kElements, "ns/element", Want::kAtMost,
              std::string(report.machine().simd) == "AVX512" ? 0.30 : 0.50, ""});
}

void add_others(Report& report, const ext::Kernels& kernels) {
  const auto adam = [](std::size_t n) { return adam_seconds(n) * 1e9 / static_cast<double>(n); };
  report.add({"other kernels", "Adam, 181,376 parameters", adam(181376), "ns/param", Want::kNothing,
              0, ""});
  report.add({"other kernels", "Adam, 2.5 M parameters", adam(2500000), "ns/param", Want::kAtMost,
              0.60, ""});
  add_function<ops::Exp>(report, kernels);
  add_function<ops::Tanh>(report, kernels);
  add_function<ops::Logistic>(report, kernels);
  const Matrix w({8, 8}, 1), x({8}, 1), y({8}, 1);
  const double small = seconds_a_call([&] {
    kernels.product(w.operand(), Transposed::kNo, x.operand(), Transposed::kNo, y.operand(),
                    Write::kStore);
  });
  report.add({"other kernels", "product {8,8} * {8}, call and all", small * 1e9, "ns",
              Want::kAtMost, 20, ""});
  const Matrix w50({50, 50}, 1), x50({50}, 1), y50({50}, 1);
  const double fifty = seconds_a_call([&] {
    kernels.product(w50.operand(), Transposed::kNo, x50.operand(), Transposed::kNo, y50.operand(),
                    Write::kStore);
  });
  report.add({"other kernels", "product {50,50} * {50}, call and all", fifty * 1e9, "ns",
              Want::kAtMost, 90, ""});
}

}  // namespace

void measure_kernels(Report& report, const Settings& settings) {
  const ComputationGraph first;  // makes the library install the rules' SIMD loops
  const ext::Kernels& kernels = *get_device_manager()->get_global_device("CPU")->kernels;
  const bool is_wide = std::string(report.machine().simd) == "AVX512";
  for (const Class& c : is_wide ? wide_classes() : narrow_classes()) {
    add_products(report, kernels, settings, Product::kForward, "Y = W X", c, c.forward);
    add_products(report, kernels, settings, Product::kInputGradient, "dX = W' dY", c, c.d_x);
    add_products(report, kernels, settings, Product::kWeightGradient, "dW += dY X'", c, c.d_w);
  }
  add_others(report, kernels);
}

}  // namespace dynet::bench
