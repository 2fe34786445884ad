#pragma once

// Convolution, pooling and their relatives: sums and maxima over windows.
//
// The windows of an example are laid into scratch memory as a matrix, one move for each place of a
// window, and then there is one product, or one maximum along a row. The gradient goes the same way
// back; its moves add, as a place in several windows gets the sum of their gradients.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "dynet/ops/common.h"
#include "dynet/ops/parts.h"
#include "dynet/ops/reduce.h"
#include "dynet/ops/select.h"

namespace dynet::ops {

// ---- along one axis
// ---------------------------------------------------------------------------------------

/// Windows along one axis: window i covers the elements i * stride - pad, ..., `size` of them.
struct WindowAxis {
  std::int64_t in, size, stride, pad, out;

  /// All windows that lie inside, or (not `is_valid`) windows that cover everything, with equal
  /// room before and after, or one more after.
  static WindowAxis of(std::int64_t in, std::int64_t size, std::int64_t stride, bool is_valid) {
    if (is_valid) {
      return {in, size, stride, 0, (in - size + stride) / stride};
    }
    const std::int64_t out = (in + stride - 1) / stride;
    const std::int64_t room = out == 0 ? 0 : (out - 1) * stride + size - in;
    return {in, size, stride, std::max<std::int64_t>(0, room) / 2, out};
  }
  /// Without the places of a window that are outside in every window.
  [[nodiscard]] WindowAxis trimmed() const {
    const std::int64_t first = std::max<std::int64_t>(0, pad - (out - 1) * stride);
    const std::int64_t last = std::min(size, in + pad);
    return {in, std::max<std::int64_t>(0, last - first), stride, pad - first, out};
  }
  [[nodiscard]] bool is_padded() const { return pad > 0 || (out - 1) * stride + size - pad > in; }
  /// The first window whose place `at` is inside, and how many there are from it on.
  [[nodiscard]] std::int64_t first(std::int64_t at) const {
    return at >= pad ? 0 : (pad - at + stride - 1) / stride;
  }
  [[nodiscard]] std::int64_t count(std::int64_t at) const {
    const std::int64_t last = in - 1 + pad - at;
    return last < 0 ? 0 : std::max<std::int64_t>(0, std::min(out, last / stride + 1) - first(at));
  }
};

/// Windows over the first two dimensions of {h,w,channels}.
struct Windows {
  WindowAxis rows, cols;
  std::int64_t channels;

  [[nodiscard]] std::int64_t count() const { return rows.out * cols.out; }
  [[nodiscard]] bool is_padded() const { return rows.is_padded() || cols.is_padded(); }
  /// The windows of `n` columns, from column j on.
  [[nodiscard]] Windows columns(std::int64_t j, std::int64_t n) const {
    Windows some = *this;
    some.cols.pad -= j * cols.stride;
    some.cols.out = n;
    return some;
  }
  /// Place (r, c) of every window: from the example, element (i, j) of channel q goes to
  /// `at + i + rows.out * j + channel_step * q` for window (i, j).
  [[nodiscard]] ext::Move place(std::int64_t r, std::int64_t c, std::int64_t channel_step,
                                std::int64_t at) const {
    const std::int64_t i = rows.first(r);
    const std::int64_t j = cols.first(c);
    ext::Move m;
    m.box = Dim({static_cast<unsigned>(rows.count(r)), static_cast<unsigned>(cols.count(c)),
                 static_cast<unsigned>(channels)});
    m.from_stride[0] = rows.stride;
    m.from_stride[1] = cols.stride * rows.in;
    m.from_stride[2] = rows.in * cols.in;
    m.from_offset = i * rows.stride + r - rows.pad + (j * cols.stride + c - cols.pad) * rows.in;
    m.to_stride[0] = 1;
    m.to_stride[1] = rows.out;
    m.to_stride[2] = channel_step;
    m.to_offset = at + i + j * rows.out;
    return m;
  }
};

/// The extents of windows and strides that an operation is given: two numbers, none of them 0.
inline void check_window(const ext::Shapes& in, const ext::List<unsigned, 2>& list,
                         const char* name) {
  if (list.count != 2 || list[0] == 0 || list[1] == 0) {
    in.fail(std::string(name) + " to be two numbers above 0");
  }
}

/// All windows of an example lie in scratch memory.
inline void check_spread(const ext::Shapes& in, const Windows& w) {
  const ext::Count elements = ext::Count(w.rows.out) * w.cols.out * w.rows.size * w.cols.size;
  if (!(elements * w.channels * sizeof(double)).fits()) {
    in.fail("windows that have less than 2^59 elements together");
  }
}

// ---- convolution
// ----------------------------------------------------------------------------------------

struct Conv2d {
  ext::List<unsigned, 2> stride;
  bool is_valid = true;

