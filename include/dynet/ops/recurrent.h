#pragma once

// Cells of recurrent and tree networks: one node for all that follows the affine transformation.
//
// A cell cuts its arguments into pieces of h numbers: `value` computes outputs and saved gates from
// them, `pull` takes the gradients of the outputs back to the pieces. Pieces of the pre-activations
// are written i, f, o, g; the gates behind the nonlinearity (saved by forward) carry an underscore.
// A cell without previous state is the same cell with an absent argument. A pull of ten and more
// pieces takes a pack, because nvcc 13 fails on so many `auto` parameters.

#include <array>

#include "dynet/ops/common.h"

namespace dynet::ops {

/// Length h of one piece; the first argument must have `pieces` pieces.
inline unsigned piece(const ext::Shapes& in, unsigned pieces, const char* wanted) {
  const Dim& a = in[0];
  if (a.nd != 1 || a.d[0] % pieces != 0) {
    in.fail(wanted);
  }
  return a.d[0] / pieces;
}
inline bool is_vector(const Dim& d, ext::Count length) { return d.nd == 1 && length == d.d[0]; }

/// Length of the vectors, which must be equal for all that are not absent.
inline unsigned equal_vectors(const ext::Shapes& in, const char* wanted) {
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (in.has(k) && !is_vector(in[k], in[0].d[0])) {
      in.fail(wanted);
    }
  }
  return in[0].d[0];
}

/// Slope of the logistic function, and of tanh, from their value.
DYNET_DEVICE_FN auto logistic_slope(auto y) { return y * (1.0 - y); }
DYNET_DEVICE_FN auto tanh_slope(auto y) { return 1.0 - y * y; }

struct LstmCell {
  float forget_bias = 1.0F;

  static constexpr ext::Info kInfo{
      .name = "lstm_cell",
      .args = {"a", "c"},
      .attrs = {"forget_bias"},
      .formula =
          "[i; f; o; g] = a; c' = logistic(f + forget_bias) * c + logistic(i) * tanh(g); "
          "h = logistic(o) * tanh(c')",
      .summary =
          "One step of an LSTM from its pre-activations a and the previous cell c: the new "
          "cell and the hidden state. In the first step c may be absent, which counts as zeros.",
      .shapes = "{4h}, {h} -> {h}, {h}",
      .errors = "ShapeError unless a is {4h} and c is {h} or absent",
      .source = "Hochreiter and Schmidhuber, 1997; Gers et al., 2000"};
  static constexpr unsigned kOutputs = 2;
  static constexpr unsigned kSaved = 1;
  static constexpr std::array kOptional{0, 1};
  static constexpr std::array kParts{4, 1};
  static constexpr std::array kOutParts{1, 1};
  static constexpr std::array kSavedParts{4};
  std::array<Dim, 2> shapes(const ext::Shapes& in) const {
    const unsigned h = piece(in, 4, "a {4h} and c {h}");
    if (in.has(1) && !is_vector(in[1], h)) {
      in.fail("a {4h} and c {h}");
    }
    return {Dim({h}), Dim({h})};
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const {
    return {Dim({in[0].d[0] / 4 * (in.has(1) ? 4 : 3)})};
  }
  DYNET_DEVICE_FN auto value(auto i, auto f, auto o, auto g, auto c) const {
    using rule::logistic, rule::tanh;
    const auto i_ = logistic(i);
    const auto f_ = rule::given(c, logistic(f + forget_bias));
    const auto o_ = logistic(o);
    const auto g_ = tanh(g);
    const auto c_new = f_ * c + i_ * g_;
    return rule::each(c_new, o_ * tanh(c_new), i_, f_, o_, g_);
  }
  DYNET_DEVICE_FN auto pull(auto... x) const {
    const auto [i, f, o, g, c, c_new, h, i_, f_, o_, g_, dc_new, dh] = rule::each(x...);
    using rule::tanh;
    const auto t = tanh(c_new);
    const auto dc = dc_new + dh * o_ * tanh_slope(t);
    return rule::each(dc * g_ * logistic_slope(i_), dc * c * logistic_slope(f_),
                      dh * t * logistic_slope(o_), dc * i_ * tanh_slope(g_), dc * f_);
  }
  static std::vector<ext::Example<LstmCell>> examples() {
    return {{{1.0F}, {{12}, {3}}},
            {{0.5F}, {{28}, {7}}},
            {{1.0F}, {{4}, {1}}},
            {{1.0F}, {{12}, ext::absent()}},
            {{0.5F}, {{28}, ext::absent()}},
            {{1.0F}, {{4}, ext::absent()}},
            {{-1.0F}, {{68}, {17}}},
            {{1.0F}, {{0}, {0}}}};
  }
};

struct LstmGates {
  float forget_bias = 1.0F;

