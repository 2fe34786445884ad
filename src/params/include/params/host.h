#pragma once

#include <cstdint>

#include "dynet/tensor.h"

namespace dynet::params {

/// Runs `f(pointer, elements)` over all numbers of `t`, as float* or double*. Every device's memory
/// can be read by the host so far.
template <class F>
auto visit(const Tensor& t, F f) {
  const std::int64_t n = t.d.elements();
  return t.is_double() ? f(reinterpret_cast<double*>(t.v), n) : f(t.v, n);
}
/// UsageError naming `operation` unless `t` is a square matrix without a batch; its order.
unsigned square_order(const Tensor& t, const char* operation);

}  // namespace dynet::params