  static constexpr ext::Info kInfo{
      .name = "conv2d",
      .args = {"x", "f", "b"},
      .attrs = {"stride", "is_valid"},
      .formula =
          "y[i, j, o] = b[o] + sum_rcq x[i stride[0] + r - p0, j stride[1] + c - p1, q] "
          "f[r, c, q, o], zero outside",
      .summary =
          "Correlation of an image of several channels with filters, plus the bias if there is "
          "one. Valid: windows lie inside. Else the result has a place for each stride, and half "
          "of the room that windows need more, rounded down, is before the image: p0, p1.",
      .shapes =
          "{h,w,ci} or {h,w}, {fh,fw,ci,co}, {co} -> {(h - fh) / stride[0] + 1, .., co}, or not "
          "valid {h / stride[0], .., co} rounded up",
      .errors =
          "ShapeError for other shapes, a filter larger than the image if windows must lie inside, "
          "or a stride that is not two numbers above 0",
      .cpp = "-",
      .python = "-"};
  static constexpr std::array kRoles{ext::Role::kStacked, ext::Role::kEither, ext::Role::kEither};
  static constexpr std::array kOptional{0, 0, 1};
  static constexpr bool kPartialGradient = true;
  Dim shape(const ext::Shapes& in) const {
    check_window(in, stride, "stride");
    const Dim& x = in[0];
    const Dim& f = in[1];
    const bool is_image = x.nd == 2 || x.nd == 3;
    if (!is_image || f.nd != 4 || f[2] != x[2] || f[0] == 0 || f[1] == 0 ||
        (in.has(2) && (in[2].nd != 1 || in[2][0] != f[3]))) {
      in.fail("x {h,w,ci} or {h,w}, f {fh,fw,ci,co}, and b {co}");
    }
    if (is_valid && (f[0] > x[0] || f[1] > x[1])) {
      in.fail("a filter not larger than x");
    }
    const Windows w = windows(x, f);
    static_cast<void>(in.extent(ext::Count(w.rows.out) * w.cols.out));
    static_cast<void>(in.extent(ext::Count(f[0]) * f[1] * f[2]));
    check_spread(in, w);
    return {static_cast<unsigned>(w.rows.out), static_cast<unsigned>(w.cols.out), f[3]};
  }
  void forward(ext::Call& call) const {
    const Lay lay(*this, call);
    if (lay.is_large(call.kernels)) {
      forward_by_columns(call, lay);
      return;
    }
    ScratchOperand scratch(call, lay.matrix, lay.most);
    Parts<4> parts(call, {call.in[0], call.in[1], call.in[2], call.out[0]}, lay.most);
    clear(call.kernels, lay.w, scratch);  // elements that no window covers stay 0
    while (parts.next()) {
      const ext::Operand& x = scratch.first(parts[0].examples);
      spread(call.kernels, lay.w, parts[0], x);
      const ext::Write write = start(call.kernels, lay, parts[2], parts[3]);
      call.kernels.product(x, ext::Transposed::kNo, seen_as(parts[1], lay.filters),
                           ext::Transposed::kNo, seen_as(parts[3], lay.result), write);
    }
  }
  /// Beside gradient(to), which has a product for each element of the filters: here it is one.
  void backward(ext::Call& call) const {
    const Lay lay(*this, call);
    ScratchOperand scratch(call, lay.matrix, lay.most);
    Parts<6> parts(
        call, {call.in[0], call.in[1], call.d_out[0], call.d_in[0], call.d_in[1], call.d_in[2]},
        lay.most);
    while (parts.next()) {
      const ext::Operand dy = seen_as(parts[2], lay.result);
      if (!parts[4].absent()) {
        const ext::Operand& x = scratch.first(parts[0].examples);
        clear(call.kernels, lay.w, scratch);
        spread(call.kernels, lay.w, parts[0], x);
        call.kernels.product(x, ext::Transposed::kYes, dy, ext::Transposed::kNo,
                             seen_as(parts[4], lay.filters));
      }
      if (!parts[5].absent()) {
        call.kernels.move(lay.bias(false), parts[2], parts[5]);
      }
      if (!parts[3].absent()) {
        const ext::Operand& dx = scratch.first(parts.examples());
        call.kernels.product(dy, ext::Transposed::kNo, seen_as(parts[1], lay.filters),
                             ext::Transposed::kYes, dx, ext::Write::kStore);
        lay.collect(call.kernels, dx, parts[3]);
      }
    }
  }
  /// Place after place of the filters.
  void gradient(auto& to) const {
    const Dim f = to.dim(to.in(1));
    const Dim y = to.dim(to.d_out());
    const Windows w = windows(to.dim(to.in(0)), f);
    const auto count = static_cast<unsigned>(w.count());
    if (to.wants(2)) {
      to.give(2, to.summed_along(to.reshaped(to.d_out(), Dim({count, f[3]}, y.bd)), 0));
    }
    for (unsigned c = 0; c < f[1]; ++c) {
      for (unsigned r = 0; r < f[0]; ++r) {
        if (w.rows.count(r) > 0 && w.cols.count(c) > 0) {
          give_place(to, w, r, c);
        }
      }
    }
  }
  static std::vector<ext::Example<Conv2d>> examples() {
    const auto of = [](unsigned s0, unsigned s1, bool is_valid, std::vector<Dim> in) {
      return ext::Example<Conv2d>{{{{s0, s1}, 2}, is_valid}, std::move(in)};
    };
    return {of(1, 1, true, {{4, 3, 2}, {2, 2, 2, 3}, {3}}),
            of(1, 1, true, {{4, 3, 2}, {2, 2, 2, 3}, ext::absent()}),
            of(1, 1, false, {{3, 4, 2}, {2, 3, 2, 2}, {2}}),
            of(2, 1, true, {{5, 3}, {2, 1, 1, 2}, ext::absent()}),
            of(2, 3, false, {{5, 4}, {3, 2, 1, 2}, {2}}),
            of(1, 2, false, {{2, 3, 1}, {5, 4, 1, 1}, ext::absent()}),
            of(1, 1, true, {{1, 1, 1}, {1, 1, 1, 1}, {1}}),
            of(3, 3, true, {{4, 4}, {1, 1, 1, 2}, ext::absent()}),
            of(1, 1, true, {{2, 2, 0}, {2, 1, 0, 2}, {2}}),
            of(2, 2, false, {{0, 2, 1}, {2, 1, 1, 2}, {2}})};
  }

