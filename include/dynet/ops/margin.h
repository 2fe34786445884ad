#pragma once

// Losses with a margin or a target class: hinges, cross entropy with its options, ranks, counts.

#include <array>
#include <cstdint>
#include <limits>

#include "dynet/ops/common.h"
#include "dynet/ops/loss.h"

namespace dynet::ops {

inline void check_margin(const ext::Shapes& in, float m) {
  if (!(m >= 0.0F)) {
    in.fail_value("m >= 0, not " + ext::detail::text_of(static_cast<double>(m)));
  }
}

/// Sum of the margins that other elements of the row miss; element v is the right one.
DYNET_DEVICE_FN constexpr auto hinge_of(auto x, auto v, float m) {
  const auto missing = max(x - over::at(x, v) + m, 0.0);
  return over::sum(select(over::position() == v, 0.0, missing));
}
DYNET_DEVICE_FN constexpr auto hinge_slope(auto x, auto v, float m, auto dy) {
  const auto misses = select(x - over::at(x, v) + m > 0.0, dy, 0.0);
  const auto other = over::keep(select(over::position() == v, 0.0, misses));
  return other - over::only_at(v, over::sum(other));
}

struct Hinge {
  float m = 1.0F;

  static constexpr ext::Info kInfo{
      .name = "hinge",
      .args = {"x"},
      .attrs = {"m"},
      .payload = "v",
      .formula = "y = sum_{j != v} max(0, x_j - x_v + m)",
      .summary =
          "Hinge loss of class v: how much the other scores miss a margin m below its own. A batch "
          "takes one class per example.",
      .shapes = "{n} -> {1}",
      .errors =
          "ShapeError unless x is a vector of at most 2^24 elements, ValueError if m is "
          "negative or a batch is given one class, IndexError if v is not below n",
      .python_batch = "hinge_batch"};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr std::array kAlong{rule::Along::kElements};
  Dim shape(const ext::Shapes& in) const {
    check_margin(in, m);
    check_classes(in);
    return {1};
  }
  unsigned index_limit(const ext::Shapes& in) const { return in[0].rows(); }
  std::uint32_t row_axes() const { return ext::kWholeExample; }
  DYNET_DEVICE_FN constexpr auto value(auto x, auto v) const {
    return rule::each(hinge_of(x, v, m));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto x, auto v, auto /*y*/, auto dy) const {
    return rule::each(hinge_slope(x, v, m, dy));
  }
  static std::vector<ext::Example<Hinge>> examples() {
    std::vector<ext::Example<Hinge>> all;
    const auto add = [&all](float m, const Dim& x, unsigned v) {
      all.push_back(ext::Example<Hinge>{{m}, {x}}.with_indices({v}));
    };
    add(1.0F, {7}, 3);
    add(1.0F, {5, 1}, 4);
    add(0.1F, {17}, 16);
    add(2.5F, {40}, 0);
    add(0.0F, {3}, 1);
    add(1.0F, {2}, 0);
    add(1.0F, {1}, 0);
    add(1.0F, {1, 1}, 0);
    return all;
  }
};

struct HingeDim {
  unsigned d = 0;
  float m = 1.0F;
  unsigned classes = 1;  ///< how many: one for each line of x along d

  static constexpr ext::Info kInfo{
      .name = "hinge_dim",
      .args = {"x"},
      .attrs = {"d", "m", "classes"},
      .payload = "indices",
      .formula = "y_k = sum_{j != v} max(0, x_jk - x_vk + m), v = indices_k, j along dimension d",
      .summary =
          "A hinge loss of each column (d = 0) or row (d = 1), with one index each: the same list "
          "for all examples, or a list each.",
      .shapes = "{a,b,c} -> {b,c} for d = 0, {a,c} for d = 1, ...",
      .errors =
          "ShapeError if x has no dimension d, more than 2^24 elements along it or another "
          "number of columns than indices, ValueError if m is negative, IndexError if an "
          "index is too large",
      .cpp = "-",
      .python = "-"};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr std::array kAlong{rule::Along::kElements};
  Dim shape(const ext::Shapes& in) const {
    check_axis(in, d);
    check_margin(in, m);
    check_positions(in, in[0].d[d]);
    const Dim rest = without_axis(in[0], d);
    if (rest.example_elements() != classes) {
      in.fail(std::to_string(rest.example_elements()) + " indices, not " + std::to_string(classes));
    }
    return rest;
  }
  unsigned index_limit(const ext::Shapes& in) const { return in[0][d]; }
  unsigned index_count() const { return classes; }
  std::uint32_t row_axes() const { return std::uint32_t{1} << d; }
  DYNET_DEVICE_FN constexpr auto value(auto x, auto v) const {
    return rule::each(hinge_of(x, v, m));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto x, auto v, auto /*y*/, auto dy) const {
    return rule::each(hinge_slope(x, v, m, dy));
  }
  static std::vector<ext::Example<HingeDim>> examples() {
    std::vector<ext::Example<HingeDim>> all;
    const auto add = [&all](unsigned d, float m, const Dim& x, std::vector<unsigned> v) {
      const auto n = static_cast<unsigned>(v.size());
      all.push_back(ext::Example<HingeDim>{{d, m, n}, {x}}.with_indices(std::move(v)));
    };
    add(0, 1.0F, {4, 3}, {3, 0, 2});
    add(1, 1.0F, {4, 3}, {2, 0, 1, 1});
    add(0, 0.3F, {7}, {5});
    add(2, 1.0F, {2, 1, 5}, {4, 0});
    add(1, 0.0F, {2, 3, 2}, {2, 1, 0, 1});
    add(0, 1.0F, {20, 2}, {19, 7});
    add(0, 1.0F, {1, 3}, {0, 0, 0});
    add(0, 1.0F, {1}, {0});
    return all;
  }
};

struct PairwiseRankLoss {
  float m = 1.0F;

