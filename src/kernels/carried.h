#pragma once

// Sums of many numbers in one place, for loops that count their additions (long_sums.h). Example:
// after each kMostTerms additions a float of the result moves to a double in `memory` and becomes
// 0.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/long_sums.h"
#include "scratch.h"

namespace dynet::kernels {

/// n numbers in memory to which is added again and again. Nothing is done before there were many
/// additions, nor for doubles. `memory`: of the thread, for this sum alone. Settle it at the end.
template <class T>
class CarriedSum {
 public:
  explicit CarriedSum(Scratch& memory) : memory_(memory) {}

  /// The numbers that are added to from now on; null: none are.
  void at(T* x, std::int64_t n) {
    if (x != x_) {
      settle();
      x_ = x;
      n_ = n;
    }
  }
  /// Each number may have got so many more, up to kMostTerms at a time.
  void added(std::int64_t terms = 1) {
    if constexpr (std::is_same_v<T, float>) {
      terms_ += terms;
      if (terms_ >= kMostTerms && x_ != nullptr) {
        carry();
      }
    }
  }
  /// Whether memory has not all of it.
  [[nodiscard]] bool is_carried() const { return is_carried_; }
  /// Writes the complete sums to memory.
  void settle() {
    if (is_carried_) {
      const double* const sums = this->sums();
      for (std::int64_t i = 0; i < n_; ++i) {
        x_[i] = static_cast<T>(sums[i] + static_cast<double>(x_[i]));
      }
    }
    is_carried_ = false;
    terms_ = 0;
  }

 private:
  [[nodiscard]] double* sums() const {
    return reinterpret_cast<double*>(memory_.get(2 * static_cast<std::size_t>(n_)));
  }
  void carry() {
    double* const sums = this->sums();
    for (std::int64_t i = 0; i < n_; ++i) {
      sums[i] = (is_carried_ ? sums[i] : 0.0) + static_cast<double>(x_[i]);
      x_[i] = T{0};
    }
    is_carried_ = true;
    terms_ = 0;
  }

  Scratch& memory_;
  T* x_ = nullptr;
  std::int64_t n_ = 0, terms_ = 0;
  bool is_carried_ = false;
};

}  // namespace dynet::kernels
