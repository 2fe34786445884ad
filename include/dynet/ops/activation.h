#pragma once

// Activations: a value and its slope each. `slope` gets both x and y = value(x) and uses whichever
// is cheaper.

#include "dynet/ops/common.h"

namespace dynet::ops {

struct Tanh {
  static constexpr ext::Info kInfo{.name = "tanh",
                                   .args = {"x"},
                                   .formula = "y = tanh(x)",
                                   .summary = "Hyperbolic tangent, elementwise.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::tanh;
    return tanh(x);
  }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto y) const { return 1.0 - y * y; }
  static std::vector<ext::Example<Tanh>> examples() { return elementwise_examples<Tanh>(); }
};

struct Logistic {
  static constexpr ext::Info kInfo{.name = "logistic",
                                   .args = {"x"},
                                   .formula = "y = 1 / (1 + exp(-x))",
                                   .summary = "Logistic function (sigmoid), elementwise.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::logistic;
    return logistic(x);
  }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto y) const { return y * (1.0 - y); }
  static std::vector<ext::Example<Logistic>> examples() {
    return elementwise_examples<Logistic>(-20.0, 20.0);
  }
};

struct Rectify {
  static constexpr ext::Info kInfo{.name = "rectify",
                                   .args = {"x"},
                                   .formula = "y = max(x, 0)",
                                   .summary = "Rectifier, elementwise. The slope at 0 is 0.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::max;
    return max(x, 0.0);
  }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto y) const {
    using rule::select;
    return select(y > 0.0, 1.0, 0.0);
  }
  static std::vector<ext::Example<Rectify>> examples() { return elementwise_examples<Rectify>(); }
};

struct Elu {
  float alpha = 1.0F;

  static constexpr ext::Info kInfo{.name = "elu",
                                   .args = {"x"},
                                   .attrs = {"alpha"},
                                   .formula = "y = x > 0 ? x : alpha * (exp(x) - 1)",
                                   .summary = "Exponential linear unit, elementwise.",
                                   .shapes = "any -> the same",
                                   .source = "Clevert et al., 2015"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::expm1, rule::select;  // expm1: exp(x) - 1 loses digits near 0
    return select(x > 0.0, x, alpha * expm1(x));
  }
  DYNET_DEVICE_FN auto slope(auto x, auto y) const {
    using rule::select;
    return select(x > 0.0, 1.0, y + alpha);
  }
  static std::vector<ext::Example<Elu>> examples() {
    auto all = elementwise_examples<Elu>();
    all.push_back({{2.5F}, {{7}}});
    return all;
  }
};

struct Silu {
  float beta = 1.0F;

  static constexpr ext::Info kInfo{.name = "silu",
                                   .args = {"x"},
                                   .attrs = {"beta"},
                                   .formula = "y = x * logistic(beta * x)",
                                   .summary = "Sigmoid linear unit (swish), elementwise.",
                                   .shapes = "any -> the same",
                                   .source = "Elfwing et al., 2017; Ramachandran et al., 2017"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::logistic;
    return x * logistic(beta * x);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto y) const {
    using rule::logistic;
    const auto s = logistic(beta * x);
    return s + beta * y * (1.0 - s);
  }
  static std::vector<ext::Example<Silu>> examples() {
    auto all = elementwise_examples<Silu>();
    all.push_back({{0.7F}, {{5}}});
    all.push_back({{-1.5F}, {{1}}});
    return all;
  }
};

struct Selu {
  static constexpr double kLambda = 1.0507009873554804934193349852946;
  static constexpr double kAlpha = 1.6732632423543772848170429916717;

  static constexpr ext::Info kInfo{
      .name = "selu",
      .args = {"x"},
      .formula = "y = lambda * (x > 0 ? x : alpha * (exp(x) - 1)), lambda = 1.0507, alpha = 1.6733",
      .summary = "Scaled exponential linear unit, elementwise.",
      .shapes = "any -> the same",
      .source = "Klambauer et al., 2017"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::expm1, rule::select;
    return select(x > 0.0, kLambda * x, kLambda * kAlpha * expm1(x));
  }
  DYNET_DEVICE_FN auto slope(auto x, auto y) const {
    using rule::select;
    return select(x > 0.0, kLambda, y + kLambda * kAlpha);
  }
  static std::vector<ext::Example<Selu>> examples() { return elementwise_examples<Selu>(); }
};

