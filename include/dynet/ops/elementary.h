#pragma once

// Elementary functions, elementwise: powers, logarithms and their relatives; rounding and choices;
// and the identity with another gradient.

#include <array>
#include <cstdint>

#include "dynet/gradient_mode.h"
#include "dynet/ops/common.h"

namespace dynet::ops {

struct Exp {
  static constexpr ext::Info kInfo{.name = "exp",
                                   .args = {"x"},
                                   .formula = "y = exp(x)",
                                   .summary = "Exponential, elementwise.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::exp;
    return exp(x);
  }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto y) const { return y; }
  static std::vector<ext::Example<Exp>> examples() { return elementwise_examples<Exp>(); }
};

struct Expm1 {
  static constexpr ext::Info kInfo{
      .name = "expm1",
      .args = {"x"},
      .formula = "y = exp(x) - 1",
      .summary = "Exponential minus 1, elementwise, which keeps its digits near 0.",
      .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::expm1;
    return expm1(x);
  }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto y) const { return y + 1.0; }
  static std::vector<ext::Example<Expm1>> examples() { return elementwise_examples<Expm1>(); }
};

struct Log {
  static constexpr ext::Info kInfo{
      .name = "log",
      .args = {"x"},
      .formula = "y = ln(x)",
      .summary = "Natural logarithm, elementwise: -inf at 0, NaN below.",
      .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::log;
    return log(x);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const { return 1.0 / x; }
  static std::vector<ext::Example<Log>> examples() { return elementwise_examples<Log>(0.1, 4.0); }
};

struct Log1p {
  static constexpr ext::Info kInfo{
      .name = "log1p",
      .args = {"x"},
      .formula = "y = ln(1 + x)",
      .summary =
          "Logarithm of 1 + x, elementwise, which keeps its digits near 0: -inf at -1, NaN below.",
      .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::log1p;
    return log1p(x);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const { return 1.0 / (1.0 + x); }
  static std::vector<ext::Example<Log1p>> examples() {
    return elementwise_examples<Log1p>(-0.9, 4.0);
  }
};

struct Square {
  static constexpr ext::Info kInfo{.name = "square",
                                   .args = {"x"},
                                   .formula = "y = x * x",
                                   .summary = "Square, elementwise.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const { return x * x; }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const { return 2.0 * x; }
  static std::vector<ext::Example<Square>> examples() { return elementwise_examples<Square>(); }
};

struct Cube {
  static constexpr ext::Info kInfo{.name = "cube",
                                   .args = {"x"},
                                   .formula = "y = x * x * x",
                                   .summary = "Cube, elementwise.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const { return x * x * x; }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const { return 3.0 * (x * x); }
  static std::vector<ext::Example<Cube>> examples() { return elementwise_examples<Cube>(); }
};

struct Sqrt {
  static constexpr ext::Info kInfo{
      .name = "sqrt",
      .args = {"x"},
      .formula = "y = sqrt(x)",
      .summary = "Square root, elementwise: NaN below 0; the slope at 0 is inf.",
      .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::sqrt;
    return sqrt(x);
  }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto y) const { return 0.5 / y; }
  static std::vector<ext::Example<Sqrt>> examples() { return elementwise_examples<Sqrt>(0.1, 4.0); }
};

struct Abs {
  static constexpr ext::Info kInfo{.name = "abs",
                                   .args = {"x"},
                                   .formula = "y = |x|",
                                   .summary = "Absolute value, elementwise. The slope at 0 is 0.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::abs;
    return abs(x);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const { return sign_of(x); }
  static std::vector<ext::Example<Abs>> examples() { return elementwise_examples<Abs>(); }
};

struct Erf {
  static constexpr double kTwoOverRootPi = 1.1283791670955126;

