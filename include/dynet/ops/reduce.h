#pragma once

// Reductions: over the elements of an example, over the examples of a batch.

#include <array>
#include <cstdint>
#include <string>

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
  static std::vector<ext::Example<SumElems>> examples() { return elementwise_examples<SumElems>(); }
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
  void gradient(auto& to) const { to.give(0, to.d_out()); }
  static std::vector<ext::Example<SumBatches>> examples() {
    return elementwise_examples<SumBatches>();
  }

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

/// The dimensions that a reduction takes away.
using DimSet = ext::List<unsigned, DYNET_MAX_TENSOR_DIM>;

inline std::uint32_t mask_of(const DimSet& dims) {
  std::uint32_t mask = 0;
  for (const unsigned d : dims) {
    mask |= std::uint32_t{1} << d;
  }
  return mask;
}
/// The shape of x without `dims`; without all of them it is {1}.
inline Dim without_axes(const ext::Shapes& in, const DimSet& dims) {
  const Dim& x = in[0];
  std::uint32_t seen = 0;
  for (const unsigned d : dims) {
    if (d >= x.nd || (seen >> d & 1U) != 0) {
      in.fail("dims that are different and below " + std::to_string(x.nd));
    }
    seen |= std::uint32_t{1} << d;
  }
  Dim r;
  for (unsigned d = 0; d < x.nd; ++d) {
    if ((seen >> d & 1U) == 0) {
      r.d[r.nd++] = x.d[d];
    }
  }
  if (r.nd == 0) {
    r.d[r.nd++] = 1;
  }
  return r;
}
/// The divisor of an average: `n`, or the number of elements if n is 0.
DYNET_DEVICE_FN constexpr auto count_or(unsigned n) {
  const auto given = rule::lift(n);
  return select(given == 0.0, over::count(), given);
}
struct SumDim {
  DimSet dims;

  static constexpr ext::Info kInfo{.name = "sum_dim",
                                   .args = {"x"},
                                   .attrs = {"dims"},
                                   .formula = "y = sum of x over the dimensions dims",
                                   .summary = "Sum over any set of dimensions, which are removed.",
                                   .shapes = "{a,b,c} -> {b} for dims = {0,2}, all of them -> {1}",
                                   .errors = "ShapeError if x lacks one of dims",
                                   .cpp = "-",
                                   .python = "-"};
  static constexpr std::array kAlong{rule::Along::kElements};
  Dim shape(const ext::Shapes& in) const { return without_axes(in, dims); }
  std::uint32_t row_axes() const { return mask_of(dims); }
  DYNET_DEVICE_FN constexpr auto value(auto x) const { return rule::each(over::sum(x)); }
  DYNET_DEVICE_FN constexpr auto pull(auto /*x*/, auto /*y*/, auto dy) const {
    return rule::each(dy);
  }
  static std::vector<ext::Example<SumDim>> examples() {
    return {{{{{0}, 1}}, {{4, 3}}},       {{{{1}, 1}}, {{4, 3}}},
            {{{{0, 2}, 2}}, {{2, 3, 4}}}, {{{{1}, 1}}, {{2, 3, 4}}},
            {{{{0, 1}, 2}}, {{5, 2}}},    {{{{0, 2, 4}, 3}}, {{2, 3, 2, 2, 3}}},
            {{{{0}, 1}}, {{1}}},          {{{{0}, 1}}, {{17}}},
            {{{{1}, 1}}, {{3, 0}}},       {{{{0, 3, 5, 6}, 4}}, {{1, 2, 1, 2, 1, 2, 2}}}};
  }
};

struct MomentDim {
  DimSet dims;
  unsigned r;
  unsigned n = 0;