  static constexpr ext::Info kInfo{
      .name = "pairwise_rank_loss",
      .args = {"x", "y"},
      .attrs = {"m"},
      .formula = "z = max(0, m - x + y)",
      .summary = "How much each score x misses a margin m above its rival y.",
      .shapes = "two equal shapes of one row, {1,n} or {1} -> the same",
      .errors = "ShapeError if the shapes differ or have several rows"};
  Dim shape(const ext::Shapes& in) const {
    if (in[0].rows() != 1) {
      in.fail("one row");
    }
    return same_shape(in);
  }
  DYNET_DEVICE_FN auto value(auto x, auto y) const {
    using rule::max;
    return max(m - x + y, 0.0);
  }
  DYNET_DEVICE_FN auto slopes(auto /*x*/, auto /*y*/, auto z) const {
    using rule::select;
    return rule::each(select(z > 0.0, -1.0, 0.0), select(z > 0.0, 1.0, 0.0));
  }
  static std::vector<ext::Example<PairwiseRankLoss>> examples() {
    return {{{1.0F}, {{1, 7}, {1, 7}}},   {{1.0F}, {{1}, {1}}},
            {{0.3F}, {{1, 4}, {1, 4}}},   {{1.0F}, {{1, 2, 3}, {1, 2, 3}}},
            {{-0.5F}, {{1, 5}, {1, 5}}},  {{1.0F}, {{1, 0}, {1, 0}}},
            {{1.0F}, {{1, 17}, {1, 17}}}, {{1.0F}, {{1, 1}, {1, 1}}}};
  }
};

struct PoissonLoss {
  static constexpr ext::Info kInfo{
      .name = "poisson_loss",
      .args = {"x"},
      .payload = "y",
      .formula = "z = exp(x) + ln(y!) - y * x",
      .summary =
          "Negative log likelihood of the count y under a Poisson distribution whose mean has the "
          "logarithm x.",
      .shapes = "{1} -> {1}",
      .errors = "ShapeError unless x has one element",
      .python_params = "log_lambda, x"};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr std::array kAlong{rule::Along::kElements};
  Dim shape(const ext::Shapes& in) const {
    if (in[0].example_elements() != 1) {
      in.fail("one element x");
    }
    return in[0];
  }
  std::uint32_t row_axes() const { return ext::kWholeExample; }
  /// Beyond 100, y * x is nothing beside exp(x), and must not be infinite beside it.
  DYNET_DEVICE_FN constexpr auto value(auto x, auto y) const {
    return rule::each(exp(x) + lgamma(y + 1.0) - y * min(x, 100.0));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto x, auto y, auto /*z*/, auto dz) const {
    return rule::each(dz * (exp(x) - y));
  }
  static std::vector<ext::Example<PoissonLoss>> examples() {
    std::vector<ext::Example<PoissonLoss>> all;
    for (const unsigned y : {3U, 0U, 1U, 2U, 7U, 20U, 11U}) {
      all.push_back(ext::Example<PoissonLoss>{{}, {{1}}}.with_indices({y}));
    }
    all.push_back(ext::Example<PoissonLoss>{{}, {{1, 1}}}.with_indices({4}));
    return all;
  }
};

/// Stands for "no class is ignored".
inline constexpr unsigned kNoClass = std::numeric_limits<unsigned>::max();

/// A check of both forms of cross entropy.
inline void check_smoothing(const ext::Shapes& in, float smoothing) {
  if (!(smoothing >= 0.0F && smoothing <= 1.0F)) {
    in.fail_value("label_smoothing from 0 to 1, not " +
                  ext::detail::text_of(static_cast<double>(smoothing)));
  }
}
/// An ignored class may be the one just past the others, for padding.
inline unsigned classes_of(const ext::Shapes& in, unsigned ignored) {
  const unsigned n = in[0].rows();
  return ignored == n ? n + 1 : n;
}
/// e at position v; v may be the class just past the last.
DYNET_DEVICE_FN constexpr auto at_class(auto e, auto v) {
  return over::at(e, min(v, over::count() - 1.0));
}

struct CrossEntropy {
  float label_smoothing = 0.0F;
  unsigned ignored = kNoClass;

