#pragma once

// Sums over the columns or rows of a matrix that slide along: narrow filters, n-grams, folded rows,
// circular convolution.

#include <algorithm>
#include <array>
#include <cstdint>

#include "dynet/ops/arithmetic.h"
#include "dynet/ops/common.h"
#include "dynet/ops/parts.h"
#include "dynet/ops/select.h"

namespace dynet::ops {

/// From columns that stand below each other, {rows * n, count}, column j of n at a time: entry t of
/// them is column j + t of {rows, ..}. Reversed, and added up, the way back.
inline ext::Move column_move(unsigned rows, unsigned count, unsigned t, unsigned n) {
  ext::Move m;
  m.box = {rows, count};
  m.from_stride[0] = m.to_stride[0] = 1;
  m.from_stride[1] = rows;
  m.from_offset = std::int64_t{rows} * t;
  m.to_stride[1] = std::int64_t{rows} * n;
  m.to_offset = std::int64_t{rows} * t;
  return m;
}

struct Filter1dNarrow {
  static constexpr ext::Info kInfo{
      .name = "filter1d_narrow",
      .args = {"x", "f"},
      .formula = "y[o, j] = sum_it x[i, j + t] f[i, t, o]",
      .summary =
          "Correlation over the columns of a matrix with filters of its height, at the places "
          "where they lie inside.",
      .shapes = "{r,c}, {r,k} or {r,k,n} -> {1,c-k+1} or {n,c-k+1}",
      .errors = "ShapeError for other shapes, or a filter of no columns or more than x",
      .python_params = "x, y"};
  static constexpr std::array kRoles{ext::Role::kStacked, ext::Role::kEither};
  static constexpr bool kPartialGradient = true;
  Dim shape(const ext::Shapes& in) const {
    const Dim& x = in[0];
    const Dim& f = in[1];
    if (x.nd > 2 || f.nd < 2 || f.nd > 3 || f[0] != x[0] || f[1] == 0 || f[1] > x.cols()) {
      in.fail("x {r,c} and f {r,k} or {r,k,n}, k from 1 to c");
    }
    static_cast<void>(in.extent(ext::Count(f[0]) * f[1]));
    return {f[2], x.cols() - f[1] + 1};
  }
  void forward(ext::Call& call) const {
    const Lay lay(call);
    ScratchOperand scratch(call, lay.columns, lay.most);
    Parts<3> parts(call, {call.in[0], call.in[1], call.out[0]}, lay.most);
    while (parts.next()) {
      const ext::Operand& x = scratch.first(parts[0].examples);
      call.kernels.move(lay.spread(), parts[0], x);
      call.kernels.product(seen_as(parts[1], lay.filters), ext::Transposed::kYes, x,
                           ext::Transposed::kNo, parts[2]);
    }
  }
  /// Beside gradient(to), which has a product for each column of the filters: here it is one.
  void backward(ext::Call& call) const {
    const Lay lay(call);
    ScratchOperand scratch(call, lay.columns, lay.most);
    Parts<5> parts(call, {call.in[0], call.in[1], call.d_out[0], call.d_in[0], call.d_in[1]},
                   lay.most);
    while (parts.next()) {
      if (!parts[4].absent()) {
        const ext::Operand& x = scratch.first(parts[0].examples);
        call.kernels.move(lay.spread(), parts[0], x);
        call.kernels.product(x, ext::Transposed::kNo, parts[2], ext::Transposed::kYes,
                             seen_as(parts[4], lay.filters));
      }
      if (!parts[3].absent()) {
        const ext::Operand& dx = scratch.first(parts.examples());
        call.kernels.product(seen_as(parts[1], lay.filters), ext::Transposed::kNo, parts[2],
                             ext::Transposed::kNo, dx, ext::Write::kStore);
        for (unsigned t = 0; t < lay.width; ++t) {
          call.kernels.move(reversed(column_move(lay.rows, lay.count, t, lay.width)), dx, parts[3]);
        }
      }
    }
  }
  /// Column after column of the filters.
  void gradient(auto& to) const {
    const Dim x = to.dim(to.in(0));
    const Dim f = to.dim(to.in(1));
    const unsigned count = x.cols() - f[1] + 1;
    const auto columns = to.reshaped(to.in(0), Dim({x.rows(), x.cols()}, x.bd));
    const auto dy = to.reshaped(to.d_out(), Dim({f[2], count}, to.dim(to.d_out()).bd));
    for (unsigned t = 0; t < f[1]; ++t) {
      if (to.wants(0)) {
        const auto of_column = to.reshaped(to.part(to.in(1), t, 1, 1), Dim({f[0], f[2]}, f.bd));
        to.give(0, to.padded(to.product(of_column, dy), t, x.cols(), 1));
      }
      if (to.wants(1)) {
        const auto g = to.product(to.part(columns, t, count, 1), to.transposed(dy));
        const Dim column({f[0], 1, f[2]}, to.dim(g).bd);
        to.give(1, to.padded(to.reshaped(g, column), t, f[1], 1));
      }
    }
  }
  static std::vector<ext::Example<Filter1dNarrow>> examples() {
    return {{{}, {{3, 5}, {3, 2}}},    {{}, {{3, 5}, {3, 2, 4}}}, {{}, {{2, 4}, {2, 4, 3}}},
            {{}, {{1, 6}, {1, 3}}},    {{}, {{4, 1}, {4, 1, 2}}}, {{}, {{4}, {4, 1}}},
            {{}, {{1, 1}, {1, 1, 1}}}, {{}, {{0, 3}, {0, 2, 2}}}, {{}, {{2, 3}, {2, 1, 0}}}};
  }

