#pragma once

// Products of matrices, inner products and norms.
//
// Weights stand on the left of a product: the gradient of the left operand goes through
// ext::weight_gradient, which may leave the product for the end of the backward pass.

#include <array>

#include "dynet/ops/common.h"

namespace dynet::ops {

struct MatMul {
  static constexpr ext::Info kInfo{
      .name = "matmul",
      .args = {"x", "y"},
      .formula = "z = x y",
      .summary = "Matrix product. A vector on the left counts as one column.",
      .shapes = "{m,k}, {k,n} -> {m,n}; {m,k}, {k} -> {m}",
      .errors =
          "ShapeError for more than two dimensions, or if the columns of x are not the rows of y",
      .cpp = "operator*",
      .python = "__mul__"};
  static constexpr std::array kRoles{ext::Role::kEither, ext::Role::kEither};
  Dim shape(const ext::Shapes& in) const {
    if (in[0].nd > 2 || in[1].nd > 2 || in[0].cols() != in[1].rows()) {
      in.fail("x {m,k} and y {k,n}");
    }
    Dim r = in[1];
    r.d[0] = in[0].rows();
    return r;
  }
  [[nodiscard]] bool by_columns(std::size_t arg, const Dim& /*x*/) const { return arg == 1; }
  void forward(ext::Call& call) const {
    using ext::Transposed;
    call.kernels.product(call.in[0], Transposed::kNo, call.in[1], Transposed::kNo, call.out[0]);
  }
  void gradient(auto& to) const {
    to.give_weight(0, to.d_out(), to.in(1));
    if (to.wants(1)) {
      to.give(1, to.product(to.transposed(to.in(0)), to.d_out()));
    }
  }
  static std::vector<ext::Example<MatMul>> examples() {
    return {{{}, {{4, 3}, {3}}},    {{}, {{4, 3}, {3, 5}}},  {{}, {{7}, {1, 5}}},
            {{}, {{1, 6}, {6}}},    {{}, {{3, 1}, {1}}},     {{}, {{1, 1}, {1, 1}}},
            {{}, {{3, 0}, {0, 2}}}, {{}, {{17, 2}, {2, 18}}}};
  }
};

struct AffineTransform {
  static constexpr ext::Info kInfo{
      .name = "affine_transform",
      .args = {"exprs", "b", "w", "x", "..."},
      .formula = "y = b + w1 x1 + w2 x2 + ...",
      .summary =
          "Sum of products plus a bias, given as the list b, w1, x1, w2, x2, ... A bias of "
          "one column is repeated over the columns and the batch. With one argument the result is "
          "its value.",
      .shapes = "{m} or {m,n}, {m,k}, {k,n}, ... -> {m,n}, or {m} if n is 1",
      .errors = "ShapeError for an even number of arguments, or shapes that do not fit"};
  static constexpr bool kVariadic = true;
  static constexpr std::array kRoles{ext::Role::kEither};
  static constexpr unsigned kTermArgs = 2;
  Dim shape(const ext::Shapes& in) const {
    const char* wanted =
        "b {m} or {m,n} and an odd number of arguments, each w {m,k} before its x {k} or {k,n}";
    if (in.size() % 2 == 0) {
      in.fail(wanted);
    }
    if (in.size() == 1) {
      return in[0];
    }
    const unsigned rows = in[0].rows();
    const unsigned cols = in[2].cols();
    bool fits = in[0].nd <= 2 && (in[0].cols() == 1 || in[0].cols() == cols);
    for (std::size_t i = 1; i < in.size(); i += 2) {
      const Dim& w = in[i];
      const Dim& x = in[i + 1];
      fits = fits && w.nd <= 2 && x.nd <= 2 && w.rows() == rows && w.cols() == x.rows() &&
             x.cols() == cols;
    }
    if (!fits) {
      in.fail(wanted);
    }
    return cols == 1 ? Dim({rows}) : Dim({rows, cols});
  }
  [[nodiscard]] bool by_columns(std::size_t arg, const Dim& /*x*/) const { return arg % 2 == 0; }
  void forward(ext::Call& call) const {
    using ext::Transposed;
    const ext::Operand& y = call.out[0];
    std::size_t done = call.has_heads() ? 1 : 0;
    if (call.in.size() > 1 && done != 0 && call.in[0].size() == y.dim.rows()) {
      call.kernels.product_plus(call.in[0], call.in[1], call.in[2], y);
      done = 3;
    } else if (done != 0) {
      call.kernels.move(bias_move(call.in[0].dim, y.dim), call.in[0], y);
    }
    for (std::size_t i = done; i < call.in.size(); i += 2) {
      call.kernels.product(call.in[i], Transposed::kNo, call.in[i + 1], Transposed::kNo, y,
                           ext::Write::kAdd);
    }
  }
  void gradient(auto& to) const {
    const std::size_t head = to.args() % 2;
    if (head != 0) {
      to.give(0, to.d_out());
    }
    for (std::size_t i = head; i < to.args(); i += 2) {
      to.give_weight(i, to.d_out(), to.in(i + 1));
      if (to.wants(i + 1)) {
        to.give(i + 1, to.product(to.transposed(to.in(i)), to.d_out()));
      }
    }
  }
  static std::vector<ext::Example<AffineTransform>> examples() {
    return {{{}, {{4}, {4, 3}, {3}}},
            {{}, {{4}, {4, 3}, {3}, {4, 5}, {5}}},
            {{}, {{3}, {3, 2}, {2, 5}}},
            {{}, {{3, 5}, {3, 2}, {2, 5}}},
            {{}, {{3, 1}, {3, 7}, {7, 1}}},
            {{}, {{1}, {1, 1}, {1}}},
            {{}, {{4, 2}}},
            {{}, {{3}, {3, 2}, {2, 0}}},
            {{}, {{17}, {17, 3}, {3}, {17, 1}, {1}}}};
  }

