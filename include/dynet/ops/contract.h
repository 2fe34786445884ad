#pragma once

// Products of tensors of more than two dimensions.
//
// Both are products of matrices: operands are seen in another shape, as their numbers lie one after
// the other, and copied only if one matrix stands for several.

#include <algorithm>
#include <array>
#include <cstdint>

#include "dynet/ops/common.h"
#include "dynet/ops/parts.h"
#include "dynet/ops/select.h"

namespace dynet::ops {

struct Contract3d1d {
  static constexpr ext::Info kInfo{
      .name = "contract3d_1d",
      .args = {"x", "y", "b"},
      .formula = "z_ij = sum_k x_ijk y_k + b_ij",
      .summary =
          "Contracts the last dimension of x with a vector, and adds the bias if there is one. x "
          "may be a weight.",
      .shapes = "{i,j,k}, {k}, {i,j} -> {i,j}",
      .errors = "ShapeError for other shapes"};
  static constexpr std::array kRoles{ext::Role::kEither, ext::Role::kEither, ext::Role::kEither};
  static constexpr std::array kOptional{0, 0, 1};
  Dim shape(const ext::Shapes& in) const {
    const Dim& x = in[0];
    const Dim r({x[0], x[1]});
    if (x.nd != 3 || !is_vector_like(in[1]) || in[1].rows() != x[2] || (in.has(2) && in[2] != r)) {
      in.fail("x {i,j,k}, y {k}, and b {i,j}");
    }
    static_cast<void>(in.extent(ext::Count(x[0]) * x[1]));
    return r;
  }
  void forward(ext::Call& call) const {
    const Dim& x = call.in[0].dim;
    const ext::Operand& z = call.out[0];
    auto write = ext::Write::kAsBlocks;
    if (!call.in[2].absent()) {
      call.kernels.move(ext::whole_move(z.size()), call.in[2], z);
      write = ext::Write::kAdd;
    }
    call.kernels.product(seen_as(call.in[0], matrix(x)), ext::Transposed::kNo,
                         seen_as(call.in[1], {x[2]}), ext::Transposed::kNo, column(z), write);
  }
  void gradient(auto& to) const {
    Dim x = to.dim(to.in(0));
    const Dim y({x[2]}, to.dim(to.in(1)).bd);
    const Dim z({x[0] * x[1]}, to.dim(to.d_out()).bd);
    x = Dim({x[0] * x[1], x[2]}, x.bd);
    const auto dz = to.reshaped(to.d_out(), z);
    to.give_weight(0, dz, to.reshaped(to.in(1), y));
    if (to.wants(1)) {
      to.give(1, to.product(to.transposed(to.reshaped(to.in(0), x)), dz));
    }
    to.give(2, to.d_out());
  }
  static std::vector<ext::Example<Contract3d1d>> examples() {
    return {{{}, {{2, 3, 4}, {4}, {2, 3}}},    {{}, {{2, 3, 4}, {4}, ext::absent()}},
            {{}, {{3, 1, 2}, {2, 1}, {3, 1}}}, {{}, {{1, 4, 3}, {3}, ext::absent()}},
            {{}, {{2, 2, 1}, {1}, {2, 2}}},    {{}, {{1, 1, 1}, {1}, {1, 1}}},
            {{}, {{2, 0, 3}, {3}, {2, 0}}},    {{}, {{2, 3, 0}, {0}, ext::absent()}}};
  }

