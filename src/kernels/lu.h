#pragma once

// Factorisation of small dense matrices: A = P L U with exchange of rows, and the inverse from the
// factors. docs/decisions/0013-small-matrices.md says why no library does this.
//
// Columns are taken kWidth at a time. Within such a panel the elimination goes column by column;
// its effect on the rest of the matrix is one product, so that large matrices spend nearly all time
// in the device's product loop. The inverse is solved for in the same steps. Example: a matrix
// {100,100} has panels of 32, 32, 32 and 4 columns.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "dynet/ext/kernels.h"

#include "operands.h"
#include "scratch.h"

namespace dynet::kernels {

/// AddProduct(m, n, k, a, lda, b, c, ldc): c += a * b; all column-major, b dense. Lives for one
/// matrix after the other; its memory is the thread's.
template <class T, class AddProduct>
class Lu {
 public:
  Lu(std::int64_t n, AddProduct add_product) : n_(n), add_product_(add_product) {
    thread_local Scratch memory;
    const auto size = static_cast<std::size_t>(n);
    const std::size_t numbers = 2 * size * size + kWidth * size + size;
    a_ = reinterpret_cast<T*>(memory.get(numbers * sizeof(T) / sizeof(float)));
    x_ = a_ + n * n;
    panel_ = x_ + n * n;
    rows_ = reinterpret_cast<std::int32_t*>(panel_ + kWidth * n);
  }

  void factor(const T* matrix) {
    std::copy_n(matrix, n_ * n_, a_);
    is_odd_ = is_singular_ = false;
    for (std::int64_t i = 0; i < n_; ++i) {
      rows_[i] = static_cast<std::int32_t>(i);
    }
    for (std::int64_t from = 0; from < n_; from += kWidth) {
      const std::int64_t to = std::min(from + kWidth, n_);
      for (std::int64_t j = from; j < to; ++j) {
        eliminate(j, to);
      }
      solve_below(from, to, a_ + to * n_, n_ - to);
      subtract(a_ + from * n_ + to, n_ - to, from, to, a_ + to * n_, to, n_ - to);
    }
  }
  /// ln det: NaN if det is negative, -inf if det is 0.
  [[nodiscard]] T log_det() const {
    double sum = 0.0;
    bool is_negative = is_odd_;
    for (std::int64_t i = 0; i < n_; ++i) {
      const auto u = static_cast<double>(a_[i * n_ + i]);
      is_negative = is_negative != (u < 0.0);
      sum += std::log(std::fabs(u));
    }
    return is_negative && !is_singular_ ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(sum);
  }
  /// The inverse; NaN if the matrix is singular. Valid until the next call.
  [[nodiscard]] const T* inverse() {
    if (is_singular_) {
      std::fill_n(x_, n_ * n_, std::numeric_limits<T>::quiet_NaN());
      return x_;
    }
    std::fill_n(x_, n_ * n_, T{0});
    for (std::int64_t i = 0; i < n_; ++i) {
      x_[i + rows_[i] * n_] = T{1};
    }
    for (std::int64_t from = 0; from < n_; from += kWidth) {
      const std::int64_t to = std::min(from + kWidth, n_);
      solve_below(from, to, x_, n_);
      subtract(a_ + from * n_ + to, n_ - to, from, to, x_, to, n_);
    }
    for (std::int64_t from = (n_ - 1) / kWidth * kWidth; from >= 0; from -= kWidth) {
      const std::int64_t to = std::min(from + kWidth, n_);
      solve_above(from, to);
      subtract(a_ + from * n_, from, from, to, x_, 0, n_);
    }
    return x_;
  }

 private:
  static constexpr std::int64_t kWidth = 32;

