#pragma once

// Parts of a tensor, chosen by index or range.

#include <utility>

#include "dynet/ops/common.h"

namespace dynet::ops {

struct Pick {
  unsigned d = 0;

  static constexpr ext::Info kInfo{
      .name = "pick",
      .args = {"x"},
      .attrs = {"d"},
      .payload = "v",
      .formula = "y = x[.., v, ..], v standing for dimension d",
      .summary =
          "The elements with index v in dimension d. With a list of indices, example e takes "
          "index v[e]; x may then be one example, of which each takes its part.",
      .shapes = "{a,b,c} -> {b,c} for d = 0, {a,c} for d = 1, ...; {n} -> {1}",
      .errors =
          "ShapeError if x has no dimension d or another number of examples than indices, "
          "IndexError if v is too large",
      .python_batch = "pick_batch",
      .python_params = "e, index=0, dim"};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr bool kPartialGradient = true;
  Dim shape(const ext::Shapes& in) const {
    check_axis(in, d);
    return without_axis(in[0], d);
  }
  unsigned index_limit(const ext::Shapes& in) const { return in[0][d]; }
  void forward(ext::Call& call) const {
    call.kernels.move(part(call.in[0].dim, call.indices), call.in[0], call.out[0]);
  }
  void gradient(auto& to) const {
    const Dim x = to.dim(to.in(0));
    Dim kept = x;
    kept.d[d] = 1;
    kept.bd = to.dim(to.d_out()).bd;
    to.give(0, to.scattered(to.reshaped(to.d_out(), kept), x[d], d, to.kSame));
  }
  static std::vector<ext::Example<Pick>> examples() {
    return {ext::Example<Pick>{{0}, {{5}}}.with_indices({3}),
            ext::Example<Pick>{{0}, {{4, 3}}}.with_indices({0}),
            ext::Example<Pick>{{1}, {{4, 3}}}.with_indices({2}),
            ext::Example<Pick>{{1}, {{2, 3, 4}}}.with_indices({1}),
            ext::Example<Pick>{{0}, {{1}}}.with_indices({0}),
            ext::Example<Pick>{{1}, {{0, 3}}}.with_indices({2}),
            ext::Example<Pick>{{3}, {{2, 1, 3, 2}}}.with_indices({0}),
            ext::Example<Pick>{{6}, {{1, 2, 1, 2, 1, 1, 3}}}.with_indices({1})};
  }

 private:
  [[nodiscard]] ext::Move part(const Dim& x, const ext::Operand& indices) const {
    ext::Move m;
    m.box = x;
    m.box.d[d] = 1;
    ext::strides_of(x, m.from_stride);
    ext::strides_of(m.box, m.to_stride);
    m.index = indices;
    m.from_index_stride = m.from_stride[d];
    return m;
  }
};

struct PickRange {
  unsigned s;
  unsigned e;
  unsigned d = 0;

  static constexpr ext::Info kInfo{
      .name = "pick_range",
      .args = {"x"},
      .attrs = {"s", "e", "d"},
      .formula = "y = x[.., s:e, ..], the range standing for dimension d",
      .summary = "The elements with indices from s up to, not including, e in dimension d.",
      .shapes = "{a,b} -> {e-s,b} for d = 0, {a,e-s} for d = 1, ...",
      .errors = "ShapeError if x has no dimension d, or not s < e <= its extent"};
  static constexpr bool kPartialGradient = true;
  Dim shape(const ext::Shapes& in) const {
    check_axis(in, d);
    if (s >= e || e > in[0][d]) {
      in.fail("s < e <= " + std::to_string(in[0][d]) + ", not s = " + std::to_string(s) +
              " and e = " + std::to_string(e));
    }
    Dim r = in[0];
    r.d[d] = e - s;
    return r;
  }
  void forward(ext::Call& call) const {
    call.kernels.move(range(call.in[0].dim, call.out[0].dim), call.in[0], call.out[0]);
  }
  void gradient(auto& to) const { to.give(0, to.padded(to.d_out(), s, to.dim(to.in(0))[d], d)); }
  static std::vector<ext::Example<PickRange>> examples() {
    return {{{1, 4, 0}, {{5}}},          {{0, 2, 0}, {{4, 3}}},
            {{1, 3, 1}, {{4, 3}}},       {{2, 3, 2}, {{2, 3, 4}}},
            {{0, 1, 0}, {{1}}},          {{0, 2, 1}, {{0, 3}}},
            {{1, 2, 3}, {{2, 1, 3, 2}}}, {{1, 3, 6}, {{1, 2, 1, 2, 1, 1, 3}}}};
  }

 private:
  [[nodiscard]] ext::Move range(const Dim& x, const Dim& y) const {
    ext::Move m;
    m.box = y;
    ext::strides_of(x, m.from_stride);
    ext::strides_of(y, m.to_stride);
    m.from_offset = s * m.from_stride[d];
    return m;
  }
};

using PickOps = ext::OpList<Pick, PickRange>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::PickOps)
