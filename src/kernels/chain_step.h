#pragma once

// One step of the recursion over a chain (dynet/ext/chain.h), for the CPU and for CUDA.

#include <cmath>
#include <cstdint>
#include <limits>

#include "dynet/ext/rule.h"

namespace dynet::kernels {

/// State i of a step has `sources` predecessors in the step before: number k is state k, or state i
/// - k if `is_band`. For a band, sources - 1 elements of -inf stand before `a`, for the states that
/// do not exist.
template <class T>
struct ChainStep {
  std::int64_t states, sources;
  bool is_band;
  const T* a;  ///< {states}: arriving scores of the predecessors, with emissions
  const T* w;  ///< {states,sources}: transitions

  [[nodiscard]] DYNET_DEVICE_FN std::int64_t source(std::int64_t i, std::int64_t k) const {
    return is_band ? i - k : k;
  }
  /// The score of the paths to state i through predecessor k.
  [[nodiscard]] DYNET_DEVICE_FN T through(std::int64_t i, std::int64_t k) const {
    return a[source(i, k)] + w[i + k * states];
  }
};

/// The number to subtract before exponentials are taken: 0 if `v` would give NaN.
template <class T>
[[nodiscard]] DYNET_DEVICE_FN T finite_or_zero(T v) {
  return std::isfinite(v) ? v : T{0};
}
/// Larger, in an order with NaN as the largest.
template <class T>
[[nodiscard]] DYNET_DEVICE_FN bool is_better(T v, T than) {
  return v > than || (v != v && than == than);
}

// One state of a step: ChainStep, or a type with the same functions.

/// ln sum_k exp(score through predecessor k).
template <class T, class Step>
[[nodiscard]] DYNET_DEVICE_FN T sum_at(const Step& step, std::int64_t i) {
  T top = -std::numeric_limits<T>::infinity();
  for (std::int64_t k = 0; k < step.sources; ++k) {
    const T v = step.through(i, k);
    top = v > top ? v : top;
  }
  top = finite_or_zero(top);
  T total{0};
  for (std::int64_t k = 0; k < step.sources; ++k) {
    total += std::exp(step.through(i, k) - top);
  }
  return top + std::log(total);
}
/// The largest score through a predecessor.
template <class T, class Step>
[[nodiscard]] DYNET_DEVICE_FN T best_at(const Step& step, std::int64_t i) {
  T best = -std::numeric_limits<T>::infinity();
  for (std::int64_t k = 0; k < step.sources; ++k) {
    const T v = step.through(i, k);
    best = is_better(v, best) ? v : best;
  }
  return best;
}
/// Which share of the sum y_i came from predecessor k.
template <class T, class Step>
[[nodiscard]] DYNET_DEVICE_FN T share_at(const Step& step, T y_i, std::int64_t i, std::int64_t k) {
  return std::exp(step.through(i, k) - finite_or_zero(y_i));
}

/// The plainest way to say a step.
struct PlainSteps {
  /// a = before + emissions, and + end unless null, less the largest number that is not NaN.
  /// Returns the subtracted number: 0 for an infinite one.
  template <class T>
  static T arrive(const T* before, const T* emissions, const T* end, std::int64_t n, T* a) {
    T top = -std::numeric_limits<T>::infinity();
    for (std::int64_t i = 0; i < n; ++i) {
      a[i] = before[i] + emissions[i];
      a[i] += end == nullptr ? T{0} : end[i];
      top = a[i] > top ? a[i] : top;
    }
    top = finite_or_zero(top);
    for (std::int64_t i = 0; i < n; ++i) {
      a[i] -= top;
    }
    return top;
  }
  /// to += row
  template <class T>
  static void add(const T* row, std::int64_t n, T* to) {
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] += row[i];
    }
  }
  /// y_i = ln sum_k exp(a_source + w_ik).
  template <class T>
  static void sum(const ChainStep<T>& step, T* y) {
    for (std::int64_t i = 0; i < step.states; ++i) {
      y[i] = sum_at<T>(step, i);
    }
  }
  /// y_i = max_k (a_source + w_ik).
  template <class T>
  static void best(const ChainStep<T>& step, T* y) {
    for (std::int64_t i = 0; i < step.states; ++i) {
      y[i] = best_at<T>(step, i);
    }
  }
  /// The gradients of sum(): adds exp(a_source + w_ik - y_i) dy_i to `da` and, unless null, to
  /// `dw`. If `is_band`, the places before `da` are written too.
  template <class T>
  static void pull(const ChainStep<T>& step, const T* y, const T* dy, T* da, T* dw) {
    for (std::int64_t k = 0; k < step.sources; ++k) {
      for (std::int64_t i = 0; i < step.states; ++i) {
        const T d = share_at(step, y[i], i, k) * dy[i];
        da[step.source(i, k)] += d;
        if (dw != nullptr) {
          dw[i + k * step.states] += d;
        }
      }
    }
  }
};

}  // namespace dynet::kernels
