#pragma once

// Trigonometric and hyperbolic functions and their inverses: a value and its slope each. (tanh is
// an activation.) Formulas that overflow or lose digits in their textbook form are written
// differently, and say so.

#include "dynet/ops/arithmetic.h"
#include "dynet/ops/common.h"

namespace dynet::ops {

struct Sin {
  static constexpr ext::Info kInfo{.name = "sin",
                                   .args = {"x"},
                                   .formula = "y = sin(x)",
                                   .summary = "Sine, elementwise; x in radians, of any size.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::sin;
    return sin(x);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const {
    using rule::cos;
    return cos(x);
  }
  static std::vector<ext::Example<Sin>> examples() { return elementwise_examples<Sin>(); }
};

struct Cos {
  static constexpr ext::Info kInfo{.name = "cos",
                                   .args = {"x"},
                                   .formula = "y = cos(x)",
                                   .summary = "Cosine, elementwise; x in radians, of any size.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::cos;
    return cos(x);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const {
    using rule::sin;
    return -sin(x);
  }
  static std::vector<ext::Example<Cos>> examples() { return elementwise_examples<Cos>(); }
};

struct Tan {
  static constexpr ext::Info kInfo{.name = "tan",
                                   .args = {"x"},
                                   .formula = "y = tan(x)",
                                   .summary = "Tangent, elementwise; x in radians, of any size.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::tan;
    return tan(x);
  }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto y) const { return 1.0 + y * y; }
  static std::vector<ext::Example<Tan>> examples() { return elementwise_examples<Tan>(-1.4, 1.4); }
};

struct Asin {
  static constexpr ext::Info kInfo{.name = "asin",
                                   .args = {"x"},
                                   .formula = "y = asin(x)",
                                   .summary =
                                       "Inverse sine, elementwise: NaN beyond -1 and 1; the slope "
                                       "at -1 and 1 is infinite.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::asin;
    return asin(x);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const {
    using rule::sqrt;
    return 1.0 / sqrt((1.0 - x) * (1.0 + x));
  }
  static std::vector<ext::Example<Asin>> examples() {
    return elementwise_examples<Asin>(-0.95, 0.95);
  }
};

struct Acos {
  static constexpr ext::Info kInfo{.name = "acos",
                                   .args = {"x"},
                                   .formula = "y = acos(x)",
                                   .summary =
                                       "Inverse cosine, elementwise: NaN beyond -1 and 1; the "
                                       "slope at -1 and 1 is infinite.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::acos;
    return acos(x);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const {
    using rule::sqrt;
    return -1.0 / sqrt((1.0 - x) * (1.0 + x));
  }
  static std::vector<ext::Example<Acos>> examples() {
    return elementwise_examples<Acos>(-0.95, 0.95);
  }
};

struct Atan {
  static constexpr ext::Info kInfo{.name = "atan",
                                   .args = {"x"},
                                   .formula = "y = atan(x)",
                                   .summary = "Inverse tangent, elementwise.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::atan;
    return atan(x);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const { return 1.0 / (1.0 + x * x); }
  static std::vector<ext::Example<Atan>> examples() {
    return elementwise_examples<Atan>(-4.0, 4.0);
  }
};

/// From here on exp(x - 1) is computed: exp(x) may overflow though half of it does not.
inline constexpr double kLargeExponent = 88.0;
inline constexpr double kHalfE = 1.3591409142295225;
inline constexpr double kLn2 = 0.6931471805599453;

DYNET_DEVICE_FN auto hyperbolic_sine(auto x) {
  using rule::abs, rule::copysign, rule::expm1, rule::select;
  const auto a = abs(x);
  const auto is_large = a >= kLargeExponent;
  const auto u = expm1(select(is_large, a - 1.0, a));
  return copysign(select(is_large, kHalfE * u, 0.5 * (u + u / (u + 1.0))), x);
}
DYNET_DEVICE_FN auto hyperbolic_cosine(auto x) {
  using rule::abs, rule::exp, rule::select;
  const auto a = abs(x);
  const auto is_large = a >= kLargeExponent;
  const auto e = exp(select(is_large, a - 1.0, a));
  return select(is_large, kHalfE * e, 0.5 * e + 0.5 / e);
}

/// cosh(x) as a node. Sinh and cosh say their gradients by each other: their formulas have |x|,
/// whose slope at 0 would be right for neither side.
ext::GradientBuilder::Node cosh_of(auto& to, ext::GradientBuilder::Node x);

struct Sinh {
  static constexpr ext::Info kInfo{.name = "sinh",
                                   .args = {"x"},
                                   .formula = "y = (exp(x) - exp(-x)) / 2",
                                   .summary = "Hyperbolic sine, elementwise.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const { return hyperbolic_sine(x); }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const { return hyperbolic_cosine(x); }
  void gradient(auto& to) const { to.give(0, to.add(CMult{}, to.d_out(), cosh_of(to, to.in(0)))); }
  static std::vector<ext::Example<Sinh>> examples() { return elementwise_examples<Sinh>(); }
};

struct Cosh {
  static constexpr ext::Info kInfo{.name = "cosh",
                                   .args = {"x"},
                                   .formula = "y = (exp(x) + exp(-x)) / 2",
                                   .summary = "Hyperbolic cosine, elementwise.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const { return hyperbolic_cosine(x); }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const { return hyperbolic_sine(x); }
  void gradient(auto& to) const {
    to.give(0, to.add(CMult{}, to.d_out(), to.add(Sinh{}, to.in(0))));
  }
  static std::vector<ext::Example<Cosh>> examples() { return elementwise_examples<Cosh>(); }
};

ext::GradientBuilder::Node cosh_of(auto& to, ext::GradientBuilder::Node x) {
  return to.add(Cosh{}, x);
}

/// From here on sqrt(x^2 + 1) and sqrt(x^2 - 1) are x, in double too; squares overflow later.
inline constexpr double kLargeRoot = 1e8;

struct Asinh {
  static constexpr ext::Info kInfo{.name = "asinh",
                                   .args = {"x"},
                                   .formula = "y = ln(x + sqrt(x^2 + 1))",
                                   .summary = "Inverse hyperbolic sine, elementwise.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  /// sqrt(x^2 + 1) - 1 = x^2 / (1 + sqrt(x^2 + 1)), without the difference.
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::abs, rule::copysign, rule::log1p, rule::select, rule::sqrt;
    const auto a = abs(x);
    const auto is_large = a >= kLargeRoot;
    const auto square = a * a;
    const auto y = log1p(select(is_large, a, a + square / (1.0 + sqrt(square + 1.0))));
    return copysign(y + select(is_large, kLn2, 0.0), x);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const {
    using rule::sqrt;
    return 1.0 / sqrt(x * x + 1.0);
  }
  static std::vector<ext::Example<Asinh>> examples() {
    return elementwise_examples<Asinh>(-4.0, 4.0);
  }
};

struct Acosh {
  static constexpr ext::Info kInfo{.name = "acosh",
                                   .args = {"x"},
                                   .formula = "y = ln(x + sqrt(x^2 - 1))",
                                   .summary =
                                       "Inverse hyperbolic cosine, elementwise: NaN below 1; the "
                                       "slope at 1 is infinite.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::log1p, rule::select, rule::sqrt;
    const auto t = x - 1.0;
    const auto is_large = x >= kLargeRoot;
    return log1p(select(is_large, x, t + sqrt(t) * sqrt(t + 2.0))) + select(is_large, kLn2, 0.0);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const {
    using rule::sqrt;
    return 1.0 / (sqrt(x - 1.0) * sqrt(x + 1.0));
  }
  static std::vector<ext::Example<Acosh>> examples() {
    return elementwise_examples<Acosh>(1.1, 5.0);
  }
};

struct Atanh {
  static constexpr ext::Info kInfo{.name = "atanh",
                                   .args = {"x"},
                                   .formula = "y = ln((1 + x) / (1 - x)) / 2",
                                   .summary =
                                       "Inverse hyperbolic tangent, elementwise: infinite at -1 "
                                       "and 1, NaN beyond.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::abs, rule::copysign, rule::log1p;
    const auto a = abs(x);
    return copysign(0.5 * log1p(2.0 * a / (1.0 - a)), x);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const { return 1.0 / ((1.0 - x) * (1.0 + x)); }
  static std::vector<ext::Example<Atanh>> examples() {
    return elementwise_examples<Atanh>(-0.95, 0.95);
  }
};

using TrigonometryOps =
    ext::OpList<Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::TrigonometryOps)