 private:
  /// The gradients by element (r, c) of the filters: of the elements of x below it, and its own.
  static void give_place(auto& to, const Windows& w, unsigned r, unsigned c) {
    const Dim x = to.dim(to.in(0));
    const Dim f = to.dim(to.in(1));
    const auto rows = static_cast<unsigned>(w.rows.count(r));
    const auto cols = static_cast<unsigned>(w.cols.count(c));
    const auto i = static_cast<unsigned>(w.rows.first(r));
    const auto j = static_cast<unsigned>(w.cols.first(c));
    using Entries = StridedSelect::Entries;
    const Entries from{{static_cast<unsigned>(w.rows.stride * i + r - w.rows.pad),
                        static_cast<unsigned>(w.cols.stride * j + c - w.cols.pad), 0},
                       3};
    const Entries strides{
        {static_cast<unsigned>(w.rows.stride), static_cast<unsigned>(w.cols.stride), 1}, 3};
    const auto some = to.part(to.part(to.d_out(), i, rows, 0), j, cols, 1);
    const auto dy = to.reshaped(some, Dim({rows * cols, f[3]}, to.dim(some).bd));
    const Dim image({x[0], x[1], x[2]}, x.bd);
    if (to.wants(0)) {
      const auto at_place = to.part(to.part(to.in(1), r, 1, 0), c, 1, 1);
      const auto g = to.product(dy, to.transposed(to.reshaped(at_place, Dim({f[2], f[3]}, f.bd))));
      const Dim below({rows, cols, f[2]}, to.dim(g).bd);
      to.give(0, to.spread(to.reshaped(g, below), image.single_batch(), from, strides));
    }
    if (to.wants(1)) {
      const Entries end{
          {from[0] + (rows - 1) * strides[0] + 1, from[1] + (cols - 1) * strides[1] + 1, x[2]}, 3};
      const auto below = to.add(StridedSelect{strides, from, end}, to.reshaped(to.in(0), image));
      const auto flat = to.reshaped(below, Dim({rows * cols, x[2]}, x.bd));
      const auto g = to.product(to.transposed(flat), dy);
      const auto as_filter = to.reshaped(g, Dim({1, 1, f[2], f[3]}, to.dim(g).bd));
      to.give(1, to.padded(to.padded(as_filter, r, f[0], 0), c, f[1], 1));
    }
  }
  [[nodiscard]] Windows windows(const Dim& x, const Dim& f) const {
    return {WindowAxis::of(x[0], f[0], stride[0], is_valid),
            WindowAxis::of(x[1], f[1], stride[1], is_valid), x[2]};
  }
  /// The moves that bring each place of all windows to the matrix {windows, elements of a filter}.
  static void each_place(const Windows& w, auto f) {
    const std::int64_t step = w.count() * w.rows.size * w.cols.size;
    for (std::int64_t c = 0; c < w.cols.size; ++c) {
      for (std::int64_t r = 0; r < w.rows.size; ++r) {
        f(w.place(r, c, step, w.count() * (r + w.rows.size * c)));
      }
    }
  }
  /// Places of windows that lie outside are 0.
  static void clear(const ext::Kernels& k, const Windows& w, const ScratchOperand& scratch) {
    if (w.is_padded()) {
      scratch.fill(k, 0.0);
    }
  }
  static void spread(const ext::Kernels& k, const Windows& w, const ext::Operand& x,
                     const ext::Operand& to) {
    each_place(w, [&](const ext::Move& m) { k.move(m, x, to, ext::Write::kStore); });
  }

