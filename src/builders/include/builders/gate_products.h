#pragma once

// The gates of one cell before their nonlinearities, in one node.
//
// A builder whose parameters are a matrix per gate would add an affine transformation for each
// gate, and pay the price of a node for each. Steps of sequences are whole cells in one node
// (cells.h). GateProducts is for the other cases: nodes of trees, first steps, which have no state,
// and gates that look at masked cells. Each gate has a result, a sum of products with the same
// vectors:
//
//   y_g = b_g + w_1g x_1 + w_2g x_2 + ...      list: b_1, b_2, w_11, w_12, x_1, w_21, w_22, x_2
//
// A gate without a product with some x has, in place of the matrix, a vector that is not read: its
// own bias, because the bias is in the graph anyway.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "dynet/expr.h"
#include "dynet/ext/op.h"

#include "builders/gate_terms.h"
#include "builders/give.h"

namespace dynet::builders {

template <unsigned kGates>
struct GateProducts {
  static_assert(kGates >= 2 && kGates <= 4);
  static constexpr ext::Info kInfo{
      .name = kGates == 2   ? "two_gate_products"
              : kGates == 3 ? "three_gate_products"
                            : "four_gate_products",
      .args = {"exprs", "..."},
      .formula = "y_g = b_g + w_1g x_1 + w_2g x_2 + ...",
      .summary =
          "Gates of a cell before their nonlinearities: sums of products with the same vectors. A "
          "vector in place of a matrix stands for no product.",
      .shapes =
          "{h} for each gate, then {h,k} for each gate and {k} or {k,1}, ... -> {h} for each gate",
      .errors = "ShapeError for other numbers of arguments, or shapes that do not fit"};
  static constexpr bool kVariadic = true;
  static constexpr unsigned kOutputs = kGates;
  static constexpr std::array kRoles{ext::Role::kEither};
  static constexpr unsigned kTermArgs = kGates + 1;

  std::array<Dim, kGates> shapes(const ext::Shapes& in) const {
    bool fits = in.size() % kTermArgs == kGates;
    const unsigned rows = in[0].rows();
    for (std::size_t i = 0; fits && i < kGates; ++i) {
      fits = in[i].nd == 1 && in[i].rows() == rows;
    }
    for (std::size_t i = kGates; fits && i < in.size(); i += kTermArgs) {
      const Dim& x = in[i + kGates];
      for (std::size_t g = 0; fits && g < kGates; ++g) {
        const Dim& w = in[i + g];
        fits = w.nd == 1 || (w.nd == 2 && w.rows() == rows && w.cols() == x.rows());
      }
      fits = fits && x.nd <= 2 && x.cols() == 1;
    }
    if (!fits) {
      in.fail("biases {h}, then terms of a matrix {h,k} for each gate and a vector {k} or {k,1}");
    }
    std::array<Dim, kGates> all;
    all.fill(Dim({rows}));
    return all;
  }
  void forward(ext::Call& call) const {
    const std::size_t head = call.has_heads() ? kGates : 0;
    GateSums<kGates, kMostTerms> sums(call, call.out, head == 0);
    for (std::size_t i = head; i < call.in.size(); i += kTermArgs) {
      sums.add({i, kGates});
    }
    sums.finish();
  }
  /// Beside gradient(to): the gradients of all x are one list.
  void backward(ext::Call& call) const {
    const std::size_t head = call.has_heads() ? kGates : 0;
    for (std::size_t g = 0; g < head; ++g) {
      if (call.d_out[g].absent()) {
        give_nothing(call, g);
      } else {
        give_gradient(call, g, call.d_out[g]);
      }
    }
    GateGradients<kGates, kMostTerms> gradients(call, call.d_out);
    for (std::size_t i = head; i < call.in.size(); i += kTermArgs) {
      gradients.add({i, kGates}, call.d_in[i + kGates]);
    }
    gradients.finish();
  }
  void gradient(auto& to) const {
    std::array<ext::GradientBuilder::Node, kGates> dy;
    for (std::size_t g = 0; g < kGates; ++g) {
      dy[g] = to.d_out(g);
      to.give(g, dy[g]);
    }
    for (std::size_t i = kGates; i < to.args(); i += kTermArgs) {
      give_term<kGates>(to, i, dy);
    }
  }
  static std::vector<ext::Example<GateProducts>> examples() {
    if constexpr (kGates == 2) {
      return {{{}, {{4}, {4}}},
              {{}, {{4}, {4}, {4, 3}, {4, 3}, {3}}},
              {{}, {{4}, {4}, {4, 3}, {4, 3}, {3}, {4, 5}, {1}, {5}}},
              {{}, {{17}, {17}, {17, 2}, {17, 2}, {2}, {17, 1}, {17, 1}, {1}}},
              {{}, {{4}, {4}, {4, 3}, {4, 3}, {3, 1}, {4, 5}, {1}, {5, 1}}},
              {{}, {{1}, {1}, {1}, {1, 1}, {1}}}};
    } else if constexpr (kGates == 3) {
      return {{{}, {{4}, {4}, {4}}},
              {{}, {{5}, {5}, {5}, {5, 2}, {5, 2}, {5, 2}, {2}}},
              {{}, {{4}, {4}, {4}, {4, 3}, {4, 3}, {4, 3}, {3}, {2}, {4, 5}, {1}, {5}}}};
    } else {
      const Dim b{4};
      const Dim w{4, 3};
      return {{{}, {b, b, b, b}},
              {{}, {b, b, b, b, w, w, w, w, {3}}},
              {{}, {b, b, b, b, w, w, w, w, {3}, {4, 5}, b, {4, 5}, b, {5}}}};
    }
  }

 private:
  static constexpr std::size_t kMostTerms = 8;  ///< of a list: x, and two vectors of three children
};

/// The node of GateProducts over the list: an expression for each gate. An empty expression stands
/// for the missing matrix of a gate, and is overwritten with the gate's bias.
template <unsigned kGates>
std::array<Expression, kGates> gate_products(std::span<Expression> list, Where where);
extern template std::array<Expression, 2> gate_products<2>(std::span<Expression>, Where);
extern template std::array<Expression, 3> gate_products<3>(std::span<Expression>, Where);
extern template std::array<Expression, 4> gate_products<4>(std::span<Expression>, Where);

}  // namespace dynet::builders