  static constexpr ext::Info kInfo{
      .name = "moment_dim",
      .args = {"x"},
      .attrs = {"dims", "r", "n"},
      .formula = "y = (1/n) sum of x^r over the dimensions dims",
      .summary =
          "Raw moment over any set of dimensions, which are removed: the mean of the r-th "
          "powers. n = 0 stands for the number of elements.",
      .shapes = "{a,b,c} -> {b} for dims = {0,2}, all of them -> {1}",
      .errors = "ShapeError if x lacks one of dims, ValueError if r is 0",
      .cpp = "-",
      .python = "-"};
  static constexpr std::array kAlong{rule::Along::kElements};
  Dim shape(const ext::Shapes& in) const {
    if (r == 0) {
      in.fail_value("r of at least 1, not 0");
    }
    return without_axes(in, dims);
  }
  std::uint32_t row_axes() const { return mask_of(dims); }
  DYNET_DEVICE_FN constexpr auto value(auto x) const {
    return rule::each(over::sum(power(x, r)) / count_or(n));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto x, auto /*y*/, auto dy) const {
    return rule::each(dy * static_cast<double>(r) / count_or(n) *
                      power(x, static_cast<double>(r) - 1.0));
  }
  static std::vector<ext::Example<MomentDim>> examples() {
    return {{{{{0}, 1}, 1}, {{4, 3}}},
            {{{{1}, 1}, 2}, {{4, 3}}},
            {{{{0, 2}, 2}, 3}, {{2, 3, 4}}},
            {{{{0}, 1}, 2, 5}, {{4, 3}}},
            {{{{0, 1}, 2}, 5}, {{5, 2}}},
            {{{{0}, 1}, 2}, {{1}}},
            {{{{0}, 1}, 3}, {{17}}},
            {{{{0}, 1}, 2}, {{3, 0}}},
            {{{{0, 3, 5, 6}, 4}, 2}, {{1, 2, 1, 2, 1, 2, 2}}}};
  }
};

struct MeanDim {
  DimSet dims;
  unsigned n = 0;

  static constexpr ext::Info kInfo{
      .name = "mean_dim",
      .args = {"x"},
      .attrs = {"dims", "n"},
      .formula = "y = (1/n) sum of x over the dimensions dims",
      .summary =
          "Mean over any set of dimensions, which are removed. n = 0 stands for the number of "
          "elements.",
      .shapes = "{a,b,c} -> {b} for dims = {0,2}, all of them -> {1}",
      .errors = "ShapeError if x lacks one of dims",
      .cpp = "-",
      .python = "-"};
  static constexpr std::array kAlong{rule::Along::kElements};
  Dim shape(const ext::Shapes& in) const { return without_axes(in, dims); }
  std::uint32_t row_axes() const { return mask_of(dims); }
  DYNET_DEVICE_FN constexpr auto value(auto x) const {
    return rule::each(over::sum(x) / count_or(n));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto /*x*/, auto /*y*/, auto dy) const {
    return rule::each(dy / count_or(n));
  }
  static std::vector<ext::Example<MeanDim>> examples() {
    return {{{{{0}, 1}}, {{4, 3}}},       {{{{1}, 1}}, {{4, 3}}},
            {{{{0, 2}, 2}}, {{2, 3, 4}}}, {{{{0}, 1}, 5}, {{4, 3}}},
            {{{{0}, 1}}, {{1}}},          {{{{0}, 1}}, {{17}}},
            {{{{0}, 1}}, {{3, 0}}},       {{{{0, 3, 5, 6}, 4}}, {{1, 2, 1, 2, 1, 2, 2}}}};
  }
};

struct StdDim {
  DimSet dims;
  unsigned n = 0;

  static constexpr ext::Info kInfo{
      .name = "std_dim",
      .args = {"x"},
      .attrs = {"dims", "n"},
      .formula = "y = sqrt((1/n) sum of (x - m)^2 over the dimensions dims), m = (1/n) sum of x",
      .summary =
          "Standard deviation of a population over any set of dimensions, which are removed. "
          "n = 0 stands for the number of elements. The gradient is 0 if the deviation is 0.",
      .shapes = "{a,b,c} -> {b} for dims = {0,2}, all of them -> {1}",
      .errors = "ShapeError if x lacks one of dims",
      .cpp = "-",
      .python = "-"};
  static constexpr std::array kAlong{rule::Along::kElements};
  static constexpr unsigned kSaved = 1;  // the mean
  Dim shape(const ext::Shapes& in) const { return without_axes(in, dims); }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {without_axes(in, dims)}; }
  std::uint32_t row_axes() const { return mask_of(dims); }
  DYNET_DEVICE_FN constexpr auto value(auto x) const {
    const auto mean = over::sum(x) / count_or(n);
    const auto d = x - mean;
    return rule::each(sqrt(over::sum(d * d) / count_or(n)), mean);
  }
  /// With another n than the count, the deviations d do not sum to zero.
  DYNET_DEVICE_FN constexpr auto pull(auto x, auto y, auto mean, auto dy) const {
    const auto d = x - mean;
    return rule::each(quotient_or_zero(dy / count_or(n), y) * (d - over::sum(d) / count_or(n)));
  }
  static std::vector<ext::Example<StdDim>> examples() {
    return {{{{{0}, 1}}, {{4, 3}}},       {{{{1}, 1}}, {{4, 3}}},
            {{{{0, 2}, 2}}, {{2, 3, 4}}}, {{{{0}, 1}, 6}, {{4, 3}}},
            {{{{0}, 1}, 3}, {{1}}},       {{{{0}, 1}}, {{17}}},
            {{{{0}, 1}}, {{3, 0}}},       {{{{0, 3, 5, 6}, 4}}, {{1, 2, 1, 2, 1, 2, 2}}}};
  }
};

