#pragma once

// One step of the recursion over a chain (dynet/ext/chain.h).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace dynet::kernels {

/// State i of a step has `sources` predecessors in the step before: number k is state k, or, where
/// `is_band`, state i - k. Then as many elements as there are sources, less one, stand before `a`:
/// -inf, for the states that do not exist.
template <class T>
struct ChainStep {
  std::int64_t states, sources;
  bool is_band;
  const T* a;  ///< {states}: what arrives at the predecessors, with their emissions
  const T* w;  ///< {states,sources}: transitions

  [[nodiscard]] std::int64_t source(std::int64_t i, std::int64_t k) const {
    return is_band ? i - k : k;
  }
};

/// What is subtracted before exponentials are taken: nothing where that would give NaN.
template <class T>
[[nodiscard]] T finite_or_zero(T v) {
  return std::isfinite(v) ? v : T{0};
}
/// In the order where NaN is the largest.
template <class T>
[[nodiscard]] bool is_better(T v, T than) {
  return v > than || (v != v && than == than);
}

/// The plainest way to say a step.
struct PlainSteps {
  /// y_i = ln sum_k exp(a_source + w_ik).
  template <class T>
  static void sum(const ChainStep<T>& s, T* y) {
    for (std::int64_t i = 0; i < s.states; ++i) {
      T top = -std::numeric_limits<T>::infinity();
      for (std::int64_t k = 0; k < s.sources; ++k) {
        top = std::max(top, s.a[s.source(i, k)] + s.w[i + k * s.states]);
      }
      top = finite_or_zero(top);
      T total{0};
      for (std::int64_t k = 0; k < s.sources; ++k) {
        total += std::exp(s.a[s.source(i, k)] + s.w[i + k * s.states] - top);
      }
      y[i] = top + std::log(total);
    }
  }
  /// y_i = max_k (a_source + w_ik).
  template <class T>
  static void best(const ChainStep<T>& s, T* y) {
    for (std::int64_t i = 0; i < s.states; ++i) {
      y[i] = -std::numeric_limits<T>::infinity();
      for (std::int64_t k = 0; k < s.sources; ++k) {
        const T v = s.a[s.source(i, k)] + s.w[i + k * s.states];
        y[i] = is_better(v, y[i]) ? v : y[i];
      }
    }
  }
  /// The gradients of sum(): to `da` and, unless it is null, to `dw` exp(a_source + w_ik - y_i)
  /// dy_i is added. Where `is_band`, the places before `da` are written as well.
  template <class T>
  static void pull(const ChainStep<T>& s, const T* y, const T* dy, T* da, T* dw) {
    for (std::int64_t k = 0; k < s.sources; ++k) {
      for (std::int64_t i = 0; i < s.states; ++i) {
        const std::int64_t from = s.source(i, k);
        const T v = s.a[from] + s.w[i + k * s.states] - finite_or_zero(y[i]);
        const T d = std::exp(v) * dy[i];
        da[from] += d;
        if (dw != nullptr) {
          dw[i + k * s.states] += d;
        }
      }
    }
  }
};

}  // namespace dynet::kernels