 private:
  static Dim matrix(const Dim& x) { return {x[0] * x[1], x[2]}; }
  static ext::Operand column(const ext::Operand& z) {
    return seen_as(z, {static_cast<unsigned>(z.size())});
  }
};

struct BatchMatmul {
  static constexpr ext::Info kInfo{
      .name = "batch_matmul",
      .args = {"x", "y"},
      .formula = "z[.., .., e] = x[.., .., e] y[.., .., e] for every e",
      .summary =
          "Products of matrices, one for each entry of the dimensions after the second. These "
          "broadcast: each is equal, or 1 or missing in one of the two. A vector counts as a "
          "column.",
      .shapes = "{m,k,..}, {k,n,..} -> {m,n,..}; {m,k}, {k} -> {m}",
      .errors =
          "ShapeError if the columns of x are not the rows of y, or a dimension after the "
          "second differs and is not 1, or is 0"};
  static constexpr std::array kRoles{ext::Role::kEither, ext::Role::kEither};
  Dim shape(const ext::Shapes& in) const {
    const Dim& x = in[0];
    const Dim& y = in[1];
    bool fits = x.cols() == y.rows();
    Dim r = y;
    r.nd = std::max(y.nd, x.nd > 2 ? x.nd : 1);
    r.d[0] = x.rows();
    for (unsigned k = 2; k < DYNET_MAX_TENSOR_DIM; ++k) {
      fits = fits && (x[k] == y[k] || x[k] == 1 || y[k] == 1) && x[k] != 0 && y[k] != 0;
      r.d[k] = y[k] == 1 ? x[k] : y[k];
    }
    if (!fits) {
      in.fail(
          "x {m,k,..} and y {k,n,..}, with dimensions after the second above 0, and equal or 1");
    }
    static_cast<void>(in.extent(ext::Count(r.cols()) * matrices_of(r)));
    return r;
  }
  void forward(ext::Call& call) const {
    const Lay lay(call.in[0].dim, call.in[1].dim, call.out[0].dim);
    if (lay.is_one_product()) {
      call.kernels.product(seen_as(call.in[0], lay.left), ext::Transposed::kNo,
                           seen_as(call.in[1], lay.wide_right), ext::Transposed::kNo,
                           seen_as(call.out[0], lay.wide_result));
      return;
    }
    Each each(call, lay, {call.in[0], call.in[1], call.out[0], {}, {}});
    while (each.next()) {
      call.kernels.product(each.read(0, lay.left), ext::Transposed::kNo, each.read(1, lay.right),
                           ext::Transposed::kNo, each.all(2, lay.result));
    }
  }
  /// Beside gradient(to), which makes transposed copies of x and y: run as backward, it took 18 %
  /// more instructions, forward and backward together, for 64 products of {32,2} and {2,32}.
  void backward(ext::Call& call) const {
    const Lay lay(call.in[0].dim, call.in[1].dim, call.d_out[0].dim);
    if (lay.is_one_product()) {
      const ext::Operand dz = seen_as(call.d_out[0], lay.wide_result);
      if (!call.d_in[0].absent()) {
        ext::weight_gradient(call, 0, dz, seen_as(call.in[1], lay.wide_right));
      }
      if (!call.d_in[1].absent()) {
        call.kernels.product(seen_as(call.in[0], lay.left), ext::Transposed::kYes, dz,
                             ext::Transposed::kNo, seen_as(call.d_in[1], lay.wide_right));
      }
      return;
    }
    Each each(call, lay, {call.in[0], call.in[1], call.d_out[0], call.d_in[0], call.d_in[1]});
    while (each.next()) {
      const ext::Operand dz = each.all(2, lay.result);
      if (!call.d_in[0].absent()) {
        const ext::Operand y = each.read(1, lay.right);
        each.write(3, lay.left, [&](const ext::Operand& dx) {
          call.kernels.product(dz, ext::Transposed::kNo, y, ext::Transposed::kYes, dx);
        });
      }
      if (!call.d_in[1].absent()) {
        const ext::Operand x = each.read(0, lay.left);
        each.write(4, lay.right, [&](const ext::Operand& dy) {
          call.kernels.product(x, ext::Transposed::kYes, dz, ext::Transposed::kNo, dy);
        });
      }
    }
  }
  void gradient(auto& to) const {
    const Dim x = to.dim(to.in(0));
    const Dim y = to.dim(to.in(1));
    const Dim z = to.dim(to.d_out());
    if (x.nd <= 2) {
      const auto columns = static_cast<unsigned>(y.cols() * matrices_of(y).value());
      to.give_weight(0, to.reshaped(to.d_out(), Dim({z[0], columns}, z.bd)),
                     to.reshaped(to.in(1), Dim({y[0], columns}, y.bd)));
    } else if (to.wants(0)) {
      to.give(0, to.add(BatchMatmul{}, to.d_out(), to.transposed(to.in(1))));
    }
    if (to.wants(1)) {
      to.give(1, to.add(BatchMatmul{}, to.transposed(to.in(0)), to.d_out()));
    }
  }
  static std::vector<ext::Example<BatchMatmul>> examples() {
    return {{{}, {{2, 3, 4}, {3, 2, 4}}},
            {{}, {{2, 3}, {3, 2, 4}}},
            {{}, {{2, 3, 4}, {3, 2}}},
            {{}, {{2, 3, 2, 1}, {3, 1, 1, 3}}},
            {{}, {{2, 3}, {3}}},
            {{}, {{2, 3, 2}, {3}}},
            {{}, {{4}, {1, 2, 3}}},
            {{}, {{1, 1, 1}, {1, 1}}},
            {{}, {{2, 0, 2}, {0, 3, 2}}},
            {{}, {{2, 3, 2}, {3, 0, 2}}},
            {{}, {{2, 2, 1, 2, 1, 1, 3}, {2, 1, 2, 1, 1, 1, 3}}}};
  }

 private:
  /// How many matrices a tensor is.
  static ext::Count matrices_of(const Dim& d) {
    ext::Count n = 1;
    for (unsigned k = 2; k < d.nd; ++k) {
      n = n * d[k];
    }
    return n;
  }
  struct Lay {
    Dim shape;                ///< of the result
    std::int64_t x, y, z;     ///< matrices in one example
    Dim left, right, result;  ///< of one matrix
    Dim wide_right, wide_result;

