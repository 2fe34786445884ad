// Products on CUDA: a thread has a square of results, and reads the factors from memory.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/device_loops.h"
#include "kernels/device_sum.h"
#include "kernels/launch.h"
#include "kernels/long_sums.h"
#include "pieces.h"

namespace dynet::kernels {
namespace {

constexpr int kProductThreads = 64;
constexpr std::int64_t kSide = 4;  ///< of a thread's square

/// A factor: element (i, k) lies at i * row + k * column.
struct Factor {
  const float* data;
  std::int64_t row, column, stride;
};
struct ProductPiece {
  Factor a, b;
  float* c;
  std::int64_t c_stride, rows, columns, inner, examples;
  bool stores;
};

/// A thread's square of results: short sums in floats, and their sums with rounding errors
/// (long_sums.h).
class Square {
 public:
  __device__ Square(const ProductPiece& p, std::int64_t row, std::int64_t column)
      : p_(p),
        row_(row),
        column_(column),
        rows_(p.rows - row < kSide ? p.rows - row : kSide),
        columns_(p.columns - column < kSide ? p.columns - column : kSide) {}

  __device__ void add_example(std::int64_t e) {
    const float* const a = p_.a.data + e * p_.a.stride + row_ * p_.a.row;
    const float* const b = p_.b.data + e * p_.b.stride + column_ * p_.b.column;
    for (std::int64_t k = 0; k < p_.inner; ++k) {
      float left[kSide];
      for (std::int64_t i = 0; i < rows_; ++i) {
        left[i] = a[i * p_.a.row + k * p_.a.column];
      }
      for (std::int64_t j = 0; j < columns_; ++j) {
        const float right = b[j * p_.b.column + k * p_.b.row];
        for (std::int64_t i = 0; i < rows_; ++i) {
          short_[j][i] += left[i] * right;
        }
      }
      if (++terms_ == kMostSteps) {
        carry();
      }
    }
  }
  /// To the results of example e.
  __device__ void write(std::int64_t e) {
    carry();
    for (std::int64_t j = 0; j < columns_; ++j) {
      for (std::int64_t i = 0; i < rows_; ++i) {
        float& to = p_.c[e * p_.c_stride + (column_ + j) * p_.rows + row_ + i];
        const float sum = long_[j][i].get();
        to = p_.stores ? sum : to + sum;
      }
    }
  }

 private:
  __device__ void carry() {
    for (std::int64_t j = 0; j < columns_; ++j) {
      for (std::int64_t i = 0; i < rows_; ++i) {
        long_[j][i].add(short_[j][i]);
        short_[j][i] = 0.0F;
      }
    }
    terms_ = 0;
  }

  const ProductPiece& p_;
  std::int64_t row_, column_, rows_, columns_, terms_ = 0;
  float short_[kSide][kSide] = {};
  DeviceSum long_[kSide][kSide];
};

__device__ std::int64_t squares(std::int64_t n) { return (n + kSide - 1) / kSide; }

__global__ void run_product(ProductPiece p) {
  const bool steps = p.c_stride != 0;
  const std::int64_t down = squares(p.rows);
  const std::int64_t across = squares(p.columns);
  const std::int64_t count = down * across * (steps ? p.examples : 1);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; t < count;
       t += step) {
    Square square(p, t % down * kSide, t / down % across * kSide);
    const std::int64_t first = steps ? t / down / across : 0;
    const std::int64_t end = steps ? first + 1 : p.examples;
    for (std::int64_t e = first; e < end; ++e) {
      square.add_example(e);
    }
    square.write(first);
  }
}

Factor factor_of(const Operand& o, ext::Transposed t) {
  const std::int64_t rows = o.dim[0];
  return t == ext::Transposed::kNo ? Factor{nullptr, 1, rows, 0} : Factor{nullptr, rows, 1, 0};
}
void start_piece(const ProductPiece& p, void* stream) {
  const std::int64_t down = (p.rows + kSide - 1) / kSide;
  const std::int64_t across = (p.columns + kSide - 1) / kSide;
  const std::int64_t count = down * across * (p.c_stride != 0 ? p.examples : 1);
  if (count != 0) {
    launch("product", run_product, blocks_for(count, kProductThreads),
           threads_for(count, kProductThreads), stream, p);
  }
}

}  // namespace

void start_product(const Operand& a, ext::Transposed ta, const Operand& b, ext::Transposed tb,
                   const Operand& c, Write write, void* cuda_stream) {
  ProductPiece all{factor_of(a, ta), factor_of(b, tb), nullptr, 0, 0, 0, 0, 0, false};
  all.rows = ta == ext::Transposed::kNo ? a.dim[0] : a.dim[1];
  all.inner = ta == ext::Transposed::kNo ? a.dim[1] : a.dim[0];
  all.columns = tb == ext::Transposed::kNo ? b.dim[1] : b.dim[0];
  const bool is_empty = a.examples == 0 || b.examples == 0;  // a sum over nothing is zero
  const std::int64_t n = is_empty ? c.examples : std::max({a.examples, b.examples, c.examples});
  if (is_empty) {
    all.inner = 0;
  }
  Cursor left(is_empty ? c : a, n);
  Cursor right(is_empty ? c : b, n);
  Cursor result(c, n);
  for_each_piece(
      n,
      [&](std::int64_t m) {
        ProductPiece p = all;
        p.a.data = left.at<const float>();
        p.a.stride = left.stride();
        p.b.data = right.at<const float>();
        p.b.stride = right.stride();
        p.c = result.at<float>();
        p.c_stride = result.stride();
        p.stores = result.stores(write);
        p.examples = m;
        start_piece(p, cuda_stream);
      },
      result, left, right);
}

}  // namespace dynet::kernels
