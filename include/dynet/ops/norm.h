#pragma once

// Norms, and tensors divided by their norms. (Layer normalisation is in reduce.h, beside the
// moments.)

#include <array>
#include <cstdint>
#include <string>

#include "dynet/ops/common.h"

namespace dynet::ops {

struct L2Norm {
  static constexpr ext::Info kInfo{
      .name = "l2_norm",
      .args = {"x"},
      .formula = "y = sqrt(sum_i x_i^2)",
      .summary =
          "Euclidean norm of all elements of each example. The gradient is 0 if the norm is 0.",
      .shapes = "any -> {1}"};
  static constexpr std::array kAlong{rule::Along::kElements};
  Dim shape(const ext::Shapes& /*in*/) const { return {1}; }
  std::uint32_t row_axes() const { return ext::kWholeExample; }
  DYNET_DEVICE_FN constexpr auto value(auto x) const { return rule::each(sqrt(over::sum(x * x))); }
  DYNET_DEVICE_FN constexpr auto pull(auto x, auto y, auto dy) const {
    return rule::each(quotient_or_zero(dy, y) * x);
  }
  static std::vector<ext::Example<L2Norm>> examples() {
    return {{{}, {{4, 3}}},    {{}, {{7}}},    {{}, {{1}}},  {{}, {{2, 3, 2}}},
            {{}, {{1, 1, 3}}}, {{}, {{3, 0}}}, {{}, {{17}}}, {{}, {{1, 2, 1, 2, 1, 2, 2}}}};
  }
};

struct WeightNorm {
  static constexpr ext::Info kInfo{
      .name = "weight_norm",
      .args = {"w", "g"},
      .formula = "y = g * w / sqrt(sum_i w_i^2)",
      .summary =
          "Weight normalisation: w with the norm g, over all elements. If all of w is 0, value and "
          "gradients are 0.",
      .shapes = "any, {1} -> the shape of w",
      .errors = "ShapeError unless g is one number",
      .source = "Salimans and Kingma, 2016"};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kOnce};
  static constexpr unsigned kSaved = 1;  // the norm
  Dim shape(const ext::Shapes& in) const {
    if (in[1].elements() != 1) {
      in.fail("one number g");
    }
    return in[0];
  }
  std::array<Dim, 1> saved(const ext::Shapes& /*in*/) const { return {Dim({1})}; }
  std::uint32_t row_axes() const { return ext::kWholeExample; }
  DYNET_DEVICE_FN constexpr auto value(auto w, auto g) const {
    const auto norm = sqrt(over::sum(w * w));
    return rule::each(quotient_or_zero(g, norm) * w, norm);
  }
  DYNET_DEVICE_FN constexpr auto pull(auto w, auto g, auto /*y*/, auto norm, auto dy) const {
    // Of one element this is 1 or -1, so that the difference is exactly 0.
    const auto unit = over::keep(w / select(norm == 0.0, 1.0, norm));
    const auto along = over::sum(dy * unit);
    return rule::each(quotient_or_zero(g, norm) * (dy - along * unit), along);
  }
  static std::vector<ext::Example<WeightNorm>> examples() {
    return {{{}, {{4, 3}, {1}}},    {{}, {{7}, {1}}},
            {{}, {{1}, {1}}},       {{}, {{2, 3, 2}, {1}}},
            {{}, {{1, 1, 3}, {1}}}, {{}, {{5, 1}, {1, 1}}},
            {{}, {{17}, {1}}},      {{}, {{1, 2, 1, 2, 1, 2, 2}, {1}}}};
  }
};

struct RmsNorm {
  float epsilon = 1e-6F;

  static constexpr ext::Info kInfo{
      .name = "rms_norm",
      .args = {"x", "g"},
      .attrs = {"epsilon"},
      .formula = "y = g * x / sqrt(mean(x^2) + epsilon), the mean along the first dimension",
      .summary =
          "Root mean square normalisation along the first dimension: of each column of a matrix. "
          "Without epsilon, value and gradients of a column of zeros are 0.",
      .shapes = "{n,m}xb, {n} -> {n,m}xb",
      .errors =
          "ShapeError unless g is a vector as long as the columns of x, ValueError unless "
          "epsilon is at least 0",
      .source = "Zhang and Sennrich, 2019"};
  static constexpr std::array kRoles{ext::Role::kStacked, ext::Role::kEither};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kPositions};
  static constexpr unsigned kSaved = 1;  // 1 / the root
  Dim shape(const ext::Shapes& in) const {
    check_epsilon(in, epsilon);
    if (!is_vector_like(in[1]) || in[1].rows() != in[0].rows()) {
      in.fail("g to be a vector as long as the columns of x");
    }
    return in[0];
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {without_axis(in[0], 0)}; }
  std::uint32_t row_axes() const { return 1; }
  DYNET_DEVICE_FN constexpr auto value(auto x, auto g) const {
    const auto root = sqrt(over::mean(x * x) + static_cast<double>(epsilon));
    const auto inverse = quotient_or_zero(1.0, root);
    return rule::each(x * inverse * g, inverse);
  }
  DYNET_DEVICE_FN constexpr auto pull(auto x, auto g, auto /*y*/, auto inverse, auto dy) const {
    const auto slope = over::keep(dy * g);
    const auto along = over::mean(slope * x) * inverse * inverse;
    return rule::each(inverse * (slope - along * x), dy * x * inverse);
  }
  static std::vector<ext::Example<RmsNorm>> examples() {
    return {{{}, {{7}, {7}}},
            {{}, {{4, 3}, {4}}},
            {{1e-2F}, {{5, 1}, {5, 1}}},
            {{0.5F}, {{1}, {1}}},
            {{0.1F}, {{2, 3, 2}, {2}}},
            {{}, {{17}, {17, 1}}},
            {{}, {{3, 0}, {3}}},
            {{0.25F}, {{2, 2, 1, 2, 1, 2, 2}, {2}}}};
  }
};

using NormOps = ext::OpList<L2Norm, WeightNorm, RmsNorm>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::NormOps)