    Lay(const Dim& a, const Dim& b, const Dim& c)
        : shape(c),
          x(matrices_of(a).value()),
          y(matrices_of(b).value()),
          z(matrices_of(c).value()),
          left({a[0], a[1]}),
          right({b[0], b[1]}),
          result({c[0], c[1]}),
          wide_right({b[0], static_cast<unsigned>(b[1] * z)}),
          wide_result({c[0], static_cast<unsigned>(c[1] * z)}) {}
    /// One matrix on the left goes over all columns on the right.
    [[nodiscard]] bool is_one_product() const { return x == 1 && y == z; }
  };
  /// The matrices of a call as examples of one matrix each. Operands: x, y, z or its gradient, and
  /// the gradients of x and y.
  class Each {
   public:
    Each(const ext::Call& call, const Lay& lay, const std::array<ext::Operand, 5>& operands)
        : call_(call),
          lay_(lay),
          most_(is_repeated(call, operands) ? 1 : call.examples),
          parts_(call, operands, most_, true) {}
    bool next() { return parts_.next(); }
    /// Operand i, to be read or written, with one matrix for each matrix of the result.
    ext::Operand all(std::size_t i, const Dim& matrix) {
      return view(i, parts_[i].blocks->data, parts_[i].examples * count(i), matrix,
                  parts_[i].blocks->fresh);
    }
    /// Operand i, to be read, repeated if it has fewer matrices than the result.
    ext::Operand read(std::size_t i, const Dim& matrix) {
      if (has_all(i)) {
        return all(i, matrix);
      }
      const ext::Operand copies =
          view(i, memory(i, matrix), parts_.examples(), spread(matrix), true);
      call_.kernels.move(repeat(parts_[i].dim, copies.dim), parts_[i], copies);
      return view(i, memory(i, matrix), parts_.examples() * lay_.z, matrix, true);
    }
    /// Calls f(operand) for a gradient, which is summed if it has fewer matrices.
    void write(std::size_t i, const Dim& matrix, auto f) {
      if (has_all(i)) {
        f(all(i, matrix));
        return;
      }
      f(view(i, memory(i, matrix), parts_.examples() * lay_.z, matrix, true));
      const Dim copies = spread(matrix);
      call_.kernels.move(reversed(repeat(parts_[i].dim, copies)),
                         view(i, memory(i, matrix), parts_.examples(), copies, true), parts_[i]);
    }

   private:
    /// One example stands for several, and its matrices for the matrices of each.
    static bool is_repeated(const ext::Call& call, const std::array<ext::Operand, 5>& operands) {
      return call.examples > 1 &&
             std::any_of(operands.begin(), operands.end(),
                         [](const ext::Operand& o) { return !o.absent() && o.examples == 1; });
    }
    [[nodiscard]] std::int64_t count(std::size_t i) const {
      return i == 2 ? lay_.z : i % 3 == 0 ? lay_.x : lay_.y;
    }
    /// Every matrix of the result has one here, or all have the same.
    [[nodiscard]] bool has_all(std::size_t i) const {
      return count(i) == lay_.z || (count(i) == 1 && parts_.examples() == 1);
    }
    ext::Operand view(std::size_t i, void* data, std::int64_t matrices, const Dim& dim,
                      bool fresh) {
      blocks_[i] = {data, matrices, fresh};
      return {.dim = dim, .examples = matrices, .blocks = &blocks_[i], .block_count = 1};
    }
    /// Room for one matrix for each matrix of the result.
    void* memory(std::size_t i, const Dim& matrix) {
      if (memory_[i] == nullptr) {
        memory_[i] = call_.scratch(matrix.example_elements() * lay_.z * most_ *
                                   ext::bytes_of(call_.kernels.number()));
      }
      return memory_[i];
    }
    /// The shape of an operand with all matrices.
    [[nodiscard]] Dim spread(const Dim& matrix) const {
      Dim d = lay_.shape;
      d.nd = std::max(d.nd, 2U);
      d.d[0] = matrix[0];
      d.d[1] = matrix[1];
      return d;
    }
    static ext::Move repeat(const Dim& few, const Dim& all) {
      ext::Move m;
      m.box = all;
      ext::strides_of(few, m.from_stride);
      ext::strides_of(all, m.to_stride);
      for (unsigned k = 2; k < all.nd; ++k) {
        m.from_stride[k] = few[k] == 1 ? 0 : m.from_stride[k];
      }
      return m;
    }

    const ext::Call& call_;
    const Lay& lay_;
    std::int64_t most_;
    Parts<5> parts_;
    std::array<ext::Block, 5> blocks_{};
    std::array<void*, 5> memory_{};
  };
};

using ContractOps = ext::OpList<Contract3d1d, BatchMatmul>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::ContractOps)
