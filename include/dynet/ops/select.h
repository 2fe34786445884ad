#pragma once

// Parts of a tensor, chosen by lists: rows, columns, examples of a batch, every other element.
// Choices of one element or one range are in pick.h.
//
// A list belongs to the node (select_rows: whatever the batch, one list) or to an example (gather).
// All of them are one move in either direction, whose index is the list.

#include <array>
#include <string>
#include <utility>

#include "dynet/ops/common.h"

namespace dynet::ops {

/// The move that takes entry i of y's dimension d from entry index[i] of x. `x`, `y`: shapes of one
/// example.
inline ext::Move indexed_move(const Dim& x, const Dim& y, unsigned d, const ext::Operand& index) {
  ext::Move m;
  m.box = y;
  ext::strides_of(x, m.from_stride);
  ext::strides_of(y, m.to_stride);
  m.index = index;
  m.index_axis = d;
  m.from_index_stride = m.from_stride[d];
  m.from_stride[d] = 0;
  return m;
}

/// Entries of dimension kAxis by a list: rows or columns.
template <unsigned kAxis>
struct Select {
  static_assert(kAxis < 2);
  static constexpr ext::Info kInfo{
      .name = kAxis == 0 ? "select_rows" : "select_cols",
      .args = {"x"},
      .payload = kAxis == 0 ? "rows" : "cols",
      .formula = kAxis == 0 ? "y[i, ..] = x[rows[i], ..]" : "y[i, j, ..] = x[i, cols[j], ..]",
      .summary = kAxis == 0 ? "Some rows: the entries of the first dimension that are listed, in "
                              "the order of the list. A row may be listed several times."
                            : "Some columns: the entries of the second dimension that are listed, "
                              "in the order of the list. A column may be listed several times.",
      .shapes = kAxis == 0 ? "{r,..} -> {n,..}, n the length of the list"
                           : "{r,c,..} -> {r,n,..}, n the length of the list",
      .errors = kAxis == 0
                    ? "ShapeError if the list is empty, IndexError if x has no such row"
                    : "ShapeError if x has one dimension or the list is empty, IndexError if "
                      "x has no such column",
      .python = "-",
      .python_batch = kAxis == 0 ? "select_rows" : "select_cols",
      .python_params = kAxis == 0 ? "x, r" : "x, c"};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr ext::IndicesPer kIndicesPer = ext::IndicesPer::kNode;
  static constexpr bool kPartialGradient = true;
  Dim shape(const ext::Shapes& in) const {
    if (in[0].nd <= kAxis || in.payload() == 0) {
      in.fail(kAxis == 0 ? "one row or more to select"
                         : "two dimensions or more, and one column or more to select");
    }
    Dim r = in[0];
    r.d[kAxis] = in.payload();
    return r;
  }
  unsigned index_limit(const ext::Shapes& in) const { return in[0][kAxis]; }
  void forward(ext::Call& call) const {
    call.kernels.move(indexed_move(call.in[0].dim, call.out[0].dim, kAxis, call.indices),
                      call.in[0], call.out[0]);
  }
  void gradient(auto& to) const {
    to.give(0, to.scattered(to.d_out(), to.dim(to.in(0))[kAxis], kAxis, to.kSame));
  }
  static std::vector<ext::Example<Select>> examples() {
    const auto of = [](Dim x, std::vector<unsigned> list) {
      return ext::Example<Select>{{}, {x}}.with_indices(std::move(list));
    };
    std::vector<ext::Example<Select>> all{
        of({4, 3}, {2, 0, 2}),         of({5, 4}, {3}),       of({1, 1}, {0, 0}),
        of({3, 3}, {0, 1, 2}),         of({2, 3, 4}, {1, 1}), of({3, 2, 1, 2}, {1, 0}),
        of({2, 2, 1, 2, 1, 1, 3}, {1})};
    all.push_back(kAxis == 0 ? of({6}, {5, 0}) : of({0, 3}, {2, 1}));
    return all;
  }
};
using SelectRows = Select<0>;
using SelectCols = Select<1>;

struct Gather {
  unsigned n;
  unsigned d = 0;

