// Softmaxes and what they consist of.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "float_loops.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_softmax.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd_math-inl.h"
#include "kernels/simd_memory-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {
namespace {

/// The last n lanes of a sum are not wanted: those after the first n become `otherwise`.
HWY_INLINE FloatVector keep_first(FloatTag d, FloatVector v, std::size_t n, FloatVector otherwise) {
  return hn::IfThenElse(hn::FirstN(d, n), v, otherwise);
}

float largest(const float* x, std::size_t n) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto top0 = lowest;
  auto top1 = lowest;
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    top0 = hn::Max(top0, hn::LoadU(d, x + i));
    top1 = hn::Max(top1, hn::LoadU(d, x + i + lanes));
  }
  for (; i < n; i += lanes) {
    const std::size_t part = HWY_MIN(lanes, n - i);
    top0 = hn::Max(top0, keep_first(d, load_part(d, x + i, part), part, lowest));
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(top0, top1)));
}

/// sum of exp(x - shift)
float sum_of_exp(const float* x, float shift, std::size_t n) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto s = hn::Set(d, shift);
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    sum0 = hn::Add(sum0, exp(d, hn::Sub(hn::LoadU(d, x + i), s)));
    sum1 = hn::Add(sum1, exp(d, hn::Sub(hn::LoadU(d, x + i + lanes), s)));
  }
  for (; i < n; i += lanes) {
    const std::size_t part = HWY_MIN(lanes, n - i);
    const auto y = exp(d, hn::Sub(load_part(d, x + i, part), s));
    sum0 = hn::Add(sum0, keep_first(d, y, part, hn::Zero(d)));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
}

float log_sum_exp(const float* x, std::int64_t count) {
  const auto n = static_cast<std::size_t>(count);
  const float top = largest(x, n);
  return top + std::log(sum_of_exp(x, top, n));
}

void scaled_exp(float scale, const float* x, float shift, float* y, std::int64_t count,
                bool store) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto n = static_cast<std::size_t>(count);
  const auto factor = hn::Set(d, scale);
  const auto s = hn::Set(d, shift);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    put(hn::Mul(factor, exp(d, hn::Sub(hn::LoadU(d, x + i), s))), d, y + i, store);
  }
  if (i < n) {
    put_part(hn::Mul(factor, exp(d, hn::Sub(load_part(d, x + i, n - i), s))), d, y + i, n - i,
             store);
  }
}

/// One softmax over elements that follow each other.
void softmax_row(const float* x, float* y, std::size_t n, bool logarithm, bool store) {
  const float top = largest(x, n);
  if (logarithm) {
    // The largest element and the logarithm are taken off one after the other: their sum would lose
    // digits of a small logarithm.
    const FloatTag d;
    const std::size_t lanes = hn::Lanes(d);
    const auto t = hn::Set(d, top);
    const auto l = hn::Set(d, std::log(sum_of_exp(x, top, n)));
    for (std::size_t i = 0; i < n; i += lanes) {
      const std::size_t part = HWY_MIN(lanes, n - i);
      put_part(hn::Sub(hn::Sub(load_part(d, x + i, part), t), l), d, y + i, part, store);
    }
    return;
  }
  if (!store) {
    scaled_exp(1.0F / sum_of_exp(x, top, n), x, top, y, static_cast<std::int64_t>(n), false);
    return;
  }
  scaled_exp(1.0F, x, top, y, static_cast<std::int64_t>(n), true);
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  auto sum = hn::Zero(d);
  for (std::size_t i = 0; i < n; i += lanes) {
    sum = hn::Add(sum, load_part(d, y + i, HWY_MIN(lanes, n - i)));
  }
  const auto factor = hn::Set(d, 1.0F / hn::GetLane(hn::SumOfLanes(d, sum)));
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t part = HWY_MIN(lanes, n - i);
    store_part(hn::Mul(factor, load_part(d, y + i, part)), d, y + i, part);
  }
}