  static constexpr ext::Info kInfo{
      .name = "cross_entropy",
      .args = {"x"},
      .attrs = {"label_smoothing", "ignored"},
      .payload = "v",
      .formula = "y = v == ignored ? 0 : -sum_j q_j ln softmax(x)_j, q_j = s/n, and q_v = 1-s+s/n",
      .summary =
          "Cross entropy of class v, of which the share s = label_smoothing is spread over all "
          "classes, under the softmax of x. A batch takes one class per example. If v is the "
          "ignored class, which may be n, loss and gradient are 0; by default no class is ignored.",
      .shapes = "{n} -> {1}",
      .errors =
          "ShapeError unless x is a vector of at most 2^24 elements, ValueError unless 0 <= "
          "label_smoothing <= 1 and if a batch is given one class, IndexError if v is neither "
          "below n nor, as the ignored class, n",
      .source = "Szegedy et al., 2015",
      .python_batch = "cross_entropy_batch"};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr std::array kAlong{rule::Along::kElements};
  static constexpr unsigned kSaved = 2;  // shift_and_sum, with 1 for the sum of an ignored class
  Dim shape(const ext::Shapes& in) const {
    check_smoothing(in, label_smoothing);
    check_classes(in);
    return {1};
  }
  std::array<Dim, 2> saved(const ext::Shapes& /*in*/) const { return {Dim({1}), Dim({1})}; }
  unsigned index_limit(const ext::Shapes& in) const { return classes_of(in, ignored); }
  std::uint32_t row_axes() const { return ext::kWholeExample; }
  DYNET_DEVICE_FN constexpr auto value(auto x, auto v) const {
    const auto s = rule::lift(label_smoothing);
    const auto [shift, sum] = shift_and_sum(x);
    // Without smoothing a score of -inf costs nothing; with nothing but smoothing v does not.
    const auto spread = select(s == 0.0, 0.0, s * (log(sum) - over::mean(x - shift)));
    const auto own = select(s == 1.0, 0.0, (1.0 - s) * (log(sum) - (at_class(x, v) - shift)));
    const auto is_ignored = v == rule::lift(ignored);
    return rule::each(select(is_ignored, 0.0, own + spread), shift, select(is_ignored, 1.0, sum));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto x, auto v, auto /*y*/, auto shift, auto sum,
                                      auto dy) const {
    const auto s = rule::lift(label_smoothing);
    const auto g = select(v == rule::lift(ignored), 0.0, dy);
    return rule::each(g / sum * exp(x - shift) - g * s / over::count() -
                      over::only_at(v, g * (1.0 - s)));
  }
  static std::vector<ext::Example<CrossEntropy>> examples() {
    std::vector<ext::Example<CrossEntropy>> all;
    const auto add = [&all](float s, unsigned ignored, const Dim& x, unsigned v) {
      all.push_back(ext::Example<CrossEntropy>{{s, ignored}, {x}}.with_indices({v}));
    };
    add(0.0F, kNoClass, {7}, 3);
    add(0.1F, kNoClass, {7}, 6);
    add(0.2F, 2, {5, 1}, 0);
    add(0.0F, 1, {3}, 1);
    add(0.3F, 4, {4}, 3);
    add(1.0F, kNoClass, {17}, 16);
    add(0.1F, kNoClass, {1}, 0);
    add(0.1F, kNoClass, {40}, 20);
    return all;
  }
};

struct WeightedCrossEntropy {
  float label_smoothing = 0.0F;
  unsigned ignored = kNoClass;