 private:
  /// The columns that a filter covers, below each other: {rows * width, count}.
  struct Lay {
    unsigned rows, width, count;
    Dim columns, filters;
    std::int64_t most;

    explicit Lay(const ext::Call& call)
        : rows(call.in[0].dim.rows()),
          width(call.in[1].dim.cols()),
          count(call.in[0].dim.cols() - width + 1),
          columns({rows * width, count}),
          filters({rows * width, call.in[1].dim[2]}),
          most(std::min(call.examples,
                        examples_at_once(call.kernels, columns.example_elements()))) {}
    /// They lie one after the other already.
    [[nodiscard]] ext::Move spread() const {
      ext::Move m;
      m.box = columns;
      m.from_stride[0] = 1;
      m.from_stride[1] = rows;
      ext::strides_of(columns, m.to_stride);
      return m;
    }
  };
};

struct KmhNgram {
  unsigned n;

  static constexpr ext::Info kInfo{
      .name = "kmh_ngram",
      .args = {"x"},
      .attrs = {"n"},
      .formula = "y[i, j] = sum_k x[i, j + k], k below n",
      .summary = "Sums of n neighbouring columns.",
      .shapes = "{r,c} -> {r,c-n+1}",
      .errors = "ShapeError unless x is a matrix of at least n columns, and n is not 0",
      .source = "Kalchbrenner et al., 2014",
      .python_params = "x, v"};
  static constexpr bool kPartialGradient = true;
  Dim shape(const ext::Shapes& in) const {
    if (in[0].nd != 2 || n == 0 || n > in[0].cols()) {
      in.fail("a matrix x of at least n columns, n above 0, not n = " + std::to_string(n));
    }
    return {in[0].rows(), in[0].cols() - n + 1};
  }
  void forward(ext::Call& call) const {
    const Dim& y = call.out[0].dim;
    ext::Move m = ext::whole_move(y.example_elements());
    m.box.nd = 3;
    m.box.d[2] = n;
    m.from_stride[2] = y.rows();
    m.to_stride[2] = 0;
    call.kernels.move(m, call.in[0], call.out[0]);
  }
  void gradient(auto& to) const {
    const auto dy = to.d_out();
    const unsigned columns = to.dim(to.in(0)).cols();
    for (unsigned k = 0; k < n; ++k) {
      to.give(0, to.padded(dy, k, columns, 1));
    }
  }
  static std::vector<ext::Example<KmhNgram>> examples() {
    return {{{2}, {{3, 5}}}, {{1}, {{3, 4}}}, {{5}, {{3, 5}}}, {{3}, {{1, 7}}},
            {{1}, {{1, 1}}}, {{2}, {{4, 2}}}, {{2}, {{0, 3}}}, {{4}, {{2, 6}}}};
  }
};

struct FoldRows {
  unsigned nrows = 2;