  static constexpr ext::Info kInfo{
      .name = "gather",
      .args = {"x"},
      .attrs = {"n", "d"},
      .payload = "index",
      .formula = "y[.., i, ..] = x[.., index[i], ..], in dimension d",
      .summary =
          "n entries of dimension d for each example. One list of n indices is for all examples, "
          "or each example has its own list, one after the other. With such lists x may be one "
          "example, from which all take their entries. Indices may repeat.",
      .shapes = "{r,..} -> {n,..} for d = 0, {a,r} -> {a,n} for d = 1, ...",
      .errors =
          "ShapeError if x has no dimension d, n is 0, or indices are neither n nor n per example; "
          "IndexError if one is too large",
      .python = "-",
      .python_batch = "gather"};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr bool kPartialGradient = true;
  Dim shape(const ext::Shapes& in) const {
    check_axis(in, d);
    if (n == 0) {
      in.fail("n of at least 1, not 0");
    }
    Dim r = in[0];
    r.d[d] = n;
    return r;
  }
  [[nodiscard]] unsigned index_count() const { return n; }
  unsigned index_limit(const ext::Shapes& in) const { return in[0][d]; }
  void forward(ext::Call& call) const {
    call.kernels.move(indexed_move(call.in[0].dim, call.out[0].dim, d, call.indices), call.in[0],
                      call.out[0]);
  }
  void gradient(auto& to) const {
    to.give(0, to.scattered(to.d_out(), to.dim(to.in(0))[d], d, to.kSame));
  }
  static std::vector<ext::Example<Gather>> examples() {
    const auto of = [](unsigned d, const Dim& x, const std::vector<unsigned>& list) {
      return ext::Example<Gather>{{static_cast<unsigned>(list.size()), d}, {x}}.with_indices(list);
    };
    return {of(0, {5}, {4, 1}),          of(0, {4, 3}, {0, 3, 3}),
            of(1, {4, 3}, {2}),          of(1, {2, 3, 2}, {2, 0}),
            of(2, {2, 3, 2}, {1, 0, 1}), of(0, {1}, {0}),
            of(1, {0, 3}, {1, 2}),       of(6, {1, 2, 1, 2, 1, 1, 3}, {2, 0})};
  }
};

struct ScatterAdd {
  unsigned rows;
  unsigned n;
  unsigned d = 0;