 private:
  /// The bias to the result's shape.
  static ext::Move bias_move(const Dim& bias, const Dim& result) {
    if (bias.elements() == result.elements()) {
      return ext::whole_move(bias.elements());
    }
    ext::Move m;
    m.box = result;
    ext::strides_of(result, m.to_stride);
    m.from_stride[0] = 1;
    return m;
  }
};

struct Transpose {
  ext::List<unsigned, DYNET_MAX_TENSOR_DIM> dims{{1, 0}, 2};

  static constexpr ext::Info kInfo{
      .name = "transpose",
      .args = {"x"},
      .attrs = {"dims"},
      .formula = "dimension i of y is dimension dims[i] of x",
      .summary =
          "Permutes the dimensions; by default the transposed matrix. A vector becomes {1,n}.",
      .shapes = "{m,n} -> {n,m}, or by dims",
      .errors =
          "ShapeError unless dims is a permutation with one entry per dimension of x (or x has "
          "one dimension other than 1)"};
  static constexpr bool kForwardAdds = true;
  Dim shape(const ext::Shapes& in) const {
    const Dim& x = in[0];
    bool fits = dims.count > 0 && dims.count <= DYNET_MAX_TENSOR_DIM &&
                (dims.count == x.nd || x.num_nonone_dims() <= 1);
    unsigned seen = 0;
    Dim r;
    r.nd = dims.count;
    for (unsigned i = 0; fits && i < dims.count; ++i) {
      fits = dims[i] < dims.count && (seen >> dims[i] & 1U) == 0;
      seen |= fits ? 1U << dims[i] : 0U;
      if (fits) {
        r.d[i] = x[dims[i]];
      }
    }
    if (!fits || r.elements() != x.example_elements()) {
      in.fail("dims to be a permutation of the dimensions of x");
    }
    return r;
  }
  /// A vector's elements stay in their order.
  [[nodiscard]] bool by_columns(std::size_t /*arg*/, const Dim& x) const {
    return x.num_nonone_dims() <= 1;
  }
  void forward(ext::Call& call) const {
    call.kernels.move(permute(call.in[0].dim, call.out[0].dim), call.in[0], call.out[0]);
  }
  void gradient(auto& to) const {
    Transpose back{dims};
    for (unsigned i = 0; i < dims.count; ++i) {
      back.dims.items[dims[i]] = i;
    }
    to.give(0, to.add(back, to.d_out()));
  }
  static std::vector<ext::Example<Transpose>> examples() {
    return {{{}, {{4, 3}}},
            {{}, {{5}}},
            {{}, {{1, 7}}},
            {{{{2, 0, 1}, 3}}, {{2, 3, 4}}},
            {{{{0, 2, 1}, 3}}, {{3, 1, 2}}},
            {{}, {{1}}},
            {{}, {{0, 3}}},
            {{{{3, 1, 0, 2}, 4}}, {{2, 1, 3, 2}}},
            {{{{6, 0, 3, 2, 1, 5, 4}, 7}}, {{1, 2, 1, 2, 1, 1, 3}}}};
  }