  /// How the windows of an example lie in the matrix {windows, elements of a filter}.
  struct Lay {
    Windows w;
    Dim matrix, filters, result;
    std::int64_t most;

    Lay(const Conv2d& op, const ext::Call& call) : w(op.windows(call.in[0].dim, call.in[1].dim)) {
      const Dim& f = call.in[1].dim;
      const auto count = static_cast<unsigned>(w.count());
      const unsigned each = f[0] * f[1] * f[2];
      matrix = {count, each};
      filters = {each, f[3]};
      result = {count, f[3]};
      most = std::min(call.examples, examples_at_once(call.kernels, matrix.example_elements()));
    }
    /// Whether the windows of some columns stay in a cache, and the windows of a whole example do
    /// not.
    [[nodiscard]] bool is_large(const ext::Kernels& k) const {
      return matrix.example_elements() * ext::bytes_of(k.number()) > kScratchBytes &&
             columns(k) < w.cols.out;
    }
    /// Columns at once: half of the cache is for the product.
    [[nodiscard]] std::int64_t columns(const ext::Kernels& k) const {
      return examples_at_once(k, 2 * w.rows.out * matrix[1]);
    }
    void collect(const ext::Kernels& k, const ext::Operand& from, const ext::Operand& dx) const {
      each_place(w, [&](const ext::Move& m) { k.move(reversed(m), from, dx); });
    }
    /// The bias to all windows, or the sum over them.
    [[nodiscard]] ext::Move bias(bool repeats) const {
      ext::Move m;
      m.box = result;
      m.from_stride[1] = 1;
      ext::strides_of(result, m.to_stride);
      return repeats ? m : reversed(m);
    }
  };
  /// Writes the bias, if there is one. Returns how the products are then to be written.
  static ext::Write start(const ext::Kernels& k, const Lay& lay, const ext::Operand& bias,
                          const ext::Operand& out) {
    if (bias.absent()) {
      return ext::Write::kAsBlocks;
    }
    k.move(lay.bias(true), bias, out);
    return ext::Write::kAdd;
  }
  /// One example at a time, and of it some columns of windows.
  static void forward_by_columns(const ext::Call& call, const Lay& lay) {
    const ext::Kernels& k = call.kernels;
    const std::int64_t most = lay.columns(k);
    const auto rows = static_cast<unsigned>(lay.w.rows.out);
    const auto wide = static_cast<unsigned>(most) * rows;
    const ScratchOperand windows_memory(call, {wide, lay.matrix[1]}, 1);
    const ScratchOperand result_memory(call, {wide, lay.result[1]}, 1);
    Parts<4> parts(call, {call.in[0], call.in[1], call.in[2], call.out[0]}, 1, true);
    while (parts.next()) {
      const ext::Write write = start(k, lay, parts[2], parts[3]);
      for (std::int64_t j = 0; j < lay.w.cols.out; j += most) {
        const Windows w = lay.w.columns(j, std::min(most, lay.w.cols.out - j));
        const auto count = static_cast<unsigned>(w.count());
        const ext::Operand x = seen_as(windows_memory, {count, lay.matrix[1]});
        const ext::Operand y = seen_as(result_memory, {count, lay.result[1]});
        clear(k, w, windows_memory);
        spread(k, w, parts[0], x);
        k.product(x, ext::Transposed::kNo, seen_as(parts[1], lay.filters), ext::Transposed::kNo, y,
                  ext::Write::kStore);
        ext::Move m;
        m.box = y.dim;
        ext::strides_of(y.dim, m.from_stride);
        m.to_stride[0] = 1;
        m.to_stride[1] = lay.w.count();
        m.to_offset = j * rows;
        k.move(m, y, parts[3], write);
      }
    }
  }
};

// ---- pooling
// ----------------------------------------------------------------------------------------------

struct MaxPooling2d {
  ext::List<unsigned, 2> ksize;
  ext::List<unsigned, 2> stride;
  bool is_valid = true;

