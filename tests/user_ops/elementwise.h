#pragma once

// Operations as a user outside the tree would write them; twins of the library's.

#include "dynet/ext/op.h"

namespace user {

using dynet::Dim;
namespace ext = dynet::ext;
namespace rule = dynet::rule;

/// y = a * x; the scalar is payload.
struct Scale {
  static constexpr ext::Payload kPayload = ext::Payload::kValues;
  static constexpr ext::Info kInfo{
      .name = "user_scale", .args = {"x"}, .payload = "a", .formula = "y = a * x"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x, auto a) const { return x * a; }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto a, auto /*y*/) const { return a; }
  static std::vector<ext::Example<Scale>> examples() {
    return {ext::Example<Scale>({}, {{4, 3}}).with_values({1.5F})};
  }
};

/// y = a + b with broadcasting on both sides.
struct Add {
  static constexpr std::array kRoles{ext::Role::kEither, ext::Role::kEither};
  static constexpr ext::Info kInfo{.name = "user_add", .args = {"a", "b"}, .formula = "y = a + b"};
  Dim shape(const ext::Shapes& in) const {
    Dim r = in[0];
    r.resize(std::max(in[0].nd, in[1].nd));
    for (unsigned i = 0; i < r.nd; ++i) {
      const unsigned a = in[0][i];
      const unsigned b = in[1][i];
      if (a != b && a != 1 && b != 1) {
        in.fail("equal dimensions, or 1");
      }
      r.d[i] = std::max(a, b);
    }
    return r;
  }
  DYNET_DEVICE_FN auto value(auto a, auto b) const { return a + b; }
  DYNET_DEVICE_FN auto slopes(auto /*a*/, auto /*b*/, auto /*y*/) const {
    return rule::each(1.0, 1.0);
  }
  static std::vector<ext::Example<Add>> examples() {
    return {{{}, {{4, 3}, {4, 3}}}, {{}, {{4, 3}, {4}}}, {{}, {{1, 3}, {4}}}};
  }
};

/// An LSTM's cell after its affine transform: gates i, f, o, g in one vector.
struct LstmCell {
  float forget_bias = 1.0F;

  static constexpr unsigned kOutputs = 2;
  static constexpr unsigned kSaved = 1;
  static constexpr std::array kParts{4, 1};
  static constexpr std::array kOutParts{1, 1};
  static constexpr std::array kSavedParts{4};
  static constexpr ext::Info kInfo{.name = "user_lstm_cell",
                                   .args = {"a", "c"},
                                   .attrs = {"forget_bias"},
                                   .formula = "c' = f*c + i*g, h = o*tanh(c')"};
  std::array<Dim, 2> shapes(const ext::Shapes& in) const {
    if (in[0].nd != 1 || in[1].nd != 1 || in[0][0] != 4 * in[1][0]) {
      in.fail("{4h}, {h}");
    }
    return {in[1], in[1]};
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {in[0]}; }
  DYNET_DEVICE_FN auto value(auto ai, auto af, auto ao, auto ag, auto c) const {
    using rule::logistic, rule::tanh;
    const auto i = logistic(ai);
    const auto f = logistic(af + forget_bias);
    const auto o = logistic(ao);
    const auto g = tanh(ag);
    const auto next = f * c + i * g;
    return rule::each(next, o * tanh(next), i, f, o, g);
  }
  DYNET_DEVICE_FN auto pull(auto /*ai*/, auto /*af*/, auto /*ao*/, auto /*ag*/, auto c, auto next,
                            auto /*h*/, auto i, auto f, auto o, auto g, auto d_next,
                            auto dh) const {
    using rule::tanh;
    const auto t = tanh(next);
    const auto dc = d_next + dh * o * (1.0 - t * t);
    return rule::each(dc * g * i * (1.0 - i), dc * c * f * (1.0 - f), dh * t * o * (1.0 - o),
                      dc * i * (1.0 - g * g), dc * f);
  }
  static std::vector<ext::Example<LstmCell>> examples() {
    return {{{1.0F}, {{12}, {3}}}, {{0.0F}, {{20}, {5}}}};
  }
};

}  // namespace user
