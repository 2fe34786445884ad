#pragma once

// Activations and other functions of one number: a value and its slope each. `slope` gets both x
// and y = value(x) and uses whichever is cheaper.

#include "dynet/ext/op.h"

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
  static std::vector<ext::Example<Tanh>> examples() { return {{{}, {{4, 3}}}, {{}, {{1}}}}; }
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
    return {{{}, {{5}}}, {{}, {{2, 3, 2}}, -20.0, 20.0}};
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
  static std::vector<ext::Example<Rectify>> examples() {
    return {{{}, {{3, 5}}}, {{}, {{7}}, 0.01, 2.0}, {{}, {{1, 2}}, -2.0, -0.01}};
  }
};

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
  static std::vector<ext::Example<Exp>> examples() { return {{{}, {{3, 3}}}, {{}, {{1}}}}; }
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
  static std::vector<ext::Example<Log>> examples() {
    return {{{}, {{4, 2}}, 0.1, 4.0}, {{}, {{9}}, 0.5, 100.0}};
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
  static std::vector<ext::Example<Square>> examples() { return {{{}, {{6}}}, {{}, {{1, 1, 3}}}}; }
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
  static std::vector<ext::Example<Sqrt>> examples() {
    return {{{}, {{4, 2}}, 0.1, 4.0}, {{}, {{1}}, 0.5, 100.0}};
  }
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
  static std::vector<ext::Example<Elu>> examples() { return {{{1.0F}, {{4, 3}}}, {{2.5F}, {{7}}}}; }
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
    return {{{1.0F}, {{4, 3}}}, {{0.7F}, {{5}}}, {{-1.5F}, {{1}}}};
  }
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
  static std::vector<ext::Example<Erf>> examples() {
    return {{{}, {{4, 3}}}, {{}, {{7}}, -6.0, 6.0}, {{}, {{1}}}};
  }
};

using ActivationOps = ext::OpList<Tanh, Logistic, Rectify, Exp, Log, Square, Sqrt, Elu, Silu, Erf>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::ActivationOps)