  static constexpr ext::Info kInfo{
      .name = "maxpooling2d",
      .args = {"x"},
      .attrs = {"ksize", "stride", "is_valid"},
      .formula = "y[i, j, q] = max_rc x[i stride[0] + r - p0, j stride[1] + c - p1, q]",
      .summary =
          "The largest element of each window, in each channel. Windows have ksize elements and "
          "lie as in conv2d; elements outside count as -inf. Of equal elements the first gets the "
          "gradient, row by row.",
      .shapes =
          "{h,w,c} or {h,w} -> {(h - ksize[0]) / stride[0] + 1, .., c}, or not valid "
          "{h / stride[0], .., c} rounded up",
      .errors =
          "ShapeError for other shapes, windows larger than x if they must lie inside, or of more "
          "than 2^24 elements, or a ksize or stride that is not two numbers above 0"};
  static constexpr unsigned kSaved = 1;  // its place in the window
  static constexpr bool kPartialGradient = true;
  Dim shape(const ext::Shapes& in) const {
    check_window(in, ksize, "ksize");
    check_window(in, stride, "stride");
    const Dim& x = in[0];
    if (x.nd != 2 && x.nd != 3) {
      in.fail("x {h,w} or {h,w,c}");
    }
    if (is_valid && (ksize[0] > x[0] || ksize[1] > x[1])) {
      in.fail("windows not larger than x");
    }
    const Windows w = windows(x);
    check_spread(in, w);
    const ext::Count elements = ext::Count(w.rows.size) * w.cols.size;
    check_positions(in, elements.fits() ? static_cast<std::uint64_t>(elements.value()) : ~0ULL);
    Dim r = x;
    r.d[0] = static_cast<unsigned>(w.rows.out);
    r.d[1] = static_cast<unsigned>(w.cols.out);
    return r;
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {shape(in)}; }
  void forward(ext::Call& call) const {
    const Lay lay(*this, call);
    ScratchOperand scratch(call, lay.spread, lay.most);
    Parts<3> parts(call, {call.in[0], call.out[0], call.saved[0]}, lay.most);
    while (parts.next()) {
      const ext::Operand& places = scratch.first(parts.examples());
      if (lay.w.is_padded()) {
        scratch.fill(call.kernels, -std::numeric_limits<double>::infinity());
      }
      lay.each_place(
          [&](const ext::Move& m) { call.kernels.move(m, parts[0], places, ext::Write::kStore); });
      ext::Call largest(call.kernels, call.memory);
      largest.examples = parts.examples();
      largest.in = {&places, 1};
      largest.out = {&parts[1], 1};
      largest.saved = {&parts[2], 1};
      call.kernels.run_rows_call(ext::kRowRule<MaxDim>, ext::Direction::kForward, &kLargest,
                                 largest);
    }
  }
  void backward(ext::Call& call) const {
    const Lay lay(*this, call);
    ScratchOperand scratch(call, lay.spread, lay.most);
    Parts<5> parts(call, {call.in[0], call.out[0], call.saved[0], call.d_out[0], call.d_in[0]},
                   lay.most);
    while (parts.next()) {
      const ext::Operand& places = scratch.first(parts.examples());
      ext::Call largest(call.kernels, call.memory);
      largest.examples = parts.examples();
      largest.in = {&places, 1};  // for its shape: the rule reads the place of the largest
      largest.out = {&parts[1], 1};
      largest.saved = {&parts[2], 1};
      largest.d_out = {&parts[3], 1};
      largest.d_in = {&places, 1};
      call.kernels.run_rows_call(ext::kRowRule<MaxDim>, ext::Direction::kBackward, &kLargest,
                                 largest);
      lay.each_place([&](const ext::Move& m) { call.kernels.move(reversed(m), places, parts[4]); });
    }
  }
  static std::vector<ext::Example<MaxPooling2d>> examples() {
    const auto of = [](unsigned k0, unsigned k1, unsigned s0, unsigned s1, bool is_valid, Dim x) {
      return ext::Example<MaxPooling2d>{{{{k0, k1}, 2}, {{s0, s1}, 2}, is_valid}, {x}};
    };
    return {of(2, 2, 1, 1, true, {4, 3, 2}), of(2, 2, 2, 2, true, {4, 5}),
            of(3, 2, 2, 1, false, {5, 4}),   of(1, 1, 1, 1, true, {2, 3, 2}),
            of(1, 3, 1, 3, false, {2, 4}),   of(9, 9, 2, 2, false, {3, 3}),
            of(1, 1, 1, 1, true, {1, 1}),    of(2, 1, 1, 1, false, {0, 2, 1}),
            of(2, 3, 3, 1, true, {4, 4, 1})};
  }