  static constexpr ext::Info kInfo{
      .name = "lstm_gates",
      .args = {"a"},
      .attrs = {"forget_bias"},
      .formula =
          "[i; f; o; g] = a; y = [logistic(i); logistic(f + forget_bias); logistic(o); "
          "tanh(g)]",
      .summary =
          "The gates of an LSTM from its pre-activations; vanilla_lstm_gates is this after an "
          "affine transformation.",
      .shapes = "{4h} -> {4h}",
      .errors = "ShapeError unless a is {4h}"};
  static constexpr std::array kParts{4};
  static constexpr std::array kOutParts{4};
  Dim shape(const ext::Shapes& in) const {
    piece(in, 4, "a {4h}");
    return in[0];
  }
  DYNET_DEVICE_FN auto value(auto i, auto f, auto o, auto g) const {
    using rule::logistic, rule::tanh;
    return rule::each(logistic(i), logistic(f + forget_bias), logistic(o), tanh(g));
  }
  DYNET_DEVICE_FN auto pull(auto... x) const {
    const auto [i, f, o, g, i_, f_, o_, g_, di_, df_, do_, dg_] = rule::each(x...);
    return rule::each(di_ * logistic_slope(i_), df_ * logistic_slope(f_), do_ * logistic_slope(o_),
                      dg_ * tanh_slope(g_));
  }
  static std::vector<ext::Example<LstmGates>> examples() {
    return {{{1.0F}, {{12}}},  {{0.0F}, {{28}}}, {{1.0F}, {{4}}},  {{-1.0F}, {{68}}},
            {{0.5F}, {{132}}}, {{1.0F}, {{0}}},  {{2.5F}, {{20}}}, {{1.0F}, {{64}}}};
  }
};

struct VanillaLstmC {
  static constexpr ext::Info kInfo{
      .name = "vanilla_lstm_c",
      .args = {"c_tm1", "gates_t"},
      .formula = "[i; f; o; g] = gates; y = i * g + f * c",
      .summary = "New cell of an LSTM from the previous one and the gates.",
      .shapes = "{h}, {4h} -> {h}",
      .errors = "ShapeError unless c is {h} and the gates are {4h}"};
  static constexpr std::array kParts{1, 4};
  static constexpr std::array kOutParts{1};
  Dim shape(const ext::Shapes& in) const {
    if (in[0].nd != 1 || !is_vector(in[1], ext::Count(4) * in[0].d[0])) {
      in.fail("c_tm1 {h} and gates_t {4h}");
    }
    return in[0];
  }
  DYNET_DEVICE_FN auto value(auto c, auto i, auto f, auto /*o*/, auto g) const {
    return rule::each(i * g + f * c);
  }
  DYNET_DEVICE_FN auto pull(auto c, auto i, auto f, auto /*o*/, auto g, auto /*y*/, auto dy) const {
    return rule::each(dy * f, dy * g, dy * c, 0.0, dy * i);
  }
  static std::vector<ext::Example<VanillaLstmC>> examples() {
    return {{{}, {{3}, {12}}},   {{}, {{7}, {28}}},  {{}, {{1}, {4}}}, {{}, {{17}, {68}}},
            {{}, {{33}, {132}}}, {{}, {{16}, {64}}}, {{}, {{0}, {0}}}, {{}, {{2}, {8}}}};
  }
};

struct VanillaLstmH {
  static constexpr ext::Info kInfo{
      .name = "vanilla_lstm_h",
      .args = {"c_t", "gates_t"},
      .formula = "[i; f; o; g] = gates; y = o * tanh(c)",
      .summary = "Hidden state of an LSTM from its cell and the gates.",
      .shapes = "{h}, {4h} -> {h}",
      .errors = "ShapeError unless c is {h} and the gates are {4h}"};
  static constexpr std::array kParts{1, 4};
  static constexpr std::array kOutParts{1};
  Dim shape(const ext::Shapes& in) const {
    if (in[0].nd != 1 || !is_vector(in[1], ext::Count(4) * in[0].d[0])) {
      in.fail("c_t {h} and gates_t {4h}");
    }
    return in[0];
  }
  DYNET_DEVICE_FN auto value(auto c, auto /*i*/, auto /*f*/, auto o, auto /*g*/) const {
    using rule::tanh;
    return rule::each(o * tanh(c));
  }
  DYNET_DEVICE_FN auto pull(auto c, auto /*i*/, auto /*f*/, auto o, auto /*g*/, auto /*y*/,
                            auto dy) const {
    using rule::tanh;
    const auto t = tanh(c);
    return rule::each(dy * o * tanh_slope(t), 0.0, 0.0, dy * t, 0.0);
  }
  static std::vector<ext::Example<VanillaLstmH>> examples() {
    return {{{}, {{3}, {12}}},   {{}, {{7}, {28}}},  {{}, {{1}, {4}}}, {{}, {{17}, {68}}},
            {{}, {{33}, {132}}}, {{}, {{16}, {64}}}, {{}, {{0}, {0}}}, {{}, {{2}, {8}}}};
  }
};

/// The cell of a coupled LSTM, and its gates behind the nonlinearities.
DYNET_DEVICE_FN auto coupled_lstm_value(auto i, auto g, auto c) {
  const auto i_ = rule::logistic(i);
  const auto g_ = rule::tanh(g);
  return rule::each(i_ * g_ + (1.0 - i_) * c, i_, g_);
}
/// Gradients of i, g and c from the gradient of the new cell.
DYNET_DEVICE_FN auto coupled_lstm_pull(auto c, auto i_, auto g_, auto dc_new) {
  return rule::each(dc_new * (g_ - c) * logistic_slope(i_), dc_new * i_ * tanh_slope(g_),
                    dc_new * (1.0 - i_));
}

struct CoupledLstmCell {
  static constexpr ext::Info kInfo{
      .name = "coupled_lstm_cell",
      .args = {"i", "g", "o", "c"},
      .formula = "c' = logistic(i) * tanh(g) + (1 - logistic(i)) * c; h = logistic(o) * tanh(c')",
      .summary =
          "One step of an LSTM whose forget gate is 1 - input gate, from the pre-activations i, g "
          "and o and the previous cell c: the new cell and the hidden state. In the first step c "
          "may be absent, which counts as zeros.",
      .shapes = "{h}, {h}, {h}, {h} -> {h}, {h}",
      .errors = "ShapeError if the shapes differ",
      .source = "Greff et al., 2015"};
  static constexpr unsigned kOutputs = 2;
  static constexpr unsigned kSaved = 1;
  static constexpr std::array kOptional{0, 0, 0, 1};
  static constexpr std::array kParts{1, 1, 1, 1};
  static constexpr std::array kOutParts{1, 1};
  static constexpr std::array kSavedParts{3};
  std::array<Dim, 2> shapes(const ext::Shapes& in) const {
    const unsigned h = equal_vectors(in, "i, g, o and c {h}");
    return {Dim({h}), Dim({h})};
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const {
    return {Dim({in.extent(ext::Count(3) * in[0].d[0])})};
  }
  DYNET_DEVICE_FN auto value(auto i, auto g, auto o, auto c) const {
    const auto [c_new, i_, g_] = coupled_lstm_value(i, g, c);
    const auto o_ = rule::logistic(o);
    return rule::each(c_new, o_ * rule::tanh(c_new), i_, g_, o_);
  }
  DYNET_DEVICE_FN auto pull(auto... x) const {
    const auto [i, g, o, c, c_new, h, i_, g_, o_, dc_new, dh] = rule::each(x...);
    const auto t = rule::tanh(c_new);
    const auto [di, dg, dc] = coupled_lstm_pull(c, i_, g_, dc_new + dh * o_ * tanh_slope(t));
    return rule::each(di, dg, dh * t * logistic_slope(o_), dc);
  }
  static std::vector<ext::Example<CoupledLstmCell>> examples() {
    const Dim none = ext::absent();
    return {{{}, {{3}, {3}, {3}, {3}}},  {{}, {{7}, {7}, {7}, {7}}},
            {{}, {{1}, {1}, {1}, {1}}},  {{}, {{3}, {3}, {3}, none}},
            {{}, {{7}, {7}, {7}, none}}, {{}, {{17}, {17}, {17}, {17}}},
            {{}, {{1}, {1}, {1}, none}}, {{}, {{0}, {0}, {0}, {0}}}};
  }
};

/// A coupled LSTM with peepholes needs two nodes: its output gate looks at the new cell through a
/// matrix.
struct CoupledLstmC {
  static constexpr ext::Info kInfo{
      .name = "coupled_lstm_c",
      .args = {"i", "g", "c"},
      .formula = "y = logistic(i) * tanh(g) + (1 - logistic(i)) * c",
      .summary =
          "New cell of an LSTM whose forget gate is 1 - input gate, from the pre-activations i "
          "and g and the previous cell c. In the first step c may be absent, which counts as "
          "zeros.",
      .shapes = "{h}, {h}, {h} -> {h}",
      .errors = "ShapeError if the shapes differ",
      .source = "Greff et al., 2015"};
  static constexpr unsigned kSaved = 1;
  static constexpr std::array kOptional{0, 0, 1};
  static constexpr std::array kParts{1, 1, 1};
  static constexpr std::array kOutParts{1};
  static constexpr std::array kSavedParts{2};
  Dim shape(const ext::Shapes& in) const { return {equal_vectors(in, "i, g and c {h}")}; }
  std::array<Dim, 1> saved(const ext::Shapes& in) const {
    return {Dim({in.extent(ext::Count(2) * in[0].d[0])})};
  }
  DYNET_DEVICE_FN auto value(auto i, auto g, auto c) const { return coupled_lstm_value(i, g, c); }
  DYNET_DEVICE_FN auto pull(auto /*i*/, auto /*g*/, auto c, auto /*y*/, auto i_, auto g_,
                            auto dy) const {
    return coupled_lstm_pull(c, i_, g_, dy);
  }
  static std::vector<ext::Example<CoupledLstmC>> examples() {
    return {{{}, {{3}, {3}, {3}}},           {{}, {{7}, {7}, {7}}},
            {{}, {{1}, {1}, {1}}},           {{}, {{3}, {3}, ext::absent()}},
            {{}, {{7}, {7}, ext::absent()}}, {{}, {{17}, {17}, {17}}},
            {{}, {{1}, {1}, ext::absent()}}, {{}, {{0}, {0}, {0}}}};
  }
};

struct CoupledLstmH {
  static constexpr ext::Info kInfo{.name = "coupled_lstm_h",
                                   .args = {"o", "c"},
                                   .formula = "y = logistic(o) * tanh(c)",
                                   .summary =
                                       "Hidden state of a coupled LSTM, from the pre-activation o "
                                       "of the output gate and the new cell.",
                                   .shapes = "{h}, {h} -> {h}",
                                   .errors = "ShapeError if the shapes differ"};
  static constexpr unsigned kSaved = 1;
  static constexpr std::array kParts{1, 1};
  static constexpr std::array kOutParts{1};
  static constexpr std::array kSavedParts{2};
  Dim shape(const ext::Shapes& in) const { return {equal_vectors(in, "o and c {h}")}; }
  std::array<Dim, 1> saved(const ext::Shapes& in) const {
    return {Dim({in.extent(ext::Count(2) * in[0].d[0])})};
  }
  DYNET_DEVICE_FN auto value(auto o, auto c) const {
    using rule::logistic, rule::tanh;
    const auto o_ = logistic(o);
    const auto t = tanh(c);
    return rule::each(o_ * t, o_, t);
  }
  DYNET_DEVICE_FN auto pull(auto /*o*/, auto /*c*/, auto /*y*/, auto o_, auto t, auto dy) const {
    return rule::each(dy * t * logistic_slope(o_), dy * o_ * tanh_slope(t));
  }
  static std::vector<ext::Example<CoupledLstmH>> examples() {
    return {{{}, {{3}, {3}}},   {{}, {{7}, {7}}},   {{}, {{1}, {1}}}, {{}, {{17}, {17}}},
            {{}, {{33}, {33}}}, {{}, {{16}, {16}}}, {{}, {{0}, {0}}}, {{}, {{2}, {2}}}};
  }
};

struct GatedSum {
  static constexpr ext::Info kInfo{
      .name = "gated_sum",
      .args = {"a", "x", "b", "y"},
      .formula = "z = logistic(a) * x + logistic(b) * y",
      .summary =
          "Sum of two vectors behind gates with the pre-activations a and b; the first vector "
          "alone if b and y are absent. Examples are the reset gate of a gated recurrent unit and "
          "the forget gates over the cells of a tree's nodes.",
      .shapes = "{h}, {h}, {h}, {h} -> {h}",
      .errors = "ShapeError if the shapes differ, or one of b and y is absent"};
  static constexpr unsigned kSaved = 1;
  static constexpr std::array kOptional{0, 0, 1, 1};
  static constexpr std::array kParts{1, 1, 1, 1};
  static constexpr std::array kOutParts{1};
  static constexpr std::array kSavedParts{2};
  Dim shape(const ext::Shapes& in) const { return {equal_vectors(in, "a, x, b and y {h}")}; }
  std::array<Dim, 1> saved(const ext::Shapes& in) const {
    return {Dim({in.extent(ext::Count(in.has(2) ? 2 : 1) * in[0].d[0])})};
  }
  DYNET_DEVICE_FN auto value(auto a, auto x, auto b, auto y) const {
    const auto a_ = rule::logistic(a);
    const auto b_ = rule::logistic(b);
    return rule::each(a_ * x + b_ * y, a_, b_);
  }
  DYNET_DEVICE_FN auto pull(auto /*a*/, auto x, auto /*b*/, auto y, auto /*z*/, auto a_, auto b_,
                            auto dz) const {
    return rule::each(dz * x * logistic_slope(a_), dz * a_, dz * y * logistic_slope(b_), dz * b_);
  }
  static std::vector<ext::Example<GatedSum>> examples() {
    const Dim none = ext::absent();
    return {{{}, {{3}, {3}, {3}, {3}}},   {{}, {{7}, {7}, {7}, {7}}},
            {{}, {{1}, {1}, {1}, {1}}},   {{}, {{3}, {3}, none, none}},
            {{}, {{7}, {7}, none, none}}, {{}, {{17}, {17}, {17}, {17}}},
            {{}, {{1}, {1}, none, none}}, {{}, {{0}, {0}, {0}, {0}}}};
  }
};

/// A node of a tree LSTM: c = i * u + f1 * c1 + f2 * c2 + s, h = o * tanh(c).
DYNET_DEVICE_FN auto tree_lstm_value(auto i, auto o, auto u, auto f1, auto f2, auto c1, auto c2,
                                     auto s) {
  using rule::logistic, rule::tanh;
  const auto i_ = logistic(i);
  const auto o_ = logistic(o);
  const auto u_ = tanh(u);
  const auto f1_ = logistic(f1);
  const auto f2_ = logistic(f2);
  const auto c = i_ * u_ + f1_ * c1 + f2_ * c2 + s;
  return rule::each(c, o_ * tanh(c), i_, o_, u_, f1_, f2_);
}
/// Gradients of i, o, u, f1, f2, c1, c2 and s.
DYNET_DEVICE_FN auto tree_lstm_pull(auto... x) {
  const auto [c1, c2, c, i_, o_, u_, f1_, f2_, dc_out, dh] = rule::each(x...);
  using rule::tanh;
  const auto t = tanh(c);
  const auto dc = dc_out + dh * o_ * tanh_slope(t);
  return rule::each(dc * u_ * logistic_slope(i_), dh * t * logistic_slope(o_),
                    dc * i_ * tanh_slope(u_), dc * c1 * logistic_slope(f1_),
                    dc * c2 * logistic_slope(f2_), dc * f1_, dc * f2_, dc);
}

struct TreeLstmCell {
  static constexpr ext::Info kInfo{
      .name = "tree_lstm_cell",
      .args = {"a", "f1", "f2", "c1", "c2"},
      .formula =
          "[i; o; u] = a; c = logistic(i) * tanh(u) + logistic(f1) * c1 + logistic(f2) * c2; "
          "h = logistic(o) * tanh(c)",
      .summary =
          "Node of a binary tree LSTM over two nodes, from its pre-activations and their "
          "cells: cell and hidden state. A node over a word has neither: f1, f2, c1 and c2 are "
          "absent.",
      .shapes = "{3h}, {h}, {h}, {h}, {h} -> {h}, {h}",
      .errors = "ShapeError unless a is {3h} and the others are {h}, or all four absent",
      .source = "Tai et al., 2015"};
  static constexpr unsigned kOutputs = 2;
  static constexpr unsigned kSaved = 1;
  static constexpr std::array kOptional{0, 1, 1, 1, 1};
  static constexpr std::array kParts{3, 1, 1, 1, 1};
  static constexpr std::array kOutParts{1, 1};
  static constexpr std::array kSavedParts{5};
  std::array<Dim, 2> shapes(const ext::Shapes& in) const {
    const char* wanted = "a {3h} and f1, f2, c1, c2 {h}";
    const unsigned h = piece(in, 3, wanted);
    for (std::size_t k = 1; k < in.size(); ++k) {
      if (in.has(k) && !is_vector(in[k], h)) {
        in.fail(wanted);
      }
    }
    return {Dim({h}), Dim({h})};
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const {
    return {Dim({in.extent(ext::Count(in.has(1) ? 5 : 3) * (in[0].d[0] / 3))})};
  }
  DYNET_DEVICE_FN auto value(auto i, auto o, auto u, auto f1, auto f2, auto c1, auto c2) const {
    return tree_lstm_value(i, o, u, f1, f2, c1, c2, rule::Absent{});
  }
  DYNET_DEVICE_FN auto pull(auto... x) const {
    const auto [i, o, u, f1, f2, c1, c2, c, h, i_, o_, u_, f1_, f2_, dc_out, dh] = rule::each(x...);
    const auto [di, d_o, du, df1, df2, dc1, dc2, ds] =
        tree_lstm_pull(c1, c2, c, i_, o_, u_, f1_, f2_, dc_out, dh);
    return rule::each(di, d_o, du, df1, df2, dc1, dc2);
  }
  static std::vector<ext::Example<TreeLstmCell>> examples() {
    return {{{}, {{9}, {3}, {3}, {3}, {3}}},
            {{}, {{21}, {7}, {7}, {7}, {7}}},
            {{}, {{3}, {1}, {1}, {1}, {1}}},
            leaf(9),
            leaf(21),
            leaf(3),
            {{}, {{51}, {17}, {17}, {17}, {17}}},
            {{}, {{0}, {0}, {0}, {0}, {0}}}};
  }

 private:
  static ext::Example<TreeLstmCell> leaf(unsigned rows) {
    return {{}, {{rows}, ext::absent(), ext::absent(), ext::absent(), ext::absent()}};
  }
};

/// The same from gates that are nodes of their own, for builders with a matrix for each.
struct TreeLstmStep {
  static constexpr ext::Info kInfo{
      .name = "tree_lstm_step",
      .args = {"i", "o", "u", "f1", "f2", "c1", "c2", "s"},
      .formula =
          "c = logistic(i) * tanh(u) + logistic(f1) * c1 + logistic(f2) * c2 + s; "
          "h = logistic(o) * tanh(c)",
      .summary =
          "Node of a tree LSTM over any number of nodes, from its pre-activations: cell and hidden "
          "state. The cells of two nodes are c1 and c2; s is the sum of the cells of other nodes "
          "behind their gates, a gated_sum. f1, f2, c1 and c2 may be absent together, and so may "
          "s.",
      .shapes = "{h}, {h}, {h}, {h}, {h}, {h}, {h}, {h} -> {h}, {h}",
      .errors =
          "ShapeError if the shapes differ, or some but not all of f1, f2, c1 and c2 are absent",
      .source = "Tai et al., 2015"};
  static constexpr unsigned kOutputs = 2;
  static constexpr unsigned kSaved = 1;
  static constexpr std::array kOptional{0, 0, 0, 1, 1, 1, 1, 2};
  static constexpr std::array kParts{1, 1, 1, 1, 1, 1, 1, 1};
  static constexpr std::array kOutParts{1, 1};
  static constexpr std::array kSavedParts{5};
  std::array<Dim, 2> shapes(const ext::Shapes& in) const {
    const unsigned h = equal_vectors(in, "vectors {h}");
    return {Dim({h}), Dim({h})};
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const {
    return {Dim({in.extent(ext::Count(in.has(3) ? 5 : 3) * in[0].d[0])})};
  }
  DYNET_DEVICE_FN auto value(auto i, auto o, auto u, auto f1, auto f2, auto c1, auto c2,
                             auto s) const {
    return tree_lstm_value(i, o, u, f1, f2, c1, c2, s);
  }
  DYNET_DEVICE_FN auto pull(auto... x) const {
    const auto [i, o, u, f1, f2, c1, c2, s, c, h, i_, o_, u_, f1_, f2_, dc_out, dh] =
        rule::each(x...);
    return tree_lstm_pull(c1, c2, c, i_, o_, u_, f1_, f2_, dc_out, dh);
  }
  static std::vector<ext::Example<TreeLstmStep>> examples() {
    return {over(3, 2, false), over(7, 2, true),   over(3, 0, false), over(3, 0, true),
            over(1, 2, true),  over(17, 2, false), over(1, 0, false), over(0, 2, true)};
  }

 private:
  /// Over `nodes` nodes of size h, and with `further` more.
  static ext::Example<TreeLstmStep> over(unsigned h, unsigned nodes, bool further) {
    const Dim given{h};
    const Dim pair = nodes == 2 ? given : ext::absent();
    return {{}, {given, given, given, pair, pair, pair, pair, further ? given : ext::absent()}};
  }
};

using RecurrentOps = ext::OpList<LstmCell, LstmGates, VanillaLstmC, VanillaLstmH, CoupledLstmCell,
                                 CoupledLstmC, CoupledLstmH, GatedSum, TreeLstmCell, TreeLstmStep>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::RecurrentOps)