  static constexpr ext::Info kInfo{
      .name = "weighted_cross_entropy",
      .args = {"x", "w"},
      .attrs = {"label_smoothing", "ignored"},
      .payload = "v",
      .formula =
          "y = v == ignored ? 0 : -sum_j q_j w_j ln softmax(x)_j, q_j = s/n, and q_v = 1-s+s/n",
      .summary =
          "cross_entropy with a weight of each class: w may be one for all examples, or one each. "
          "A class of weight 0 costs nothing, even with a score of -inf.",
      .shapes = "{n}xb, {n} -> {1}xb",
      .errors =
          "ShapeError unless x and w are vectors of equal length, at most 2^24, ValueError unless "
          "0 <= label_smoothing <= 1 and if a batch is given one class, IndexError if v is neither "
          "below n nor, as the ignored class, n",
      .python_batch = "weighted_cross_entropy_batch"};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kPositions};
  static constexpr std::array kRoles{ext::Role::kStacked, ext::Role::kEither};
  static constexpr unsigned kSaved = 2;  // shift_and_sum, with 1 for a sum that does not count
  Dim shape(const ext::Shapes& in) const {
    check_smoothing(in, label_smoothing);
    if (!is_vector_like(in[1]) || in[1].rows() != in[0].rows()) {
      in.fail("vectors x and w of equal length");
    }
    check_classes(in);
    return {1};
  }
  std::array<Dim, 2> saved(const ext::Shapes& /*in*/) const { return {Dim({1}), Dim({1})}; }
  unsigned index_limit(const ext::Shapes& in) const { return classes_of(in, ignored); }
  std::uint32_t row_axes() const { return ext::kWholeExample; }
  DYNET_DEVICE_FN constexpr auto value(auto x, auto w, auto v) const {
    const auto s = rule::lift(label_smoothing);
    const auto [shift, sum] = shift_and_sum(x);
    const auto w_v = at_class(w, v);
    // 0 ln 0 is 0.
    const auto cost = select(w == 0.0, 0.0, w * (log(sum) - (x - shift)));
    const auto cost_v = select(w_v == 0.0, 0.0, w_v * (log(sum) - (at_class(x, v) - shift)));
    const auto spread = select(s == 0.0, 0.0, s * over::mean(cost));
    const auto own = select(s == 1.0, 0.0, (1.0 - s) * cost_v);
    // If no class counts, -inf everywhere is a row like any other.
    const auto weight = (1.0 - s) * w_v + s * over::mean(w);
    const auto counted_sum = select(weight == 0.0, select(sum == 0.0, 1.0, sum), sum);
    const auto is_ignored = v == rule::lift(ignored);
    return rule::each(select(is_ignored, 0.0, own + spread), shift,
                      select(is_ignored, 1.0, counted_sum));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto x, auto w, auto v, auto /*y*/, auto shift, auto sum,
                                      auto dy) const {
    const auto s = rule::lift(label_smoothing);
    const auto is_ignored = v == rule::lift(ignored);
    const auto g = select(is_ignored, 0.0, dy);
    const auto of_each = g * s / over::count();
    const auto of_class = g * (1.0 - s);
    const auto w_v = at_class(w, v);
    const auto weight = of_class * w_v + of_each * over::sum(w);
    const auto cost = counted(log(sum) - (x - shift), w, select(is_ignored, 0.0, s));
    const auto cost_v =
        counted(log(sum) - (at_class(x, v) - shift), w_v, select(is_ignored, 0.0, 1.0 - s));
    return rule::each(
        weight / sum * exp(x - shift) - of_each * w - over::only_at(v, of_class * w_v),
        of_each * cost + over::only_at(v, of_class * cost_v));
  }
  static std::vector<ext::Example<WeightedCrossEntropy>> examples() {
    std::vector<ext::Example<WeightedCrossEntropy>> all;
    const auto add = [&all](float s, unsigned ignored, const Dim& x, const Dim& w, unsigned v) {
      all.push_back(
          ext::Example<WeightedCrossEntropy>{{s, ignored}, {x, w}, 0.1, 2.0}.with_indices({v}));
    };
    add(0.0F, kNoClass, {7}, {7}, 3);
    add(0.1F, kNoClass, {7}, {7}, 6);
    add(0.2F, 2, {5, 1}, {5}, 0);
    add(0.0F, 1, {3}, {3}, 1);
    add(0.3F, 4, {4}, {4, 1}, 3);
    add(1.0F, kNoClass, {17}, {17}, 16);
    add(0.1F, kNoClass, {1}, {1}, 0);
    add(0.1F, kNoClass, {40}, {40}, 20);
    return all;
  }

 private:
  /// The cost of a class, at least 0, as the gradient of its weight w; 0 if `share` of it is 0, and
  /// if it is infinite and w is 0. In one comparison, which varies along the row as w does.
  DYNET_DEVICE_FN static constexpr auto counted(auto cost, auto w, auto share) {
    return select(min(share, max(abs(w), 1.0 / cost)) == 0.0, 0.0, cost);
  }
};

using MarginOps =
    ext::OpList<Hinge, HingeDim, PairwiseRankLoss, PoissonLoss, CrossEntropy, WeightedCrossEntropy>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::MarginOps)
