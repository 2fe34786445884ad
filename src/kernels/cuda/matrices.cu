// Inverses and determinants on CUDA: a warp has a matrix, a lane some of its columns.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "../operands.h"
#include "kernels/device_loops.h"
#include "kernels/device_scratch.h"
#include "kernels/device_sum.h"
#include "kernels/launch.h"

namespace dynet::kernels {
namespace {

constexpr int kWarp = 32;

/// Some examples, as a kernel's parameter. Null: not wanted.
struct MatrixPiece {
  const float* a;
  float *inverse, *log_det;
  std::int64_t a_stride, inverse_stride, det_stride, n;
  bool stores_inverse, stores_det;
  float* scratch;  ///< for each example 2 n n + n numbers
};

/// A = P L U with exchange of rows, as in lu.h. Lanes meet wherever one reads the column of
/// another.
class WarpMatrix {
 public:
  __device__ WarpMatrix(const MatrixPiece& p, std::int64_t e)
      : p_(p),
        e_(e),
        n_(p.n),
        lu_(p.scratch + e * (2 * p.n * p.n + p.n)),
        x_(lu_ + p.n * p.n),
        rows_(x_ + p.n * p.n) {}

  __device__ void run() {
    factor();
    if (p_.log_det != nullptr && threadIdx.x == 0) {
      put(p_.log_det + e_ * p_.det_stride, log_det(), p_.stores_det);
    }
    if (p_.inverse != nullptr) {
      each_column([&](std::int64_t c) {
        if (!is_singular_) {
          solve(c);
        }
        for (std::int64_t i = 0; i < n_; ++i) {
          put(p_.inverse + e_ * p_.inverse_stride + c * n_ + i, is_singular_ ? NAN : x_[c * n_ + i],
              p_.stores_inverse);
        }
      });
    }
  }

 private:
  __device__ static void put(float* to, float v, bool stores) { *to = stores ? v : *to + v; }
  template <class F>
  __device__ void each_column(F f) const {
    for (std::int64_t c = threadIdx.x; c < n_; c += kWarp) {
      f(c);
    }
  }
  __device__ float& at(std::int64_t i, std::int64_t c) const { return lu_[c * n_ + i]; }

  __device__ void factor() {
    each_column([&](std::int64_t c) {
      for (std::int64_t i = 0; i < n_; ++i) {
        at(i, c) = p_.a[e_ * p_.a_stride + c * n_ + i];
      }
      rows_[c] = static_cast<float>(c);  // exact: memory ends long before 2^24 rows
    });
    for (std::int64_t j = 0; j < n_; ++j) {
      __syncwarp();
      std::int64_t best = j;
      for (std::int64_t i = j + 1; i < n_; ++i) {
        best = std::fabs(at(i, j)) > std::fabs(at(best, j)) ? i : best;
      }
      __syncwarp();  // all have found it
      if (best != j) {
        exchange(j, best);
      }
      __syncwarp();
      const float pivot = at(j, j);
      if (pivot == 0.0F) {
        is_singular_ = true;
        continue;
      }
      for (std::int64_t i = j + 1 + threadIdx.x; i < n_; i += kWarp) {
        at(i, j) /= pivot;
      }
      __syncwarp();
      each_column([&](std::int64_t c) {
        for (std::int64_t i = j + 1; i < n_ && c > j; ++i) {
          at(i, c) -= at(i, j) * at(j, c);
        }
      });
    }  // after the last column no lane wrote, so that none need wait
  }
  __device__ void exchange(std::int64_t j, std::int64_t best) {
    is_odd_ = !is_odd_;
    each_column([&](std::int64_t c) {
      const float v = at(j, c);
      at(j, c) = at(best, c);
      at(best, c) = v;
    });
    if (threadIdx.x == 0) {
      const float row = rows_[j];
      rows_[j] = rows_[best];
      rows_[best] = row;
    }
  }
  /// NaN if the determinant is negative.
  [[nodiscard]] __device__ float log_det() const {
    DeviceSum sum;
    bool is_negative = is_odd_;
    for (std::int64_t i = 0; i < n_; ++i) {
      is_negative = is_negative != (at(i, i) < 0.0F);
      sum.add(std::log(std::fabs(at(i, i))));
    }
    return is_negative && !is_singular_ ? NAN : sum.get();
  }
  /// Column c of the inverse.
  __device__ void solve(std::int64_t c) const {
    float* const x = x_ + c * n_;
    for (std::int64_t i = 0; i < n_; ++i) {
      x[i] = rows_[i] == static_cast<float>(c) ? 1.0F : 0.0F;
    }
    for (std::int64_t j = 0; j < n_; ++j) {
      for (std::int64_t i = j + 1; i < n_; ++i) {
        x[i] -= x[j] * at(i, j);
      }
    }
    for (std::int64_t j = n_ - 1; j >= 0; --j) {
      x[j] /= at(j, j);
      for (std::int64_t i = 0; i < j; ++i) {
        x[i] -= x[j] * at(i, j);
      }
    }
  }

  const MatrixPiece& p_;
  std::int64_t e_, n_;
  float *lu_, *x_, *rows_;
  bool is_odd_ = false, is_singular_ = false;
};

__global__ void run_invert(MatrixPiece p) { WarpMatrix(p, blockIdx.x).run(); }

std::optional<Cursor> walk(const Operand& o, std::int64_t n) {
  return o.absent() ? std::nullopt : std::optional<Cursor>(std::in_place, o, n);
}

}  // namespace

void start_invert(const Operand& a, const Operand& inverse, const Operand& log_det,
                  void* cuda_stream) {
  const std::int64_t n = a.dim[0];
  Cursor in(a, a.examples);
  auto out = walk(inverse, a.examples);
  auto det = walk(log_det, a.examples);
  for (std::int64_t left = a.examples; left > 0;) {
    std::int64_t m = std::min(left, in.run());
    for (const auto* result : {&out, &det}) {
      if (*result) {
        m = (*result)->steps() ? std::min(m, (*result)->run()) : 1;
      }
    }
    const DeviceScratch scratch(m * (2 * n * n + n) * 4, cuda_stream);
    const MatrixPiece p{in.at<const float>(),
                        out ? out->at<float>() : nullptr,
                        det ? det->at<float>() : nullptr,
                        in.stride(),
                        out ? out->stride() : 0,
                        det ? det->stride() : 0,
                        n,
                        out && out->stores(Write::kAsBlocks),
                        det && det->stores(Write::kAsBlocks),
                        scratch.numbers()};
    launch("invert", run_invert, static_cast<unsigned>(m), kWarp, cuda_stream, p);
    left -= m;
    in.advance(m, left);
    for (auto* result : {&out, &det}) {
      if (*result) {
        (*result)->advance(m, left);
      }
    }
  }
}

}  // namespace dynet::kernels