/// Examples of operations that remove dimension d and have no other attribute.
template <class Op>
std::vector<ext::Example<Op>> along_examples() {
  return {{{0}, {{7}}}, {{0}, {{4, 3}}}, {{1}, {{4, 3}}}, {{1}, {{2, 3, 4}}},
          {{0}, {{1}}}, {{0}, {{17}}},   {{0}, {{3, 0}}}, {{3}, {{1, 2, 1, 2, 1, 2, 2}}}};
}

/// `e`, or NaN if one of the elements x of the row is NaN, which over::max passes over.
DYNET_DEVICE_FN constexpr auto unless_nan(auto e, auto x) {
  const auto nan = over::sum(select(x == x, 0.0, x));
  return select(nan == 0.0, e, nan);
}

/// The largest elements along a dimension, or the smallest.
template <bool kLargest>
struct ExtremeDim {
  unsigned d = 0;

  static constexpr ext::Info kInfo{
      .name = kLargest ? "max_dim" : "min_dim",
      .args = {"x"},
      .attrs = {"d"},
      .formula = kLargest ? "y = max x over dimension d" : "y = min x over dimension d",
      .summary = kLargest ? "The largest elements along dimension d, which is removed; NaN if one "
                            "of them is NaN. The gradient goes to the first of equal ones."
                          : "The smallest elements along dimension d, which is removed; NaN if one "
                            "of them is NaN. The gradient goes to the first of equal ones.",
      .shapes = "{a,b,c} -> {b,c} for d = 0, {a,c} for d = 1, ...; {n} -> {1}",
      .errors = "ShapeError if x has no dimension d, or more than 2^24 elements along it"};
  static constexpr std::array kAlong{rule::Along::kElements};
  static constexpr unsigned kSaved = 1;  // its position
  Dim shape(const ext::Shapes& in) const {
    check_axis(in, d);
    check_positions(in, in[0].d[d]);
    return without_axis(in[0], d);
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {without_axis(in[0], d)}; }
  std::uint32_t row_axes() const { return std::uint32_t{1} << d; }
  DYNET_DEVICE_FN constexpr auto value(auto x) const {
    if constexpr (kLargest) {
      return rule::each(unless_nan(over::max(x), x), over::index_of_max(x));
    } else {
      return rule::each(unless_nan(-over::max(-x), x), over::index_of_max(-x));
    }
  }
  DYNET_DEVICE_FN constexpr auto pull(auto /*x*/, auto /*y*/, auto index, auto dy) const {
    return rule::each(over::only_at(index, dy));
  }
  static std::vector<ext::Example<ExtremeDim>> examples() { return along_examples<ExtremeDim>(); }
};
using MaxDim = ExtremeDim<true>;
using MinDim = ExtremeDim<false>;

struct LogSumExpDim {
  unsigned d = 0;

  static constexpr ext::Info kInfo{
      .name = "logsumexp_dim",
      .args = {"x"},
      .attrs = {"d"},
      .formula = "y = ln(sum exp(x)) over dimension d",
      .summary =
          "Logarithm of the sum of the exponentials along dimension d, which is removed. Elements "
          "are shifted by the maximum, so that nothing overflows. If all of them are -inf, y is "
          "-inf and the gradient is 0.",
      .shapes = "{a,b,c} -> {b,c} for d = 0, {a,c} for d = 1, ...; {n} -> {1}",
      .errors = "ShapeError if x has no dimension d"};
  static constexpr std::array kAlong{rule::Along::kElements};
  Dim shape(const ext::Shapes& in) const {
    check_axis(in, d);
    return without_axis(in[0], d);
  }
  static constexpr unsigned kSaved = 2;  // shift_and_sum
  std::array<Dim, 2> saved(const ext::Shapes& in) const {
    const Dim rows = without_axis(in[0], d);
    return {rows, rows};
  }
  std::uint32_t row_axes() const { return std::uint32_t{1} << d; }
  DYNET_DEVICE_FN constexpr auto value(auto x) const {
    const auto [shift, sum] = shift_and_sum(x);
    return rule::each(shift + log(sum), shift, sum);
  }
  DYNET_DEVICE_FN constexpr auto pull(auto x, auto /*y*/, auto shift, auto sum, auto dy) const {
    return rule::each(quotient_or_zero(dy, sum) * exp(x - shift));
  }
  static std::vector<ext::Example<LogSumExpDim>> examples() {
    return along_examples<LogSumExpDim>();
  }
};