  static constexpr ext::Info kInfo{.name = "fold_rows",
                                   .args = {"x"},
                                   .attrs = {"nrows"},
                                   .formula = "y[i, ..] = sum_k x[i nrows + k, ..], k below nrows",
                                   .summary = "Sums of nrows neighbouring rows.",
                                   .shapes = "{r,..} -> {r/nrows,..}",
                                   .errors = "ShapeError unless nrows divides the rows of x",
                                   .source = "Kalchbrenner et al., 2014"};
  Dim shape(const ext::Shapes& in) const {
    if (nrows == 0 || in[0].rows() % nrows != 0) {
      in.fail("rows that nrows divides, not nrows = " + std::to_string(nrows));
    }
    Dim r = in[0];
    r.d[0] /= nrows;
    return r;
  }
  void forward(ext::Call& call) const {
    call.kernels.move(folds(call.out[0].size()), call.in[0], call.out[0]);
  }
  void gradient(auto& to) const {
    const Dim y = to.dim(to.d_out());
    const auto sums = static_cast<unsigned>(y.example_elements());
    const auto one_each = to.reshaped(to.d_out(), Dim({1, sums}, y.bd));
    to.give(0, to.reshaped(to.repeated(one_each, Dim({nrows, sums})), to.dim(to.in(0))));
  }
  static std::vector<ext::Example<FoldRows>> examples() {
    return {{{2}, {{6, 3}}}, {{3}, {{6, 2}}},    {{1}, {{3, 2}}},
            {{4}, {{4, 3}}}, {{2}, {{4}}},       {{1}, {{1}}},
            {{2}, {{4, 0}}}, {{2}, {{4, 3, 2}}}, {{2}, {{2, 2, 1, 2, 1, 1, 3}}}};
  }

 private:
  [[nodiscard]] ext::Move folds(std::int64_t sums) const {
    const ext::Move all = ext::whole_move(sums);
    ext::Move m;
    m.box = {nrows, all.box[0], all.box[1]};
    ext::strides_of(m.box, m.from_stride);
    m.to_stride[1] = all.to_stride[0];
    m.to_stride[2] = all.to_stride[1];
    return m;
  }
};

/// Sums of products around a circle. Each is the matrix {a_(k+i)} times b, or times b read
/// backwards; the matrix is made some columns at a time.
struct Circle {
  enum class Read : std::uint8_t { kForwards, kBackwards };

  /// out_k = sum_i a_((k + i) mod n) b_i, or b_((-i) mod n).
  static void product(const ext::Call& call, const ext::Operand& a, const ext::Operand& b,
                      Read read, const ext::Operand& out) {
    const unsigned n = a.dim.rows();
    if (n == 0) {
      return;
    }
    const std::int64_t at_once = std::max<std::int64_t>(
        8, examples_at_once(call.kernels, std::int64_t{n} * std::max(a.examples, b.examples)));
    const auto columns = static_cast<unsigned>(std::min<std::int64_t>(n, at_once));
    ScratchOperand twice_memory(call, Dim({2, n}), a.examples);
    ScratchOperand b_memory(call, Dim({columns}), b.examples);
    ScratchOperand matrix_memory(call, Dim({n, columns}), a.examples);
    const ext::Operand& twice = twice_memory.first(a.examples);
    call.kernels.move(around(n), a, twice, ext::Write::kStore);
    for (unsigned i = 0; i < n; i += columns) {
      const unsigned count = std::min(columns, n - i);
      const ext::Operand matrix = seen_as(matrix_memory.first(a.examples), {n, count});
      const ext::Operand part = seen_as(b_memory.first(b.examples), {count});
      call.kernels.move(shifted(n, i, count), twice, matrix, ext::Write::kStore);
      take(call.kernels, b, read, i, part);
      call.kernels.product(matrix, ext::Transposed::kNo, part, ext::Transposed::kNo, out,
                           i == 0 ? ext::Write::kAsBlocks : ext::Write::kAdd);
    }
  }

