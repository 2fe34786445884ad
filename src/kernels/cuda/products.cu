// Products on CUDA, one launch for a call: a thread has a square of results, and reads the factors
// from memory.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../operands.h"
#include "kernels/device_loops.h"
#include "kernels/device_operands.h"
#include "kernels/device_sum.h"
#include "kernels/launch.h"
#include "kernels/long_sums.h"

namespace dynet::kernels {
namespace {

constexpr int kProductThreads = 64;
constexpr std::int64_t kSide = 4;  ///< of a thread's square
constexpr int kMostPairs = 8;      ///< of factors in one launch

/// A factor: element (i, k) lies at i * row + k * column.
struct Factor {
  DeviceOperand operand;
  std::int64_t row, column;
};
struct FactorPair {
  Factor a, b;
  std::int64_t inner;
};
/// The sum of some products, as a kernel's parameter.
struct ProductCall {
  FactorPair pairs[kMostPairs];
  std::int32_t pair_count;
  std::uint32_t has_start;
  DeviceOperand c, start;  ///< `start`: of each column
  std::int64_t rows, columns, examples;
  std::uint32_t steps;               ///< each example has a result
  std::uint32_t examples_are_terms;  ///< a thread takes all examples, in order
  DeviceSegments segments;
  DeviceWords words;
};

/// A thread's square of results: short sums in floats, and their sums with rounding errors
/// (long_sums.h).
class Square {
 public:
  __device__ Square(const ProductCall& p, std::int64_t row, std::int64_t column)
      : p_(p),
        row_(row),
        column_(column),
        rows_(p.rows - row < kSide ? p.rows - row : kSide),
        columns_(p.columns - column < kSide ? p.columns - column : kSide) {}

  __device__ void add_example(const DeviceExample& e) {
    for (int k = 0; k < p_.pair_count; ++k) {
      add_pair(p_.pairs[k], e);
    }
  }
  /// To the results of an example.
  __device__ void write(const DeviceExample& e) {
    carry();
    const DevicePlace<float> c = place_of<float>(p_.c, p_.segments, p_.words, e, 0);
    const float* const start = p_.has_start != 0
                                   ? place_of<const float>(p_.start, p_.segments, p_.words, e, 0).at
                                   : nullptr;
    for (std::int64_t j = 0; j < columns_; ++j) {
      for (std::int64_t i = 0; i < rows_; ++i) {
        float& to = c.at[(column_ + j) * p_.rows + row_ + i];
        const float sum = long_[j][i].get();
        if (start != nullptr) {
          to = start[row_ + i] + sum;
        } else {
          to = c.adds ? to + sum : sum;
        }
        long_[j][i] = DeviceSum();
      }
    }
  }

 private:
  __device__ void add_pair(const FactorPair& pair, const DeviceExample& e) {
    const auto at = [&](const Factor& f) {
      return place_of<const float>(f.operand, p_.segments, p_.words, e, 0).at;
    };
    const float* const a = at(pair.a) + row_ * pair.a.row;
    const float* const b = at(pair.b) + column_ * pair.b.column;
    for (std::int64_t k = 0; k < pair.inner; ++k) {
      float left[kSide];
      for (std::int64_t i = 0; i < rows_; ++i) {
        left[i] = a[i * pair.a.row + k * pair.a.column];
      }
      for (std::int64_t j = 0; j < columns_; ++j) {
        const float right = b[j * pair.b.column + k * pair.b.row];
        for (std::int64_t i = 0; i < rows_; ++i) {
          short_[j][i] += left[i] * right;
        }
      }
      if (++terms_ == kMostSteps) {
        carry();
      }
    }
  }
  __device__ void carry() {
    for (std::int64_t j = 0; j < columns_; ++j) {
      for (std::int64_t i = 0; i < rows_; ++i) {
        long_[j][i].add(short_[j][i]);
        short_[j][i] = 0.0F;
      }
    }
    terms_ = 0;
  }

  const ProductCall& p_;
  std::int64_t row_, column_, rows_, columns_, terms_ = 0;
  float short_[kSide][kSide] = {};
  DeviceSum long_[kSide][kSide];
};

__device__ std::int64_t squares(std::int64_t n) { return (n + kSide - 1) / kSide; }

__global__ void run_product(const __grid_constant__ ProductCall p) {
  const std::int64_t down = squares(p.rows);
  const std::int64_t across = squares(p.columns);
  const std::int64_t count = down * across * (p.examples_are_terms != 0 ? 1 : p.examples);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; t < count;
       t += step) {
    Square square(p, t % down * kSide, t / down % across * kSide);
    const std::int64_t first = p.examples_are_terms != 0 ? 0 : t / down / across;
    const std::int64_t end = p.examples_are_terms != 0 ? p.examples : first + 1;
    for (std::int64_t e = first; e < end; ++e) {
      const DeviceExample example = example_at(p.segments, p.words, e);
      square.add_example(example);
      if (p.steps != 0 || e + 1 == end) {
        square.write(example);
      }
    }
  }
}

std::int64_t rows_of(const Operand& o, ext::Transposed t) {
  return t == ext::Transposed::kNo ? o.dim[0] : o.dim[1];
}
std::int64_t columns_of(const Operand& o, ext::Transposed t) {
  return t == ext::Transposed::kNo ? o.dim[1] : o.dim[0];
}

/// One call, of up to kMostPairs pairs of factors.
class DeviceProduct {
 public:
  DeviceProduct(const Operand& c, Write write, std::int64_t examples)
      : c_(c), write_(write), table_(examples) {
    p_.examples = examples;
    p_.steps = c.examples != 1 || examples == 1 ? 1 : 0;
  }
  void add(const Operand& a, ext::Transposed ta, const Operand& b, ext::Transposed tb) {
    const auto factor = [](const Operand& o, ext::Transposed t) {
      const std::int64_t rows = o.dim[0];
      return t == ext::Transposed::kNo ? Factor{{}, 1, rows} : Factor{{}, rows, 1};
    };
    FactorPair& pair = p_.pairs[p_.pair_count];
    pair = {factor(a, ta), factor(b, tb), columns_of(a, ta)};
    factors_[p_.pair_count][0] = &a;
    factors_[p_.pair_count++][1] = &b;
    p_.rows = rows_of(a, ta);
    p_.columns = columns_of(b, tb);
  }
  void set_sum_over_nothing(std::int64_t rows, std::int64_t columns) {
    p_.rows = rows;
    p_.columns = columns;
  }
  void set_start(const Operand& start) { start_ = &start; }