struct LayerNorm {
  float epsilon = 0.0F;

  static constexpr ext::Info kInfo{
      .name = "layer_norm",
      .args = {"x", "g", "b"},
      .attrs = {"epsilon"},
      .formula =
          "y = g * (x - m) / sqrt(v + epsilon) + b, m and v mean and variance of x; with epsilon = "
          "0: / (sqrt(v) + 1e-8)",
      .summary =
          "Layer normalisation along the first dimension: of each column of a matrix. If all "
          "elements of a column are equal, the deviation has no part in the gradient. The gradient "
          "of x is then 1e8 times the gradient of y without epsilon; an epsilon of 1e-5, as in "
          "PyTorch, keeps it small.",
      .shapes = "{n,m}xb, {n}, {n} -> {n,m}xb",
      .errors =
          "ShapeError unless g and b are vectors as long as the columns of x, ValueError unless "
          "epsilon is at least 0",
      .source = "Ba et al., 2016"};
  static constexpr std::array kRoles{ext::Role::kStacked, ext::Role::kEither, ext::Role::kEither};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kPositions,
                                     rule::Along::kPositions};
  static constexpr unsigned kSaved = 2;  // the mean and the deviation
  Dim shape(const ext::Shapes& in) const {
    check_epsilon(in, epsilon);
    for (std::size_t i = 1; i < 3; ++i) {
      if (!is_vector_like(in[i]) || in[i].rows() != in[0].rows()) {
        in.fail("g and b to be vectors as long as the columns of x");
      }
    }
    return in[0];
  }
  std::array<Dim, 2> saved(const ext::Shapes& in) const {
    const Dim rows = without_axis(in[0], 0);
    return {rows, rows};
  }
  std::uint32_t row_axes() const { return 1; }
  DYNET_DEVICE_FN constexpr auto value(auto x, auto g, auto b) const {
    const auto mean = over::mean(x);
    const auto d = x - mean;
    const auto deviation = sqrt(over::mean(d * d) + static_cast<double>(epsilon));
    return rule::each(d * inverse_of(deviation) * g + b, mean, deviation);
  }
  DYNET_DEVICE_FN constexpr auto pull(auto x, auto g, auto /*b*/, auto /*y*/, auto mean,
                                      auto deviation, auto dy) const {
    const auto inverse = inverse_of(deviation);
    const auto d = x - mean;
    // Kept: a product that is rounded in one place and not in another would not cancel.
    const auto slope = over::keep(dy * g);
    // The share of the deviation: 0 if it is 0. (Also in a gradient of this gradient, which a
    // division by 0 would make NaN though nothing takes its result.)
    const auto is_flat = deviation == 0.0;
    const auto share = inverse / select(is_flat, 1.0, deviation);
    const auto along = select(is_flat, 0.0, over::mean(slope * d) * share);
    return rule::each(inverse * (slope - over::mean(slope) - along * d), dy * d * inverse, dy);
  }
  static std::vector<ext::Example<LayerNorm>> examples() {
    return {{{}, {{7}, {7}, {7}}},        {{}, {{4, 3}, {4}, {4}}},
            {{}, {{5, 1}, {5}, {5, 1}}},  {{}, {{1}, {1}, {1}}},
            {{}, {{17, 2}, {17}, {17}}},  {{}, {{3, 2, 2}, {3}, {3}}},
            {{}, {{3, 0}, {3}, {3}}},     {{}, {{2, 1, 2, 1, 2, 1, 2}, {2, 1}, {2}}},
            {{0.25F}, {{5, 2}, {5}, {5}}}};
  }

 private:
  /// In the place of an epsilon under the root DyNet 2.1 adds 1e-8 to the deviation.
  [[nodiscard]] DYNET_DEVICE_FN constexpr auto inverse_of(auto deviation) const {
    return 1.0 / (deviation + select(rule::lift(epsilon) == 0.0, 1e-8, 0.0));
  }
};

using ReduceOps = ext::OpList<SumElems, SumBatches, SumDim, MomentDim, MeanDim, StdDim, MaxDim,
                              MinDim, LogSumExpDim, LayerNorm>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::ReduceOps)