 private:
  /// The vector twice, one after the other.
  static ext::Move around(unsigned n) {
    ext::Move m;
    m.box = {n, 2};
    m.from_stride[0] = m.to_stride[0] = 1;
    m.to_stride[1] = n;
    return m;
  }
  /// Columns i, ..., of the matrix.
  static ext::Move shifted(unsigned n, unsigned i, unsigned count) {
    ext::Move m;
    m.box = {n, count};
    m.from_stride[0] = m.from_stride[1] = m.to_stride[0] = 1;
    m.to_stride[1] = n;
    m.from_offset = i;
    return m;
  }
  /// The factors of columns i, ...
  static void take(const ext::Kernels& k, const ext::Operand& b, Read read, unsigned i,
                   const ext::Operand& to) {
    const unsigned n = b.dim.rows();
    unsigned done = 0;
    ext::Move m;
    m.to_stride[0] = 1;
    if (read == Read::kBackwards && i == 0) {
      m.box = {1};
      k.move(m, b, to, ext::Write::kStore);
      done = 1;
    }
    m.box = {to.dim.rows() - done};
    m.from_stride[0] = read == Read::kForwards ? 1 : -1;
    m.from_offset = read == Read::kForwards ? i : std::int64_t{n} - i - done;
    m.to_offset = done;
    if (m.box[0] != 0) {
      k.move(m, b, to, ext::Write::kStore);
    }
  }
};

/// Two vectors of one length.
inline Dim circle_shape(const ext::Shapes& in) {
  if (in[0].nd != 1 || in[1] != in[0]) {
    in.fail("two vectors of equal length");
  }
  static_cast<void>(in.extent(ext::Count(2) * in[0].rows()));
  return in[0];
}
inline std::vector<std::vector<Dim>> circle_examples() {
  return {{{5}, {5}}, {{4}, {4}}, {{1}, {1}}, {{2}, {2}},
          {{3}, {3}}, {{8}, {8}}, {{0}, {0}}, {{17}, {17}}};
}

/// circ_corr(u, v) for a gradient.
auto correlation_of(auto& to, auto u, auto v);

struct CircConv {
  static constexpr ext::Info kInfo{
      .name = "circ_conv",
      .args = {"u", "v"},
      .formula = "y_k = sum_i u_i v_((k - i) mod n)",
      .summary = "Circular convolution, as a product with the matrix of all shifts of v.",
      .shapes = "{n}, {n} -> {n}",
      .errors = "ShapeError unless u and v are vectors of equal length",
      .source = "Plate, 1995"};
  static constexpr bool kForwardAdds = true;
  Dim shape(const ext::Shapes& in) const { return circle_shape(in); }
  void forward(ext::Call& call) const {
    Circle::product(call, call.in[1], call.in[0], Circle::Read::kBackwards, call.out[0]);
  }
  void gradient(auto& to) const {
    for (const std::size_t i : {0U, 1U}) {
      if (to.wants(i)) {
        to.give(i, correlation_of(to, to.in(1 - i), to.d_out()));
      }
    }
  }
  static std::vector<ext::Example<CircConv>> examples() {
    std::vector<ext::Example<CircConv>> all;
    for (std::vector<Dim>& in : circle_examples()) {
      all.push_back({{}, std::move(in)});
    }
    return all;
  }
};

struct CircCorr {
  static constexpr ext::Info kInfo{
      .name = "circ_corr",
      .args = {"u", "v"},
      .formula = "y_k = sum_i u_i v_((k + i) mod n)",
      .summary = "Circular correlation, as a product with the matrix of all shifts of v.",
      .shapes = "{n}, {n} -> {n}",
      .errors = "ShapeError unless u and v are vectors of equal length",
      .source = "Plate, 1995"};
  static constexpr bool kForwardAdds = true;
  Dim shape(const ext::Shapes& in) const { return circle_shape(in); }
  void forward(ext::Call& call) const {
    Circle::product(call, call.in[1], call.in[0], Circle::Read::kForwards, call.out[0]);
  }
  void gradient(auto& to) const {
    if (to.wants(0)) {
      to.give(0, to.add(CircCorr{}, to.d_out(), to.in(1)));
    }
    if (to.wants(1)) {
      to.give(1, to.add(CircConv{}, to.in(0), to.d_out()));
    }
  }
  static std::vector<ext::Example<CircCorr>> examples() {
    std::vector<ext::Example<CircCorr>> all;
    for (std::vector<Dim>& in : circle_examples()) {
      all.push_back({{}, std::move(in)});
    }
    return all;
  }
};

auto correlation_of(auto& to, auto u, auto v) { return to.add(CircCorr{}, u, v); }

using SlidingOps = ext::OpList<Filter1dNarrow, KmhNgram, FoldRows, CircConv, CircCorr>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::SlidingOps)
