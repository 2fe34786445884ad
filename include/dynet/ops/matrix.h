#pragma once

// Functions of small dense matrices that need a factorisation.

#include "dynet/ops/arithmetic.h"
#include "dynet/ops/common.h"
#include "dynet/ops/steps.h"

namespace dynet::ops {

inline void check_square(const ext::Shapes& in) {
  if (in[0].nd > 2 || in[0].rows() != in[0].cols()) {
    in.fail("a square matrix");
  }
}

struct Inverse {
  static constexpr ext::Info kInfo{
      .name = "inverse",
      .args = {"x"},
      .formula = "y = x^-1; the gradient of x is -transpose(y) dy transpose(y)",
      .summary = "Inverse of a square matrix; all elements are NaN if it is singular.",
      .shapes = "{n,n} -> {n,n}",
      .errors = "ShapeError unless x is a square matrix"};
  Dim shape(const ext::Shapes& in) const {
    check_square(in);
    return in[0];
  }
  void forward(ext::Call& call) const {
    call.kernels.invert(call.in[0], call.out[0], nothing({1}));
  }
  void gradient(auto& to) const {
    const auto y = to.transposed(to.out());
    to.give(0, to.scaled(to.product(to.product(y, to.d_out()), y), -1.0));
  }
  static std::vector<ext::Example<Inverse>> examples() {
    return {{{}, {{1, 1}}, 0.5, 2.0},   {{}, {{1}}, -2.0, -0.5}, {{}, {{2, 2}}}, {{}, {{3, 3}}},
            {{}, {{1, 1}}, -3.0, -1.0}, {{}, {{5, 5}}},          {{}, {{0, 0}}}, {{}, {{7, 7}}}};
  }
};

struct LogDet {
  static constexpr ext::Info kInfo{
      .name = "logdet",
      .args = {"x"},
      .formula = "y = ln(det(x)); the gradient of x is dy transpose(x^-1)",
      .summary =
          "Logarithm of the determinant of a square matrix: NaN if the determinant is "
          "negative, -inf if it is 0.",
      .shapes = "{n,n} -> {1}",
      .errors = "ShapeError unless x is a square matrix"};
  Dim shape(const ext::Shapes& in) const {
    check_square(in);
    return {1};
  }
  void forward(ext::Call& call) const {
    call.kernels.invert(call.in[0], nothing(call.in[0].dim), call.out[0]);
  }
  void gradient(auto& to) const {
    const auto inverse = to.add(Inverse{}, to.in(0));
    to.give(0, to.add(CMult{}, to.transposed(inverse), to.d_out()));
  }
  static std::vector<ext::Example<LogDet>> examples() {
    // One number each: half of all larger random matrices have a negative determinant. Tests of
    // larger matrices are in tests/rows_test.cc and tests/oracle.
    return {{{}, {{1, 1}}, 0.5, 2.0},   {{}, {{1}}, 0.5, 2.0},    {{}, {{0, 0}}},
            {{}, {{1, 1}}, 10.0, 20.0}, {{}, {{1, 1}}, 0.1, 0.2}, {{}, {{1}}, 3.0, 4.0},
            {{}, {{1}}, 0.9, 1.1},      {{}, {{1, 1}}, 1.0, 9.0}};
  }
};

using MatrixOps = ext::OpList<Inverse, LogDet>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::MatrixOps)
