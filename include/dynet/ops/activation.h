#pragma once

// Activations: one scalar function and its slope each. `slope` gets both x and y = value(x) and uses
// whichever is cheaper.

#include "dynet/ext/op.h"

namespace dynet::ops {

struct Tanh {
  static constexpr ext::Info kInfo{.name = "tanh",
                                   .args = {"x"},
                                   .formula = "y = tanh(x)",
                                   .summary = "Hyperbolic tangent, elementwise.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const { using rule::tanh; return tanh(x); }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto y) const { return 1.0 - y * y; }
  static std::vector<ext::Example<Tanh>> examples() { return {{{}, {{4, 3}}}, {{}, {{1}}}}; }
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

using ActivationOps = ext::OpList<Tanh, Elu>;

}  // namespace dynet::ops
