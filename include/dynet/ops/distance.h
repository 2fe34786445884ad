#pragma once

// Distances and similarities of two tensors: sums over all their elements. (squared_distance and
// dot_product are in linear.h.)

#include <array>

#include "dynet/ops/common.h"

namespace dynet::ops {

/// Equal shapes, or two vectors of equal length.
inline Dim distance_shape(const ext::Shapes& in) {
  if (!(is_vector_like(in[0]) && is_vector_like(in[1]) && in[0].rows() == in[1].rows())) {
    same_shape(in);
  }
  return {1};
}
template <class Op>
std::vector<ext::Example<Op>> distance_examples(const Op& op = {}) {
  auto all = same_shape_examples<Op>(-2.0, 2.0, op);
  all.push_back({op, {{5}, {5, 1}}});
  return all;
}

struct L1Distance {
  static constexpr ext::Info kInfo{
      .name = "l1_distance",
      .args = {"x", "y"},
      .formula = "z = sum_i |x_i - y_i|",
      .summary = "Sum of the absolute differences. The gradient of a difference of 0 is 0.",
      .shapes = "two equal shapes, or two vectors of equal length -> {1}",
      .errors = "ShapeError if the shapes differ"};
  static constexpr bool kSummed = true;
  Dim shape(const ext::Shapes& in) const { return distance_shape(in); }
  DYNET_DEVICE_FN auto value(auto x, auto y) const {
    using rule::abs;
    return abs(x - y);
  }
  DYNET_DEVICE_FN auto slopes(auto x, auto y, auto /*z*/) const {
    const auto sign = sign_of(x - y);
    return rule::each(sign, -sign);
  }
  static std::vector<ext::Example<L1Distance>> examples() {
    return distance_examples<L1Distance>();
  }
};

struct HuberDistance {
  float c = 1.345F;

  static constexpr ext::Info kInfo{
      .name = "huber_distance",
      .args = {"x", "y"},
      .attrs = {"c"},
      .formula = "z = sum_i L(x_i - y_i), L(e) = |e| < c ? e^2 / 2 : c * |e| - c^2 / 2",
      .summary = "Huber's distance: squares of small differences, and large ones as they are.",
      .shapes = "two equal shapes, or two vectors of equal length -> {1}",
      .errors = "ShapeError if the shapes differ, ValueError if c is negative",
      .source = "Huber, 1964"};
  static constexpr bool kSummed = true;
  Dim shape(const ext::Shapes& in) const {
    if (!(c >= 0.0F)) {
      in.fail_value("c >= 0, not " + ext::detail::text_of(static_cast<double>(c)));
    }
    return distance_shape(in);
  }
  DYNET_DEVICE_FN auto value(auto x, auto y) const {
    using rule::abs, rule::select;
    const auto a = abs(x - y);
    const double least = c;  // its square, in double
    return select(a < c, 0.5 * (a * a), c * a - 0.5 * least * least);
  }
  DYNET_DEVICE_FN auto slopes(auto x, auto y, auto /*z*/) const {
    using rule::max, rule::min;
    const auto e = min(max(x - y, -c), c);
    return rule::each(e, -e);
  }
  static std::vector<ext::Example<HuberDistance>> examples() {
    auto all = distance_examples<HuberDistance>();
    all.push_back({{0.3F}, {{9}, {9}}});
    return all;
  }
};

struct CosineSimilarity {
  static constexpr double kTiny = 1e-8;

  static constexpr ext::Info kInfo{
      .name = "cosine_similarity",
      .args = {"x", "y"},
      .formula = "z = sum_i x_i * y_i / (max(|x|, 1e-8) * max(|y|, 1e-8)), |.| Euclidean norms",
      .summary = "Cosine of the angle between two tensors, as vectors of all their elements.",
      .shapes = "two equal shapes, or two vectors of equal length -> {1}",
      .errors = "ShapeError if the shapes differ"};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kElements};
  static constexpr unsigned kSaved = 2;  // the norms, or 1e-8
  Dim shape(const ext::Shapes& in) const { return distance_shape(in); }
  std::array<Dim, 2> saved(const ext::Shapes& /*in*/) const { return {Dim({1}), Dim({1})}; }
  std::uint32_t row_axes() const { return ext::kWholeExample; }
  DYNET_DEVICE_FN constexpr auto value(auto x, auto y) const {
    const auto a = max(sqrt(over::sum(x * x)), kTiny);
    const auto b = max(sqrt(over::sum(y * y)), kTiny);
    return rule::each(over::sum(x * y) / (a * b), a, b);
  }
  /// A norm below the least one counts as constant.
  DYNET_DEVICE_FN constexpr auto pull(auto x, auto y, auto z, auto a, auto b, auto dz) const {
    const auto cross = dz / (a * b);
    const auto of_x = select(a <= kTiny, 0.0, dz * z / (a * a));
    const auto of_y = select(b <= kTiny, 0.0, dz * z / (b * b));
    return rule::each(cross * y - of_x * x, cross * x - of_y * y);
  }
  static std::vector<ext::Example<CosineSimilarity>> examples() {
    return distance_examples<CosineSimilarity>();
  }
};

using DistanceOps = ext::OpList<L1Distance, HuberDistance, CosineSimilarity>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::DistanceOps)