  static constexpr ext::Info kInfo{
      .name = "scatter_add",
      .args = {"x"},
      .attrs = {"rows", "n", "d"},
      .payload = "index",
      .formula = "y[.., r, ..] = sum of x[.., i, ..] over the i with index[i] = r, in dimension d",
      .summary =
          "Adds the n entries of dimension d of x to `rows` entries that begin at 0, each to the "
          "one that its index says: the gradient of gather. One list of n indices is for all "
          "examples, or each example has its own list, one after the other.",
      .shapes = "{n,..} -> {rows,..} for d = 0, {a,n} -> {a,rows} for d = 1, ...",
      .errors =
          "ShapeError if x has no dimension d or not n entries along it, n is 0, or indices are "
          "neither n nor n per example; IndexError if one is not below rows",
      .cpp = "-",
      .python = "-"};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  Dim shape(const ext::Shapes& in) const {
    check_axis(in, d);
    if (n == 0 || in[0][d] != n) {
      in.fail("n = " + std::to_string(n) + " entries, at least one, in dimension " +
              std::to_string(d));
    }
    Dim r = in[0];
    r.d[d] = rows;
    return r;
  }
  [[nodiscard]] unsigned index_count() const { return n; }
  unsigned index_limit(const ext::Shapes& /*in*/) const { return rows; }
  void forward(ext::Call& call) const {
    const ext::Operand& y = call.out[0];
    for (std::int64_t b = 0; b < y.block_count; ++b) {
      call.kernels.fill(y.blocks[b].data, 0.0, y.blocks[b].examples * y.size());
    }
    call.kernels.move(reversed(indexed_move(y.dim, call.in[0].dim, d, call.indices)), call.in[0], y,
                      ext::Write::kAdd);
  }
  void gradient(auto& to) const { to.give(0, to.gathered(to.d_out(), n, d, to.kSame)); }
  static std::vector<ext::Example<ScatterAdd>> examples() {
    const auto of = [](unsigned rows, unsigned d, const Dim& x, const std::vector<unsigned>& list) {
      return ext::Example<ScatterAdd>{{rows, static_cast<unsigned>(list.size()), d}, {x}}
          .with_indices(list);
    };
    return {of(5, 0, {2}, {4, 1}),          of(4, 0, {3, 3}, {0, 3, 3}),
            of(3, 1, {4, 1}, {2}),          of(3, 1, {2, 2, 2}, {2, 0}),
            of(2, 2, {2, 3, 3}, {1, 0, 1}), of(1, 0, {1}, {0}),
            of(3, 1, {0, 2}, {1, 2}),       of(3, 6, {1, 2, 1, 2, 1, 1, 2}, {2, 2})};
  }
};

/// The step of strided_select for the dimensions of an example.
struct StridedSelect {
  using Entries = ext::List<unsigned, DYNET_MAX_TENSOR_DIM>;
  Entries strides;
  Entries from;
  Entries to;

  static constexpr ext::Info kInfo{
      .name = "strided_select",
      .args = {"x"},
      .attrs = {"strides", "from", "to"},
      .formula = "y[i, j, ..] = x[from[0] + i strides[0], from[1] + j strides[1], ..]",
      .summary =
          "In each dimension k the elements from[k], from[k] + strides[k], ..., below to[k].",
      .shapes = "{a,b} -> {ceil((to[0] - from[0]) / strides[0]), ...}",
      .errors =
          "ShapeError unless each list has an entry per dimension, strides are not 0, and from < "
          "to "
          "<= extent (or all three are 0)",
      .cpp = "-",
      .python = "-"};
  static constexpr bool kPartialGradient = true;
  Dim shape(const ext::Shapes& in) const {
    Dim r = in[0];
    for (const Entries* list : {&strides, &from, &to}) {
      if (list->count != r.nd) {
        in.fail("lists of one entry per dimension");
      }
    }
    for (unsigned k = 0; k < r.nd; ++k) {
      const bool is_range = from[k] < to[k] && to[k] <= in[0][k];
      const bool is_nothing = in[0][k] == 0 && from[k] == 0 && to[k] == 0;
      if (strides[k] == 0 || !(is_range || is_nothing)) {
        in.fail("a stride above 0 and from < to <= " + std::to_string(in[0][k]) + " in dimension " +
                std::to_string(k) + ", not stride " + std::to_string(strides[k]) + ", from " +
                std::to_string(from[k]) + " and to " + std::to_string(to[k]));
      }
      r.d[k] = is_nothing ? 0 : 1 + (to[k] - from[k] - 1) / strides[k];
    }
    return r;
  }
  void forward(ext::Call& call) const {
    call.kernels.move(chosen(call.in[0].dim, call.out[0].dim), call.in[0], call.out[0]);
  }
  void gradient(auto& nodes) const {
    nodes.give(0, nodes.spread(nodes.d_out(), nodes.dim(nodes.in(0)), from, strides));
  }
  static std::vector<ext::Example<StridedSelect>> examples() {
    return {{{{{2}, 1}, {{1}, 1}, {{6}, 1}}, {{7}}},
            {{{{2, 1}, 2}, {{0, 1}, 2}, {{4, 3}, 2}}, {{4, 3}}},
            {{{{3, 2}, 2}, {{1, 0}, 2}, {{5, 4}, 2}}, {{5, 4}}},
            {{{{1, 1}, 2}, {{0, 0}, 2}, {{2, 3}, 2}}, {{2, 3}}},
            {{{{9, 1}, 2}, {{3, 2}, 2}, {{4, 3}, 2}}, {{4, 3}}},
            {{{{1}, 1}, {{0}, 1}, {{1}, 1}}, {{1}}},
            {{{{1, 2}, 2}, {{0, 0}, 2}, {{0, 3}, 2}}, {{0, 3}}},
            {{{{1, 2, 3}, 3}, {{1, 0, 0}, 3}, {{2, 3, 4}, 3}}, {{2, 3, 4}}},
            {{{{1, 1, 1, 2, 1, 1, 2}, 7}, {{0, 1, 0, 0, 0, 0, 0}, 7}, {{1, 2, 1, 2, 1, 1, 3}, 7}},
             {{1, 2, 1, 2, 1, 1, 3}}}};
  }