  static constexpr ext::Info kInfo{
      .name = "erf",
      .args = {"x"},
      .formula = "y = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x",
      .summary = "Error function, elementwise.",
      .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::erf;
    return erf(x);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const {
    using rule::exp;
    return kTwoOverRootPi * exp(-(x * x));
  }
  static std::vector<ext::Example<Erf>> examples() { return elementwise_examples<Erf>(); }
};

struct LogGamma {
  static constexpr ext::Info kInfo{.name = "lgamma",
                                   .args = {"x"},
                                   .formula = "y = ln |gamma(x)|",
                                   .summary =
                                       "Logarithm of the gamma function's absolute value, "
                                       "elementwise: inf at whole x <= 0.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::lgamma;
    return lgamma(x);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const {
    using rule::digamma;
    return digamma(x);
  }
  static std::vector<ext::Example<LogGamma>> examples() {
    auto all = elementwise_examples<LogGamma>(0.2, 12.0);
    all.push_back({{}, {{9}}, -2.9, -2.1});
    all.push_back({{}, {{9}}, -0.9, -0.1});
    return all;
  }
};

/// The slope of x to the power of y: y x^(y-1), and 0 if y is 0, also for x = 0, which 1 replaces.
/// Nothing else is changed there, so that the slope of the slope follows from the formula.
DYNET_DEVICE_FN auto slope_of_base(auto x, auto y) {
  using rule::pow, rule::select;
  const auto of_zeros = select(y == 0.0, select(x == 0.0, 1.0, 0.0), 0.0);
  return y * pow(x + of_zeros, y - 1.0);
}

struct Pow {
  static constexpr ext::Info kInfo{
      .name = "pow",
      .args = {"x", "y"},
      .formula = "z = x^y",
      .summary =
          "Each element of x to the power of the one element y: NaN if x < 0 and y is no whole "
          "number. The gradient of y is NaN if an element of x is 0 or below.",
      .shapes = "any, {1} -> the first",
      .errors = "ShapeError unless y has one element"};
  Dim shape(const ext::Shapes& in) const {
    if (in[1].example_elements() != 1) {
      in.fail("one element y");
    }
    return in[0];
  }
  DYNET_DEVICE_FN auto value(auto x, auto y) const {
    using rule::pow;
    return pow(x, y);
  }
  DYNET_DEVICE_FN auto slopes(auto x, auto y, auto z) const {
    using rule::log;
    return rule::each(slope_of_base(x, y), z * log(x));
  }
  static std::vector<ext::Example<Pow>> examples() {
    auto all = elementwise_examples<Pow>(0.3, 3.0);
    for (auto& e : all) {
      e.inputs.push_back({1});
    }
    all.push_back({{}, {{3}, {1, 1}}, 0.3, 3.0});
    return all;
  }
};

struct PowScalar {
  static constexpr ext::Info kInfo{
      .name = "pow_scalar",
      .args = {"x"},
      .payload = "a",
      .formula = "y = x^a",
      .summary = "Each element to the power of a number: NaN if x < 0 and a is no whole number.",
      .shapes = "any -> the same",
      .cpp = "pow",
      .python = "__pow__"};
  static constexpr ext::Payload kPayload = ext::Payload::kValues;
  Dim shape(const ext::Shapes& in) const {
    check_one_payload(in, "one number a");
    return in[0];
  }
  DYNET_DEVICE_FN auto value(auto x, auto a) const {
    using rule::pow;
    return pow(x, a);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto a, auto /*y*/) const { return slope_of_base(x, a); }
  static std::vector<ext::Example<PowScalar>> examples() {
    return scalar_examples<PowScalar>(2.5F, 0.3, 3.0);
  }
};

struct Clip {
  float lo;
  float hi;