  /// Eliminates column j, in the columns up to `to`.
  void eliminate(std::int64_t j, std::int64_t to) {
    T* const column = a_ + j * n_;
    std::int64_t best = j;
    for (std::int64_t i = j + 1; i < n_; ++i) {
      best = std::fabs(column[i]) > std::fabs(column[best]) ? i : best;
    }
    if (best != j) {
      for (std::int64_t c = 0; c < n_; ++c) {
        std::swap(a_[c * n_ + j], a_[c * n_ + best]);
      }
      std::swap(rows_[j], rows_[best]);
      is_odd_ = !is_odd_;
    }
    if (column[j] == T{0}) {
      is_singular_ = true;
      return;
    }
    for (std::int64_t i = j + 1; i < n_; ++i) {
      column[i] /= column[j];
    }
    for (std::int64_t c = j + 1; c < to; ++c) {
      subtract_column(a_[c * n_ + j], column, a_ + c * n_, j + 1, n_);
    }
  }
  /// y -= u * l, elements `from` to `to`.
  static void subtract_column(T u, const T* l, T* y, std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      y[i] -= u * l[i];
    }
  }
  /// Rows `from` to `to` of b, of some columns, by L.
  void solve_below(std::int64_t from, std::int64_t to, T* b, std::int64_t columns) const {
    for (T* column = b; column < b + columns * n_; column += n_) {
      for (std::int64_t j = from; j < to; ++j) {
        subtract_column(column[j], a_ + j * n_, column, j + 1, to);
      }
    }
  }
  /// Rows `from` to `to` of x by U.
  void solve_above(std::int64_t from, std::int64_t to) const {
    for (T* column = x_; column < x_ + n_ * n_; column += n_) {
      for (std::int64_t j = to - 1; j >= from; --j) {
        column[j] /= a_[j * n_ + j];
        subtract_column(column[j], a_ + j * n_, column, from, j);
      }
    }
  }
  /// `rows` rows of b from `at` on -= left * rows `from` to `to` of b.
  void subtract(const T* left, std::int64_t rows, std::int64_t from, std::int64_t to, T* b,
                std::int64_t at, std::int64_t columns) const {
    if (rows == 0 || columns == 0) {
      return;
    }
    const std::int64_t width = to - from;
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t j = 0; j < width; ++j) {
        panel_[c * width + j] = -b[c * n_ + from + j];
      }
    }
    add_product_(rows, columns, width, left, n_, panel_, b + at, n_);
  }

  std::int64_t n_;
  AddProduct add_product_;
  T* a_;                ///< L below the diagonal, whose own is 1, and U
  T* x_;                ///< the inverse
  T* panel_;            ///< a block of rows, negated
  std::int32_t* rows_;  ///< row i of L U is this one of the matrix
  bool is_odd_ = false, is_singular_ = false;
};

/// ext::Kernels::invert.
template <class T, class AddProduct>
void invert_matrices(const Operand& a, const Operand& inverse, const Operand& log_det,
                     AddProduct add_product) {
  const std::int64_t n = a.dim.rows();
  const auto walk = [&](const Operand& o) {
    return o.absent() ? std::nullopt : std::optional<Cursor>(std::in_place, o, a.examples);
  };
  Cursor in(a, a.examples);
  std::optional<Cursor> out = walk(inverse);
  std::optional<Cursor> out_det = walk(log_det);
  const auto put = [](Cursor& to, const T* from, std::int64_t count) {
    const bool store = to.stores(Write::kAsBlocks);
    T* const y = to.at<T>();
    for (std::int64_t i = 0; i < count; ++i) {
      y[i] = store ? from[i] : y[i] + from[i];
    }
  };
  Lu<T, AddProduct> lu(n, add_product);
  for (std::int64_t e = 0; e < a.examples; ++e) {
    lu.factor(in.at<const T>());
    if (out_det) {
      const T det = lu.log_det();
      put(*out_det, &det, 1);
    }
    if (out) {
      put(*out, lu.inverse(), n * n);
    }
    in.advance(1, a.examples - e - 1);
    for (std::optional<Cursor>* cursor : {&out, &out_det}) {
      if (cursor->has_value()) {
        cursor->value().advance(1, a.examples - e - 1);
      }
    }
  }
}

}  // namespace dynet::kernels
