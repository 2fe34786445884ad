#pragma once

// Softmax and losses. Losses with a margin, label smoothing or counts are in margin.h.

#include <array>
#include <string>

#include "dynet/ops/common.h"

namespace dynet::ops {

/// A vector x and one class for each example.
inline void check_classes(const ext::Shapes& in) {
  if (!is_vector_like(in[0])) {
    in.fail("a vector x");
  }
  check_positions(in, in[0].rows());
  if (in.payload() != in.batch()) {
    in.fail_value("one class for each of the " + std::to_string(in.batch()) + " examples, not " +
                  std::to_string(in.payload()));
  }
}

struct Softmax {
  unsigned d = 0;

  static constexpr ext::Info kInfo{
      .name = "softmax",
      .args = {"x"},
      .attrs = {"d"},
      .formula = "y_i = exp(x_i) / sum_j exp(x_j), j along dimension d",
      .summary =
          "Softmax along dimension d: by default of each column. Shifted by the maximum, so "
          "that it does not overflow.",
      .shapes = "any -> the same",
      .errors = "ShapeError if x has no dimension d"};
  static constexpr std::array kAlong{rule::Along::kElements};
  Dim shape(const ext::Shapes& in) const {
    check_axis(in, d);
    return in[0];
  }
  std::uint32_t row_axes() const { return std::uint32_t{1} << d; }
  DYNET_DEVICE_FN constexpr auto value(auto x) const {
    const auto e = over::keep(exp(x - over::max(x)));
    return rule::each(e * (1.0 / over::sum(e)));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto /*x*/, auto y, auto dy) const {
    return rule::each(y * (dy - over::sum(y * dy)));
  }
  static std::vector<ext::Example<Softmax>> examples() {
    return {{{0}, {{7}}},       {{0}, {{4, 3}}},    {{1}, {{4, 3}}},
            {{2}, {{2, 1, 5}}}, {{0}, {{1}}},       {{0}, {{40}}},
            {{0}, {{3, 0}}},    {{1}, {{2, 3, 2}}}, {{3}, {{1, 2, 1, 2, 1, 2, 2}}}};
  }
};

struct LogSoftmax {
  unsigned d = 0;