  static constexpr ext::Info kInfo{
      .name = "clip",
      .args = {"x"},
      .attrs = {"lo", "hi"},
      .formula = "y = min(max(x, lo), hi)",
      .summary =
          "The nearest number from lo to hi, elementwise; NaN stays NaN. The gradient of elements "
          "outside is 0.",
      .shapes = "any -> the same",
      .errors = "ValueError unless lo <= hi"};
  Dim shape(const ext::Shapes& in) const {
    if (!(lo <= hi)) {
      in.fail_value("lo <= hi");
    }
    return in[0];
  }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::max, rule::min;
    return min(max(x, lo), hi);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const {
    using rule::select;
    return select(x < lo, 0.0, select(x > hi, 0.0, 1.0));
  }
  static std::vector<ext::Example<Clip>> examples() {
    return elementwise_examples<Clip>(-2.0, 2.0, {-0.7001F, 1.1002F});
  }
};

struct Choose {
  static constexpr ext::Info kInfo{
      .name = "where",
      .args = {"cond", "x", "y"},
      .formula = "z = cond != 0 ? x : y",
      .summary =
          "Elements of x at the places where cond is not 0, elements of y elsewhere. All three "
          "broadcast: a dimension of 1, or a missing one, is repeated. No gradient flows to cond.",
      .shapes = "cond, x, y with each dimension equal or 1 -> the largest of each",
      .errors = "ShapeError if a dimension differs and neither is 1"};
  static constexpr std::array kParts{1, 1, 1};
  static constexpr std::array kOutParts{1};
  Dim shape(const ext::Shapes& in) const { return broadcast_shape(in); }
  DYNET_DEVICE_FN auto value(auto cond, auto x, auto y) const {
    using rule::select;
    return rule::each(select(cond == 0.0, y, x));
  }
  DYNET_DEVICE_FN auto pull(auto cond, auto /*x*/, auto /*y*/, auto /*z*/, auto dz) const {
    using rule::select;
    return rule::each(0.0, select(cond == 0.0, 0.0, dz), select(cond == 0.0, dz, 0.0));
  }
  static std::vector<ext::Example<Choose>> examples() {
    return {{{}, {{4, 3}, {4, 3}, {4, 3}}},
            {{}, {{4, 3}, {4}, {1, 3}}},
            {{}, {{1}, {5}, {5}}},
            {{}, {{2, 1, 3}, {1}, {2, 5}}},
            {{}, {{1}, {1}, {1}}},
            {{}, {{17}, {17}, {1}}},
            {{}, {{3, 0}, {3}, {1}}},
            {{}, {{3}, {1}, {1}}},
            {{}, {{1, 2, 1, 2, 1, 2, 2}, {2, 2, 1, 1, 1, 2, 1}, {1}}}};
  }
};

// ---- rounding -----------------------------------------------------------------------------------

/// How Rounded rounds.
enum class Rounding : std::uint8_t { kNearest, kUp, kDown };
constexpr const char* rounding_name(Rounding r) {
  return r == Rounding::kNearest ? "round" : r == Rounding::kUp ? "ceil" : "floor";
}

template <Rounding kHow>
struct Rounded {
  GradientMode gradient_mode;

  static constexpr ext::Info kInfo{
      .name = rounding_name(kHow),
      .args = {"x"},
      .attrs = {"gradient_mode"},
      .formula = kHow == Rounding::kNearest ? "y = the nearest whole number"
                 : kHow == Rounding::kUp    ? "y = the least whole number that is not below x"
                                            : "y = the largest whole number that is not above x",
      .summary =
          kHow == Rounding::kNearest ? "Rounds each element, halves away from 0. The gradient is 0 "
                                       "(zero_gradient) or goes "
                                       "straight through (straight_through_gradient)."
          : kHow == Rounding::kUp
              ? "Rounds each element up. The gradient is 0 (zero_gradient) or goes straight "
                "through "
                "(straight_through_gradient)."
              : "Rounds each element down. The gradient is 0 (zero_gradient) or goes straight "
                "through (straight_through_gradient).",
      .shapes = "any -> the same"};
  static constexpr bool kSurrogateGradient = true;
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::abs, rule::copysign, rule::floor, rule::select;
    if constexpr (kHow == Rounding::kDown) {
      return floor(x);
    } else if constexpr (kHow == Rounding::kUp) {
      return -floor(-x);
    } else {
      // Not floor(a + 0.5): that sum rounds, in 0.49999997 and in large odd numbers.
      const auto a = abs(x);
      const auto low = floor(a);
      return copysign(select(a - low >= 0.5, low + 1.0, low), x);
    }
  }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto /*y*/) const {
    return gradient_mode == straight_through_gradient ? 1.0 : 0.0;
  }
  static std::vector<ext::Example<Rounded>> examples() {
    auto all = elementwise_examples<Rounded>(-4.0, 4.0, {zero_gradient});
    all.push_back({{straight_through_gradient}, {{4, 3}}, -4.0, 4.0});
    all.push_back({{straight_through_gradient}, {{1}}, -4.0, 4.0});
    return all;
  }
};
using Round = Rounded<Rounding::kNearest>;
using Ceil = Rounded<Rounding::kUp>;
using Floor = Rounded<Rounding::kDown>;

struct Argmax {
  GradientMode gradient_mode;