/// As many softmaxes side by side as a vector has lanes, `part` of them wanted.
void softmax_side_by_side(const float* x, float* y, std::size_t inner, std::size_t length,
                          std::size_t part, bool logarithm, bool store) {
  const FloatTag d;
  auto top = load_part(d, x, part);
  for (std::size_t k = 1; k < length; ++k) {
    top = hn::Max(top, load_part(d, x + k * inner, part));
  }
  auto sum = hn::Zero(d);
  for (std::size_t k = 0; k < length; ++k) {
    sum = hn::Add(sum, exp(d, hn::Sub(load_part(d, x + k * inner, part), top)));
  }
  const auto norm = logarithm ? log(d, sum) : hn::Div(hn::Set(d, 1.0F), sum);
  for (std::size_t k = 0; k < length; ++k) {
    const auto shifted_x = hn::Sub(load_part(d, x + k * inner, part), top);
    const auto value = logarithm ? hn::Sub(shifted_x, norm) : hn::Mul(exp(d, shifted_x), norm);
    put_part(value, d, y + k * inner, part, store);
  }
}

void softmax(const float* x, float* y, const SoftmaxShape& shape, bool logarithm, bool store) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto inner = static_cast<std::size_t>(shape.inner);
  const auto length = static_cast<std::size_t>(shape.length);
  const auto outer = static_cast<std::size_t>(shape.outer);
  for (std::size_t o = 0; o < outer; ++o, x += inner * length, y += inner * length) {
    if (inner == 1) {
      softmax_row(x, y, length, logarithm, store);
      continue;
    }
    for (std::size_t i = 0; i < inner; i += lanes) {
      softmax_side_by_side(x + i, y + i, inner, length, HWY_MIN(lanes, inner - i), logarithm,
                           store);
    }
  }
}

/// dx = y * (dy - sum(y * dy)), or dy - exp(y) * sum(dy).
HWY_INLINE FloatVector softmax_slope(FloatTag d, FloatVector y, FloatVector dy, FloatVector sum,
                                     bool logarithm) {
  return logarithm ? hn::Sub(dy, hn::Mul(exp(d, y), sum)) : hn::Mul(y, hn::Sub(dy, sum));
}

void softmax_row_backward(const float* y, const float* dy, float* dx, std::size_t n, bool logarithm,
                          bool store) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  auto sum = hn::Zero(d);
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t part = HWY_MIN(lanes, n - i);
    const auto slope = load_part(d, dy + i, part);
    sum = logarithm ? hn::Add(sum, slope) : hn::MulAdd(slope, load_part(d, y + i, part), sum);
  }
  sum = hn::SumOfLanes(d, sum);
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t part = HWY_MIN(lanes, n - i);
    const auto slope =
        softmax_slope(d, load_part(d, y + i, part), load_part(d, dy + i, part), sum, logarithm);
    put_part(slope, d, dx + i, part, store);
  }
}

void softmax_side_by_side_backward(const float* y, const float* dy, float* dx, std::size_t inner,
                                   std::size_t length, std::size_t part, bool logarithm,
                                   bool store) {
  const FloatTag d;
  auto sum = hn::Zero(d);
  for (std::size_t k = 0; k < length; ++k) {
    const auto slope = load_part(d, dy + k * inner, part);
    sum =
        logarithm ? hn::Add(sum, slope) : hn::MulAdd(slope, load_part(d, y + k * inner, part), sum);
  }
  for (std::size_t k = 0; k < length; ++k) {
    const auto slope = softmax_slope(d, load_part(d, y + k * inner, part),
                                     load_part(d, dy + k * inner, part), sum, logarithm);
    put_part(slope, d, dx + k * inner, part, store);
  }
}

void softmax_backward(const float* y, const float* dy, float* dx, const SoftmaxShape& shape,
                      bool logarithm, bool store) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto inner = static_cast<std::size_t>(shape.inner);
  const auto length = static_cast<std::size_t>(shape.length);
  const std::size_t block = inner * length;
  for (std::int64_t o = 0; o < shape.outer; ++o, y += block, dy += block, dx += block) {
    if (inner == 1) {
      softmax_row_backward(y, dy, dx, length, logarithm, store);
      continue;
    }
    for (std::size_t i = 0; i < inner; i += lanes) {
      softmax_side_by_side_backward(y + i, dy + i, dx + i, inner, length, HWY_MIN(lanes, inner - i),
                                    logarithm, store);
    }
  }
}

}  // namespace

void fill_softmax_loops(FloatLoops& loops) {
  loops.softmax = softmax;
  loops.softmax_backward = softmax_backward;
  loops.log_sum_exp = log_sum_exp;
  loops.scaled_exp = scaled_exp;
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet::kernels {
HWY_EXPORT(fill_softmax_loops);
void choose_softmax_loops(FloatLoops& loops) { DYNET_FOR_TARGET(fill_softmax_loops)(loops); }
}  // namespace dynet::kernels
#endif