  static constexpr ext::Info kInfo{
      .name = "log_softmax",
      .args = {"x"},
      .attrs = {"d"},
      .formula = "y_i = x_i - ln(sum_j exp(x_j)), j along dimension d",
      .summary = "Logarithm of the softmax along dimension d: by default of each column.",
      .shapes = "any -> the same",
      .errors = "ShapeError if x has no dimension d"};
  static constexpr std::array kAlong{rule::Along::kElements};
  Dim shape(const ext::Shapes& in) const {
    check_axis(in, d);
    return in[0];
  }
  std::uint32_t row_axes() const { return std::uint32_t{1} << d; }
  /// The largest element and the logarithm are taken off one after the other: their sum would lose
  /// digits of a small logarithm.
  DYNET_DEVICE_FN constexpr auto value(auto x) const {
    const auto shifted = x - over::max(x);
    return rule::each(shifted - log(over::sum(exp(shifted))));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto /*x*/, auto y, auto dy) const {
    return rule::each(dy - exp(y) * over::sum(dy));
  }
  static std::vector<ext::Example<LogSoftmax>> examples() {
    return {{{0}, {{7}}},       {{0}, {{4, 3}}},    {{1}, {{4, 3}}},
            {{2}, {{2, 1, 5}}}, {{0}, {{1}}},       {{0}, {{40}}},
            {{0}, {{3, 0}}},    {{1}, {{2, 3, 2}}}, {{3}, {{1, 2, 1, 2, 1, 2, 2}}}};
  }
};

struct PickNegLogSoftmax {
  static constexpr ext::Info kInfo{
      .name = "pickneglogsoftmax",
      .args = {"x"},
      .payload = "v",
      .formula = "y = ln(sum_j exp(x_j)) - x_v",
      .summary =
          "Negative log likelihood of class v under the softmax of x. A batch takes one class "
          "per example.",
      .shapes = "{n} -> {1}",
      .errors =
          "ShapeError unless x is a vector of at most 2^24 elements, ValueError if a batch is "
          "given one class, IndexError if v is not below n",
      .python_batch = "pickneglogsoftmax_batch"};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr unsigned kSaved = 2;  // shift_and_sum
  Dim shape(const ext::Shapes& in) const {
    check_classes(in);
    return {1};
  }
  std::array<Dim, 2> saved(const ext::Shapes& /*in*/) const { return {Dim({1}), Dim({1})}; }
  unsigned index_limit(const ext::Shapes& in) const { return in[0].rows(); }
  static constexpr std::array kAlong{rule::Along::kElements};
  std::uint32_t row_axes() const { return ext::kWholeExample; }
  DYNET_DEVICE_FN constexpr auto value(auto x, auto v) const {
    const auto [shift, sum] = shift_and_sum(x);
    return rule::each(log(sum) - (over::at(x, v) - shift), shift, sum);
  }
  DYNET_DEVICE_FN constexpr auto pull(auto x, auto v, auto /*y*/, auto shift, auto sum,
                                      auto dy) const {
    return rule::each(dy / sum * exp(x - shift) - over::only_at(v, dy));
  }
  static std::vector<ext::Example<PickNegLogSoftmax>> examples() {
    return {ext::Example<PickNegLogSoftmax>{{}, {{7}}}.with_indices({3}),
            ext::Example<PickNegLogSoftmax>{{}, {{5, 1}}}.with_indices({4}),
            ext::Example<PickNegLogSoftmax>{{}, {{1}}}.with_indices({0}),
            ext::Example<PickNegLogSoftmax>{{}, {{2}}}.with_indices({1}),
            ext::Example<PickNegLogSoftmax>{{}, {{17}}}.with_indices({0}),
            ext::Example<PickNegLogSoftmax>{{}, {{40}}}.with_indices({39}),
            ext::Example<PickNegLogSoftmax>{{}, {{64}}}.with_indices({13}),
            ext::Example<PickNegLogSoftmax>{{}, {{1, 1, 1}}}.with_indices({0})};
  }
};

struct BinaryLogLoss {
  static constexpr ext::Info kInfo{
      .name = "binary_log_loss",
      .args = {"x", "y"},
      .formula = "z = -sum_i (y_i ln(x_i) + (1 - y_i) ln(1 - x_i))",
      .summary =
          "Binary cross entropy of the predictions x and the targets y. If y is 0 or 1, only the "
          "term that counts is computed. ln(0) is taken as ln(1.17549435e-38); with a target in "
          "between, x of exactly 0 or 1 costs -ln(1.17549435e-38).",
      .shapes = "two equal shapes -> {1}",
      .errors = "ShapeError if the shapes differ"};
  static constexpr bool kSummed = true;
  static constexpr double kTiny = 0x1p-126;             // smallest normal float
  static constexpr double kLogTiny = -87.336544750553;  // its logarithm
  static constexpr double kLeastRest = 1e-7;            // the least divisor of dx

  Dim shape(const ext::Shapes& in) const {
    same_shape(in);
    return {1};
  }
  DYNET_DEVICE_FN auto value(auto x, auto y) const {
    using rule::select;
    const auto of_one = log_of(x);
    const auto of_zero = log_of(1.0 - x);
    const auto mixed =
        select(x == 0.0, kLogTiny, select(x == 1.0, kLogTiny, y * of_one + (1.0 - y) * of_zero));
    return -select(y == 1.0, of_one, select(y == 0.0, of_zero, mixed));
  }
  /// The slope of the target is the true derivative, ln(1 - x) - ln(x); 2.1 has no meaningful one.
  /// If x is 0 or 1, a guard is added to x or 1 - x, whichever is 0, so that the slope of a slope
  /// follows from this formula there, too.
  DYNET_DEVICE_FN auto slopes(auto x, auto y, auto /*z*/) const {
    using rule::log, rule::select;
    const auto p = x + select(x == 0.0, kTiny, 0.0);
    const auto rest = 1.0 - x;
    const auto dx = (1.0 - y) / (rest + select(rest == 0.0, kLeastRest, 0.0)) - y / p;
    // 0 if x is the target; between 0 and 1 the formula gives 0 by itself.
    const auto of_corner = select(x == 0.0, -1.0, select(x == 1.0, 1.0, 0.0));
    return rule::each(dx + select(x == y, of_corner, 0.0),
                      log(rest + select(rest == 0.0, kTiny, 0.0)) - log(p));
  }
  static std::vector<ext::Example<BinaryLogLoss>> examples() {
    return same_shape_examples<BinaryLogLoss>(0.1, 0.9);
  }

 private:
  DYNET_DEVICE_FN static auto log_of(auto x) {
    using rule::log, rule::select;
    return log(select(x == 0.0, kTiny, x));
  }
};

using LossOps = ext::OpList<Softmax, LogSoftmax, PickNegLogSoftmax, BinaryLogLoss>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::LossOps)