 private:
  static constexpr MaxDim kLargest{3};
  [[nodiscard]] Windows windows(const Dim& x) const {
    return {WindowAxis::of(x[0], ksize[0], stride[0], is_valid).trimmed(),
            WindowAxis::of(x[1], ksize[1], stride[1], is_valid).trimmed(), x[2]};
  }
  /// {rows, cols, channels, places of a window}, the places of a row one after the other.
  struct Lay {
    Windows w;
    Dim spread;
    std::int64_t most;

    Lay(const MaxPooling2d& op, const ext::Call& call)
        : w(op.windows(call.in[0].dim)),
          spread({static_cast<unsigned>(w.rows.out), static_cast<unsigned>(w.cols.out),
                  static_cast<unsigned>(w.channels),
                  static_cast<unsigned>(w.rows.size * w.cols.size)}),
          most(std::min(call.examples, examples_at_once(call.kernels, spread.example_elements()))) {
    }
    void each_place(auto f) const {
      for (std::int64_t r = 0; r < w.rows.size; ++r) {
        for (std::int64_t c = 0; c < w.cols.size; ++c) {
          f(w.place(r, c, w.count(), w.count() * w.channels * (r * w.cols.size + c)));
        }
      }
    }
  };
};

using ConvolveOps = ext::OpList<Conv2d, MaxPooling2d>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::ConvolveOps)
