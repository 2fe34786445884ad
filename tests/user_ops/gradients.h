#pragma once

// Operations outside the tree whose gradients are written once, in gradient(to): backward is its
// run (ext/gradient_run.h), gradients of gradients are its nodes.

#include "dynet/ext/op.h"
#include "dynet/ops/arithmetic.h"

namespace user {

using dynet::Dim;
namespace ext = dynet::ext;

/// y = x transpose(x): both terms of the gradient are products.
struct Gram {
  static constexpr ext::Info kInfo{
      .name = "user_gram", .args = {"x"}, .formula = "y = x transpose(x)"};
  Dim shape(const ext::Shapes& in) const {
    if (in[0].nd != 2) {
      in.fail("a matrix");
    }
    return {in[0][0], in[0][0]};
  }
  void forward(ext::Call& call) const {
    call.kernels.product(call.in[0], ext::Transposed::kNo, call.in[0], ext::Transposed::kYes,
                         call.out[0]);
  }
  void gradient(auto& to) const {
    to.give(0, to.product(to.d_out(), to.in(0)));
    to.give(0, to.product(to.transposed(to.d_out()), to.in(0)));
  }
  static std::vector<ext::Example<Gram>> examples() {
    return {{{}, {{4, 3}}}, {{}, {{2, 5}}}, {{}, {{1, 1}}}};
  }
};

/// y = x - mean(x) over each column: a term has to be repeated.
struct Centred {
  static constexpr ext::Info kInfo{
      .name = "user_centred", .args = {"x"}, .formula = "y_ij = x_ij - sum_k x_kj / n, n rows"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  void forward(ext::Call& call) const {
    const Dim& x = call.in[0].dim;
    call.kernels.move(ext::whole_move(call.in[0].size()), call.in[0], call.out[0]);
    ext::Move m;  // every element of a column is taken from every element of it
    m.box = Dim({x[0], x[0], x[1]});
    m.from_stride[0] = 1;
    m.from_stride[2] = x[0];
    m.to_stride[1] = 1;
    m.to_stride[2] = x[0];
    m.scale = -1.0 / x[0];
    call.kernels.move(m, call.in[0], call.out[0], ext::Write::kAdd);
  }
  void gradient(auto& to) const {
    const auto sums = to.summed_along(to.d_out(), 0);
    to.give(0, to.d_out());
    to.give(0, to.scaled(sums, -1.0 / to.dim(to.in(0))[0]));
  }
  static std::vector<ext::Example<Centred>> examples() {
    return {{{}, {{4, 3}}}, {{}, {{5}}}, {{}, {{1, 2}}}};
  }
};

/// y = x / 2 by a forward that stores, whatever the blocks say: a gradient that ends in it goes
/// through scratch memory if it has to be added.
struct Halved {
  static constexpr ext::Info kInfo{.name = "user_halved", .args = {"x"}, .formula = "y = x / 2"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  void forward(ext::Call& call) const {
    call.kernels.move(ext::whole_move(call.in[0].size(), 0.5), call.in[0], call.out[0],
                      ext::Write::kStore);
  }
  void gradient(auto& to) const { to.give(0, to.add(Halved{}, to.d_out())); }
  static std::vector<ext::Example<Halved>> examples() { return {{{}, {{4, 3}}}, {{}, {{1}}}}; }
};

/// z = x * transpose(y), element by element: operands that are computed, and turned.
struct Crossed {
  static constexpr ext::Info kInfo{
      .name = "user_crossed", .args = {"x", "y"}, .formula = "z_ij = x_ij y_ji"};
  Dim shape(const ext::Shapes& in) const {
    if (in[0].nd != 2 || in[1].nd != 2 || in[0][0] != in[1][1] || in[0][1] != in[1][0]) {
      in.fail("x {m,n} and y {n,m}");
    }
    return in[0];
  }
  void forward(ext::Call& call) const {
    const Dim& y = call.in[1].dim;
    const std::int64_t bytes =
        call.in[1].examples * call.in[1].size() * ext::bytes_of(call.kernels.number());
    const ext::Block block{call.scratch(bytes), call.in[1].examples, true};
    const ext::Operand turned{
        .dim = call.in[0].dim, .examples = call.in[1].examples, .blocks = &block, .block_count = 1};
    ext::Move m;
    m.box = turned.dim;
    m.from_stride[0] = y[0];
    m.from_stride[1] = 1;
    ext::strides_of(turned.dim, m.to_stride);
    call.kernels.move(m, call.in[1], turned);
    ext::apply_rule(dynet::ops::CMult{}, call, call.out[0], call.in[0], turned);
  }
  void gradient(auto& to) const {
    to.give(0, to.add(dynet::ops::CMult{}, to.d_out(), to.transposed(to.in(1))));
    to.give(1, to.transposed(to.add(dynet::ops::CMult{}, to.d_out(), to.in(0))));
  }
  static std::vector<ext::Example<Crossed>> examples() {
    return {{{}, {{4, 3}, {3, 4}}}, {{}, {{1, 2}, {2, 1}}}, {{}, {{3, 3}, {3, 3}}}};
  }
};

/// Twice the sum of a list, with two intermediate results for the gradient of each argument.
struct Doubled {
  static constexpr ext::Info kInfo{.name = "user_doubled", .args = {"xs"}};
  static constexpr bool kVariadic = true;
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  void forward(ext::Call& call) const {
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      call.kernels.move(ext::whole_move(call.in[i].size(), 2.0), call.in[i], call.out[0],
                        i == 0 ? ext::Write::kStore : ext::Write::kAdd);
    }
  }
  void gradient(auto& to) const {
    for (std::size_t i = 0; i < to.args(); ++i) {
      const auto four = to.constant(Dim({1}), 4.0);
      to.give(i, to.add(dynet::ops::CMult{}, to.scaled(to.d_out(), 0.5), four));
    }
  }
  static std::vector<ext::Example<Doubled>> examples() { return {{{}, {{3}, {3}}}}; }
};

/// The sum of a list, whose gradients are given in the wrong order.
struct Backwards {
  static constexpr ext::Info kInfo{.name = "user_backwards", .args = {"xs"}};
  static constexpr bool kVariadic = true;
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  void forward(ext::Call& call) const {
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      call.kernels.move(ext::whole_move(call.in[i].size()), call.in[i], call.out[0],
                        i == 0 ? ext::Write::kStore : ext::Write::kAdd);
    }
  }
  void gradient(auto& to) const {
    for (std::size_t i = to.args(); i-- > 0;) {
      to.give(i, to.d_out());
    }
  }
  static std::vector<ext::Example<Backwards>> examples() { return {{{}, {{3}, {3}}}}; }
};

}  // namespace user