 private:
  [[nodiscard]] ext::Move chosen(const Dim& x, const Dim& y) const {
    ext::Move m;
    m.box = y;
    ext::strides_of(x, m.from_stride);
    ext::strides_of(y, m.to_stride);
    for (unsigned k = 0; k < x.nd; ++k) {
      m.from_offset += from[k] * m.from_stride[k];
      m.from_stride[k] *= strides[k];
    }
    return m;
  }
};

struct PickBatchElems {
  static constexpr ext::Info kInfo{
      .name = "pick_batch_elems",
      .args = {"x"},
      .payload = "v",
      .formula = "y[e] = x[v[e]], e and v[e] counting the examples",
      .summary =
          "Some examples of a batch, in the order of the list. One may be listed several "
          "times.",
      .shapes = "{..}xb -> {..}xn, n the length of the list",
      .errors =
          "ShapeError if the list is empty, IndexError if an index is not below the "
          "batch size",
      .python = "-",
      .python_batch = "pick_batch_elems"};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr ext::IndicesPer kIndicesPer = ext::IndicesPer::kNode;
  static constexpr bool kPartialGradient = true;
  static constexpr std::array kRoles{ext::Role::kWhole};
  Dim shape(const ext::Shapes& in) const {
    if (in.payload() == 0) {
      in.fail("one index or more");
    }
    Dim r = in[0];
    r.bd = in.payload();
    return r;
  }
  unsigned index_limit(const ext::Shapes& in) const { return in[0].bd; }
  void forward(ext::Call& call) const { call.kernels.move(chosen(call), call.in[0], call.out[0]); }
  void gradient(auto& to) const { to.give_examples(); }
  static std::vector<ext::Example<PickBatchElems>> examples() {
    const auto of = [](Dim x, std::vector<unsigned> list) {
      return ext::Example<PickBatchElems>{{}, {x}}.with_indices(std::move(list));
    };
    return {of({4, 3}, {0, 0}),    of({4, 3}, {0}),
            of({2}, {0, 0, 0}),    of({1}, {0}),
            of({1, 1}, {0, 0}),    of({0, 3}, {0, 0}),
            of({2, 3, 2}, {0, 0}), of({1, 2, 1, 2, 1, 1, 3}, {0, 0})};
  }

 private:
  /// The last dimension of the operands is the batch.
  [[nodiscard]] static ext::Move chosen(const ext::Call& call) {
    const Dim& y = call.out[0].dim;
    const unsigned count = y[y.nd - 1];
    const std::int64_t size = call.out[0].size() / count;
    ext::Move m = ext::whole_move(size);
    m.box.nd = 3;
    m.box.d[2] = count;
    m.from_stride[2] = 0;
    m.to_stride[2] = size;
    m.index = call.indices;
    m.index_axis = 2;
    m.from_index_stride = size;
    return m;
  }
};

using SelectOps =
    ext::OpList<SelectRows, SelectCols, Gather, ScatterAdd, StridedSelect, PickBatchElems>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::SelectOps)