  static constexpr ext::Info kInfo{
      .name = "argmax",
      .args = {"x"},
      .attrs = {"gradient_mode"},
      .formula = "y_i = 1 if x_i is the first of the largest elements, else 0",
      .summary =
          "The largest element's place, as a vector with a 1 there; NaN counts as the largest "
          "number. The gradient is 0 "
          "(zero_gradient) or goes straight through (straight_through_gradient).",
      .shapes = "{n} -> {n}",
      .errors = "ShapeError unless x has one dimension, of at most 2^24 elements"};
  static constexpr bool kSurrogateGradient = true;
  static constexpr std::array kAlong{rule::Along::kElements};
  Dim shape(const ext::Shapes& in) const {
    if (in[0].nd != 1) {
      in.fail("one dimension");
    }
    check_positions(in, in[0].rows());
    return in[0];
  }
  std::uint32_t row_axes() const { return ext::kWholeExample; }
  DYNET_DEVICE_FN constexpr auto value(auto x) const {
    const auto is_nan = select(x == x, 0.0, 1.0);
    const auto place =
        select(over::max(is_nan) > 0.0, over::index_of_max(is_nan), over::index_of_max(x));
    return rule::each(select(over::position() == place, 1.0, 0.0));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto /*x*/, auto /*y*/, auto dy) const {
    return rule::each(dy * (gradient_mode == straight_through_gradient ? 1.0 : 0.0));
  }
  static std::vector<ext::Example<Argmax>> examples() {
    std::vector<ext::Example<Argmax>> all;
    for (const unsigned n : {7U, 1U, 2U, 5U, 17U, 40U, 64U}) {
      all.push_back({{zero_gradient}, {{n}}});
    }
    all.push_back({{straight_through_gradient}, {{9}}});
    return all;
  }
};

// ---- the identity with another gradient ---------------------------------------------------------

struct FlipGradient {
  static constexpr ext::Info kInfo{.name = "flip_gradient",
                                   .args = {"x"},
                                   .formula = "y = x; dx = -dy",
                                   .summary = "The value of x, whose gradient is negated.",
                                   .shapes = "any -> the same",
                                   .source = "Ganin and Lempitsky, 2015"};
  static constexpr bool kSurrogateGradient = true;
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const { return x; }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto /*y*/) const { return -1.0; }
  static std::vector<ext::Example<FlipGradient>> examples() {
    return elementwise_examples<FlipGradient>();
  }
};

struct ScaleGradient {
  float lambd = 1.0F;

  static constexpr ext::Info kInfo{.name = "scale_gradient",
                                   .args = {"x"},
                                   .attrs = {"lambd"},
                                   .formula = "y = x; dx = lambd * dy",
                                   .summary = "The value of x, whose gradient is scaled.",
                                   .shapes = "any -> the same"};
  static constexpr bool kSurrogateGradient = true;
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const { return x; }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto /*y*/) const { return lambd; }
  static std::vector<ext::Example<ScaleGradient>> examples() {
    auto all = elementwise_examples<ScaleGradient>();
    all.push_back({{-0.25F}, {{4, 3}}});
    return all;
  }
};

using ElementaryOps =
    ext::OpList<Exp, Expm1, Log, Log1p, Square, Cube, Sqrt, Abs, Erf, LogGamma, Pow, PowScalar,
                Clip, Choose, Round, Ceil, Floor, Argmax, FlipGradient, ScaleGradient>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::ElementaryOps)
