#pragma once

// Reductions: over the elements of an example, over the examples of a batch.

#include <array>

#include "dynet/ops/common.h"

namespace dynet::ops {

struct SumElems {
  static constexpr ext::Info kInfo{.name = "sum_elems",
                                   .args = {"x"},
                                   .formula = "y = sum_i x_i",
                                   .summary = "Sum of all elements of each example.",
                                   .shapes = "any -> {1}"};
  static constexpr bool kSummed = true;
  Dim shape(const ext::Shapes& /*in*/) const { return {1}; }
  DYNET_DEVICE_FN auto value(auto x) const { return x; }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto /*y*/) const { return 1.0; }
  static std::vector<ext::Example<SumElems>> examples() {
    return {{{}, {{4, 3}}}, {{}, {{7}}}, {{}, {{1}}}};
  }
};

struct SumBatches {
  static constexpr ext::Info kInfo{.name = "sum_batches",
                                   .args = {"x"},
                                   .formula = "y = sum_e x[e] over the examples e",
                                   .summary = "Sum over the batch.",
                                   .shapes = "{..}xb -> {..}"};
  static constexpr std::array kRoles{ext::Role::kWhole};
  Dim shape(const ext::Shapes& in) const { return in[0].single_batch(); }
  void forward(ext::Call& call) const {
    call.kernels.move(over_batch(call.in[0].dim), call.in[0], call.out[0]);
  }
  void backward(ext::Call& call) const {
    ext::Move m = over_batch(call.in[0].dim);
    std::swap(m.from_stride, m.to_stride);
    call.kernels.move(m, call.d_out[0], call.d_in[0]);
  }
  static std::vector<ext::Example<SumBatches>> examples() { return {{{}, {{4, 3}}}, {{}, {{1}}}}; }

 private:
  /// From the elements of a batch to their sum over its last dimension, the examples.
  static ext::Move over_batch(const Dim& batch) {
    ext::Move m;
    m.box = batch;
    ext::strides_of(batch, m.from_stride);
    ext::strides_of(batch, m.to_stride);
    m.to_stride[batch.nd - 1] = 0;
    return m;
  }
};

using ReduceOps = ext::OpList<SumElems, SumBatches>;

}  // namespace dynet::ops