  void run(void* stream) {
    std::size_t numbers[kMostPairs][2];
    for (int k = 0; k < p_.pair_count; ++k) {
      numbers[k][0] = table_.read(*factors_[k][0]);
      numbers[k][1] = table_.read(*factors_[k][1]);
    }
    const std::size_t c = table_.write(c_, write_);
    const std::size_t start = start_ != nullptr ? table_.read(*start_) : c;
    table_.cut();
    for (int k = 0; k < p_.pair_count; ++k) {
      p_.pairs[k].a.operand = table_.operand(numbers[k][0]);
      p_.pairs[k].b.operand = table_.operand(numbers[k][1]);
    }
    p_.c = table_.operand(c);
    p_.start = table_.operand(start);
    p_.has_start = start_ != nullptr ? 1 : 0;
    p_.segments = table_.segments();
    // A product reads no memory of its results, so results meet results at most.
    const bool in_order =
        p_.steps == 0 || (p_.examples > 1 && table_.meeting(false) != Meeting::kNowhere);
    p_.examples_are_terms = in_order ? 1 : 0;
    const std::int64_t down = (p_.rows + kSide - 1) / kSide;
    const std::int64_t across = (p_.columns + kSide - 1) / kSide;
    const std::int64_t count = down * across * (p_.examples_are_terms != 0 ? 1 : p_.examples);
    if (count != 0) {
      const WordsOnDevice words(table_.words(), stream);
      p_.words = words.get();
      launch("product", run_product, blocks_for(count, kProductThreads),
             threads_for(count, kProductThreads), stream, p_);
    }
  }

 private:
  const Operand& c_;
  Write write_;
  const Operand* start_ = nullptr;
  const Operand* factors_[kMostPairs][2] = {};
  OperandTable table_;
  ProductCall p_{};
};

}  // namespace

void start_product(const Operand& a, ext::Transposed ta, const Operand& b, ext::Transposed tb,
                   const Operand& c, Write write, void* cuda_stream) {
  if (a.examples == 0 || b.examples == 0) {
    DeviceProduct nothing(c, write, c.examples);
    nothing.set_sum_over_nothing(rows_of(a, ta), columns_of(b, tb));
    nothing.run(cuda_stream);
    return;
  }
  DeviceProduct product(c, write, std::max({a.examples, b.examples, c.examples}));
  product.add(a, ta, b, tb);
  product.run(cuda_stream);
}

void start_product_plus(const Operand& start, const Operand& a, const Operand& b, const Operand& c,
                        void* cuda_stream) {
  DeviceProduct product(c, Write::kStore, c.examples);
  product.add(a, ext::Transposed::kNo, b, ext::Transposed::kNo);
  product.set_start(start);
  product.run(cuda_stream);
}

void start_transposed_products(std::span<const ext::Factors> all, const Operand& c, Write write,
                               void* cuda_stream) {
  const auto examples = [&](const ext::Factors& f) {
    return f.a->examples == 0 || f.b->examples == 0
               ? std::int64_t{0}
               : std::max({f.a->examples, f.b->examples, c.examples});
  };
  const std::int64_t n = all.empty() ? 0 : examples(all[0]);
  const bool is_one_sum = n != 0 && std::all_of(all.begin(), all.end(), [&](const ext::Factors& f) {
                            return examples(f) == n;
                          });
  for (; !is_one_sum && !all.empty(); all = all.subspan(1), write = Write::kAdd) {
    start_product(*all[0].a, ext::Transposed::kYes, *all[0].b, ext::Transposed::kNo, c, write,
                  cuda_stream);
  }
  while (!all.empty()) {
    const std::size_t count = std::min<std::size_t>(all.size(), kMostPairs);
    DeviceProduct product(c, write, n);
    for (const ext::Factors& f : all.first(count)) {
      product.add(*f.a, ext::Transposed::kYes, *f.b, ext::Transposed::kNo);
    }
    product.run(cuda_stream);
    all = all.subspan(count);
    write = Write::kAdd;
  }
}

}  // namespace dynet::kernels