struct SoftSign {
  static constexpr ext::Info kInfo{.name = "softsign",
                                   .args = {"x"},
                                   .formula = "y = x / (1 + |x|)",
                                   .summary = "Softsign, elementwise.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::abs;
    return x / (1.0 + abs(x));
  }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto y) const {
    using rule::abs;
    const auto rest = 1.0 - abs(y);
    return rest * rest;
  }
  static std::vector<ext::Example<SoftSign>> examples() { return elementwise_examples<SoftSign>(); }
};

struct LogSigmoid {
  static constexpr ext::Info kInfo{.name = "log_sigmoid",
                                   .args = {"x"},
                                   .formula = "y = -ln(1 + exp(-x))",
                                   .summary = "Logarithm of the logistic function, elementwise.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::abs, rule::exp, rule::log1p, rule::min;
    return min(x, 0.0) - log1p(exp(-abs(x)));  // exp(-x) alone overflows from -89 on
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const {
    using rule::logistic;
    return logistic(-x);
  }
  static std::vector<ext::Example<LogSigmoid>> examples() {
    return elementwise_examples<LogSigmoid>(-20.0, 20.0);
  }
};

struct Softplus {
  float beta = 1.0F;

  static constexpr ext::Info kInfo{.name = "softplus",
                                   .args = {"x"},
                                   .attrs = {"beta"},
                                   .formula = "y = ln(1 + exp(beta * x)) / beta",
                                   .summary = "Smooth rectifier, elementwise.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::abs, rule::exp, rule::log1p, rule::max;
    const auto z = beta * x;
    return (max(z, 0.0) + log1p(exp(-abs(z)))) / beta;  // exp(z) alone overflows from 89 on
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const {
    using rule::logistic;
    return logistic(beta * x);
  }
  static std::vector<ext::Example<Softplus>> examples() {
    auto all = elementwise_examples<Softplus>();
    all.push_back({{2.5F}, {{5}}});
    return all;
  }
};

/// The exact form: no approximation by a hyperbolic tangent.
struct Gelu {
  static constexpr double kRootHalf = 0.7071067811865476;
  static constexpr double kRootTwoPi = 0.3989422804014327;  ///< 1 / sqrt(2 pi)

  static constexpr ext::Info kInfo{
      .name = "gelu",
      .args = {"x"},
      .formula = "y = x * (1 + erf(x / sqrt(2))) / 2",
      .summary = "Gaussian error linear unit, elementwise, by the error function itself.",
      .shapes = "any -> the same",
      .source = "Hendrycks and Gimpel, 2016"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const { return x * share(x); }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const {
    using rule::exp;
    return share(x) + x * (kRootTwoPi * exp(-0.5 * (x * x)));
  }
  static std::vector<ext::Example<Gelu>> examples() {
    return elementwise_examples<Gelu>(-4.0, 4.0);
  }

 private:
  /// How probable it is that a normal number is below x.
  DYNET_DEVICE_FN static auto share(auto x) {
    using rule::erf;
    return 0.5 + 0.5 * erf(kRootHalf * x);
  }
};

struct GeluTanh {
  static constexpr double kTwoRootTwoOverPi = 1.5957691216057308;
  static constexpr double kCubic = 0.044715;

  static constexpr ext::Info kInfo{
      .name = "gelu_tanh",
      .args = {"x"},
      .formula = "y = x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2",
      .summary = "Gaussian error linear unit, elementwise, approximated by a hyperbolic tangent.",
      .shapes = "any -> the same",
      .source = "Hendrycks and Gimpel, 2016"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  /// (1 + tanh(u)) / 2 = logistic(2 u), which keeps its digits on the left.
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::logistic;
    return x * logistic(kTwoRootTwoOverPi * x * (1.0 + kCubic * (x * x)));
  }
  DYNET_DEVICE_FN auto slope(auto x, auto y) const {
    using rule::logistic;
    const auto square = x * x;
    const auto s = logistic(kTwoRootTwoOverPi * x * (1.0 + kCubic * square));
    return s + y * (1.0 - s) * (kTwoRootTwoOverPi * (1.0 + 3.0 * kCubic * square));
  }
  static std::vector<ext::Example<GeluTanh>> examples() {
    return elementwise_examples<GeluTanh>(-4.0, 4.0);
  }
};

using ActivationOps = ext::OpList<Tanh, Logistic, Rectify, Elu, Silu, Selu, SoftSign, LogSigmoid,
                                  Softplus, Gelu, GeluTanh>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::ActivationOps)