 private:
  [[nodiscard]] ext::Move permute(const Dim& x, const Dim& y) const {
    std::int64_t stride[DYNET_MAX_TENSOR_DIM];
    ext::strides_of(x, stride);
    ext::Move m;
    m.box = y;
    ext::strides_of(y, m.to_stride);
    for (unsigned i = 0; i < dims.count; ++i) {
      m.from_stride[i] = stride[dims[i]];
    }
    return m;
  }
};

struct DotProduct {
  static constexpr ext::Info kInfo{.name = "dot_product",
                                   .args = {"x", "y"},
                                   .formula = "z = sum_i x_i * y_i",
                                   .summary = "Sum of the products of the elements.",
                                   .shapes = "two equal shapes -> {1}",
                                   .errors = "ShapeError if the shapes differ"};
  static constexpr bool kSummed = true;
  Dim shape(const ext::Shapes& in) const {
    same_shape(in);
    return {1};
  }
  DYNET_DEVICE_FN auto value(auto x, auto y) const { return x * y; }
  DYNET_DEVICE_FN auto slopes(auto x, auto y, auto /*z*/) const { return rule::each(y, x); }
  static std::vector<ext::Example<DotProduct>> examples() {
    return {{{}, {{7}, {7}}},       {{}, {{3, 2, 2}, {3, 2, 2}}},
            {{}, {{1}, {1}}},       {{}, {{4, 3}, {4, 3}}},
            {{}, {{17}, {17}}},     {{}, {{1, 1, 3}, {1, 1, 3}}},
            {{}, {{3, 0}, {3, 0}}}, {{}, {{1, 2, 1, 2, 1, 2, 2}, {1, 2, 1, 2, 1, 2, 2}}}};
  }
};

struct SquaredNorm {
  static constexpr ext::Info kInfo{.name = "squared_norm",
                                   .args = {"x"},
                                   .formula = "y = sum_i x_i^2",
                                   .summary = "Sum of the squares of the elements.",
                                   .shapes = "any -> {1}"};
  static constexpr bool kSummed = true;
  Dim shape(const ext::Shapes& /*in*/) const { return {1}; }
  DYNET_DEVICE_FN auto value(auto x) const { return x * x; }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const { return 2.0 * x; }
  static std::vector<ext::Example<SquaredNorm>> examples() {
    return {{{}, {{7}}},  {{}, {{3, 2, 2}}}, {{}, {{1}}},    {{}, {{4, 3}}},
            {{}, {{17}}}, {{}, {{1, 1, 3}}}, {{}, {{3, 0}}}, {{}, {{1, 2, 1, 2, 1, 2, 2}}}};
  }
};

struct SquaredDistance {
  static constexpr ext::Info kInfo{
      .name = "squared_distance",
      .args = {"x", "y"},
      .formula = "z = sum_i (x_i - y_i)^2",
      .summary = "Squared Euclidean distance.",
      .shapes = "two equal shapes, or two vectors of equal length -> {1}",
      .errors = "ShapeError if the shapes differ"};
  static constexpr bool kSummed = true;
  Dim shape(const ext::Shapes& in) const {
    const bool vectors =
        is_vector_like(in[0]) && is_vector_like(in[1]) && in[0].rows() == in[1].rows();
    if (!vectors) {
      same_shape(in);
    }
    return {1};
  }
  DYNET_DEVICE_FN auto value(auto x, auto y) const {
    const auto e = x - y;
    return e * e;
  }
  DYNET_DEVICE_FN auto slopes(auto x, auto y, auto /*z*/) const {
    return rule::each(2.0 * (x - y), 2.0 * (y - x));
  }
  static std::vector<ext::Example<SquaredDistance>> examples() {
    return {{{}, {{4, 3}, {4, 3}}},
            {{}, {{5}, {5, 1}}},
            {{}, {{1}, {1}}},
            {{}, {{17}, {17}}},
            {{}, {{1, 1, 3}, {1, 1, 3}}},
            {{}, {{1, 1}, {1}}},
            {{}, {{3, 0}, {3, 0}}},
            {{}, {{1, 2, 1, 2, 1, 2, 2}, {1, 2, 1, 2, 1, 2, 2}}}};
  }
};

using LinearOps =
    ext::OpList<MatMul, AffineTransform, Transpose, DotProduct, SquaredNorm, SquaredDistance>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::LinearOps)
