#pragma once

// Products and moves as a user outside the tree would write them.

#include "dynet/ext/op.h"

namespace user {

using dynet::Dim;
namespace ext = dynet::ext;

/// A column vector for one column, else a matrix.
inline Dim matrix_dim(unsigned rows, unsigned cols, bool vector) {
  return vector ? Dim{rows} : Dim{rows, cols};
}

/// y = a * b, matrices.
struct Product {
  static constexpr std::array kRoles{ext::Role::kEither, ext::Role::kEither};
  static constexpr ext::Info kInfo{
      .name = "user_product", .args = {"a", "b"}, .formula = "y = a b"};
  Dim shape(const ext::Shapes& in) const {
    if (in[0].nd > 2 || in[1].nd > 2 || in[0].cols() != in[1].rows()) {
      in.fail("{m,k} and {k,n}");
    }
    return matrix_dim(in[0].rows(), in[1].cols(), in[1].nd < 2);
  }
  void forward(ext::Call& c) const {
    c.kernels.product(c.in[0], ext::Transposed::kNo, c.in[1], ext::Transposed::kNo, c.out[0]);
  }
  void backward(ext::Call& c) const {
    if (!c.d_in[0].absent()) {
      ext::weight_gradient(c, 0, c.d_out[0], c.in[1]);
    }
    if (!c.d_in[1].absent()) {
      c.kernels.product(c.in[0], ext::Transposed::kYes, c.d_out[0], ext::Transposed::kNo,
                        c.d_in[1]);
    }
  }
  static std::vector<ext::Example<Product>> examples() {
    return {{{}, {{4, 3}, {3}}}, {{}, {{2, 3}, {3, 5}}}};
  }
};

/// y = b + W1 x1 + W2 x2 + ...
struct Affine {
  static constexpr bool kVariadic = true;
  static constexpr std::array kRoles{ext::Role::kEither, ext::Role::kShared};
  static constexpr ext::Info kInfo{
      .name = "user_affine", .args = {"xs"}, .formula = "y = b + W1 x1 + ..."};
  Dim shape(const ext::Shapes& in) const {
    if (in.size() % 2 == 0) {
      in.fail("an odd number of arguments");
    }
    const Dim r = matrix_dim(in[1].rows(), in[2].cols(), in[2].cols() == 1);
    for (std::size_t i = 1; i < in.size(); i += 2) {
      if (in[i].rows() != r.rows() || in[i].cols() != in[i + 1].rows() ||
          in[i + 1].cols() != r.cols()) {
        in.fail("b {m}, then W {m,k} and x {k}");
      }
    }
    if (in[0].rows() != r.rows()) {
      in.fail("b {m}, then W {m,k} and x {k}");
    }
    return r;
  }
  /// The bias goes to every column.
  [[nodiscard]] static ext::Move bias_move(const Dim& b, const Dim& y) {
    ext::Move m;
    m.box = Dim{y.rows(), y.cols()};
    m.from_stride[0] = 1;
    m.from_stride[1] = b.cols() == 1 ? 0 : y.rows();
    m.to_stride[0] = 1;
    m.to_stride[1] = y.rows();
    return m;
  }
  void forward(ext::Call& c) const {
    c.kernels.move(bias_move(c.in[0].dim, c.out[0].dim), c.in[0], c.out[0]);
    for (std::size_t i = 1; i < c.in.size(); i += 2) {
      c.kernels.product(c.in[i], ext::Transposed::kNo, c.in[i + 1], ext::Transposed::kNo, c.out[0],
                        ext::Write::kAdd);
    }
  }
  void backward(ext::Call& c) const {
    if (!c.d_in[0].absent()) {
      ext::Move m = bias_move(c.in[0].dim, c.out[0].dim);
      std::swap(m.from_stride, m.to_stride);
      c.kernels.move(m, c.d_out[0], c.d_in[0]);
    }
    for (std::size_t i = 1; i < c.in.size(); i += 2) {
      if (!c.d_in[i].absent()) {
        ext::weight_gradient(c, i, c.d_out[0], c.in[i + 1]);
      }
      if (!c.d_in[i + 1].absent()) {
        c.kernels.product(c.in[i], ext::Transposed::kYes, c.d_out[0], ext::Transposed::kNo,
                          c.d_in[i + 1]);
      }
    }
  }
  static std::vector<ext::Example<Affine>> examples() {
    return {{{}, {{4}, {4, 3}, {3}}}, {{}, {{4}, {4, 3}, {3}, {4, 2}, {2}}}};
  }
};

/// Elementwise rules that the next operation computes with.
struct TanhOf {
  DYNET_DEVICE_FN auto value(auto x) const { return dynet::rule::tanh(x); }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto y) const { return 1.0 - y * y; }
};
struct BackThroughTanh {
  DYNET_DEVICE_FN auto value(auto y, auto dy) const { return dy * (1.0 - y * y); }
  DYNET_DEVICE_FN auto slopes(auto y, auto dy, auto /*z*/) const {
    return dynet::rule::each(-2.0 * y * dy, 1.0 - y * y);
  }
};

/// A step of a recurrence, y = tanh(b + U h + W x), that is divided: the sum is saved.
struct RecurrentStep {
  static constexpr bool kVariadic = true;
  static constexpr std::array kRoles{ext::Role::kEither};
  static constexpr unsigned kHeadArgs = 1;              // b
  static constexpr unsigned kStateArgs = 2;             // U, h
  static constexpr std::uint32_t kStateVectors = 0b10;  // h
  static constexpr unsigned kTermArgs = 2;              // W, x
  static constexpr unsigned kSaved = 1;
  static constexpr ext::Info kInfo{
      .name = "user_step", .args = {"xs"}, .formula = "y = tanh(b + U h + W x)"};
  Dim shape(const ext::Shapes& in) const {
    if (in.size() != 5 || in[1].cols() != in[2].rows() || in[3].cols() != in[4].rows() ||
        in[1].rows() != in[0].rows() || in[3].rows() != in[0].rows()) {
      in.fail("b {m}, U {m,m}, h {m}, W {m,k} and x {k}");
    }
    return in[0];
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {in[0]}; }
  void forward(ext::Call& c) const {
    const ext::Operand& sum = c.saved[0];
    if (c.has_heads()) {
      const std::size_t term = c.has_state() ? 3 : 1;
      c.kernels.product_plus(c.in[0], c.in[term], c.in[term + 1], sum);
    }
    if (c.has_state()) {
      const std::size_t state = c.has_heads() ? 1 : 0;
      c.kernels.product(c.in[state], ext::Transposed::kNo, c.in[state + 1], ext::Transposed::kNo,
                        sum, ext::Write::kAdd);
      ext::apply_rule(TanhOf{}, c, c.out[0], sum);
    }
  }
  /// The gradient of the sum is left in the place of the sum.
  void backward(ext::Call& c) const {
    const ext::Operand& sum = c.saved[0];
    if (c.has_state()) {
      ext::apply_rule(BackThroughTanh{}, c, sum, c.out[0], c.d_out[0]);
      back_through(c, c.has_heads() ? 1 : 0);
    }
    if (c.has_heads()) {
      if (!c.d_in[0].absent()) {
        c.kernels.move(ext::whole_move(sum.size()), sum, c.d_in[0]);
      }
      back_through(c, c.has_state() ? 3 : 1);
    }
  }
  static std::vector<ext::Example<RecurrentStep>> examples() {
    return {{{}, {{4}, {4, 4}, {4}, {4, 3}, {3}}}, {{}, {{1}, {1, 1}, {1}, {1, 2}, {2}}}};
  }

 private:
  /// The product of arguments i and i + 1.
  static void back_through(ext::Call& c, std::size_t i) {
    if (!c.d_in[i].absent()) {
      ext::weight_gradient(c, i, c.saved[0], c.in[i + 1]);
    }
    if (!c.d_in[i + 1].absent()) {
      c.kernels.product(c.in[i], ext::Transposed::kYes, c.saved[0], ext::Transposed::kNo,
                        c.d_in[i + 1]);
    }
  }
};

/// Concatenates along dimension d.
struct Concatenate {
  unsigned d = 0;

  static constexpr bool kVariadic = true;
  static constexpr std::array kRoles{ext::Role::kEither};
  static constexpr ext::Info kInfo{.name = "user_concatenate", .args = {"xs"}, .attrs = {"d"}};
  Dim shape(const ext::Shapes& in) const {
    Dim r = in[0];
    r.resize(std::max(r.nd, d + 1));
    for (std::size_t i = 1; i < in.size(); ++i) {
      for (unsigned k = 0; k < r.nd; ++k) {
        if (k != d && in[i][k] != r[k]) {
          in.fail("equal dimensions but the one joined");
        }
      }
      r.d[d] += in[i][d];
    }
    return r;
  }
  /// Calls f(argument, move into the result).
  void each_move(const ext::Call& c, auto f) const {
    std::int64_t stride[DYNET_MAX_TENSOR_DIM];
    ext::strides_of(c.out[0].dim, stride);
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      ext::Move m;
      m.box = c.in[i].dim;
      m.box.resize(std::max(m.box.nd, d + 1));
      ext::strides_of(m.box, m.from_stride);
      std::copy(std::begin(stride), std::end(stride), m.to_stride);
      m.to_offset = offset;
      offset += m.box[d] * stride[d];
      f(i, m);
    }
  }
  void forward(ext::Call& c) const {
    each_move(c, [&](std::size_t i, const ext::Move& m) { c.kernels.move(m, c.in[i], c.out[0]); });
  }
  void backward(ext::Call& c) const {
    each_move(c, [&](std::size_t i, ext::Move m) {
      if (c.d_in[i].absent()) {
        return;
      }
      std::swap(m.from_stride, m.to_stride);
      std::swap(m.from_offset, m.to_offset);
      c.kernels.move(m, c.d_out[0], c.d_in[i]);
    });
  }
  static std::vector<ext::Example<Concatenate>> examples() {
    return {{{0}, {{2}, {3}}}, {{1}, {{2, 3}, {2, 1}}}, {{0}, {{1, 3}, {2, 3}, {1, 3}}}};
  }
};

/// One slice along dimension d, chosen by an index for each example.
struct Pick {
  unsigned d = 0;

  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr bool kPartialGradient = true;
  static constexpr ext::Info kInfo{
      .name = "user_pick", .args = {"x"}, .attrs = {"d"}, .payload = "v"};
  Dim shape(const ext::Shapes& in) const {
    if (d >= in[0].nd) {
      in.fail("a dimension of x");
    }
    Dim r = in[0];
    r.delete_dim(d);
    return r;
  }
  unsigned index_limit(const ext::Shapes& in) const { return in[0][d]; }
  [[nodiscard]] ext::Move slice(const Dim& x) const {
    ext::Move m;
    m.box = x;
    m.box.d[d] = 1;
    ext::strides_of(x, m.from_stride);
    ext::strides_of(m.box, m.to_stride);
    return m;
  }
  void forward(ext::Call& c) const {
    ext::Move m = slice(c.in[0].dim);
    m.index = c.indices;
    m.from_index_stride = m.from_stride[d];
    c.kernels.move(m, c.in[0], c.out[0]);
  }
  void backward(ext::Call& c) const {
    ext::Move m = slice(c.in[0].dim);
    std::swap(m.from_stride, m.to_stride);
    m.index = c.indices;
    m.to_index_stride = m.to_stride[d];
    c.kernels.move(m, c.d_out[0], c.d_in[0], ext::Write::kAdd);
  }
  static std::vector<ext::Example<Pick>> examples() {
    return {ext::Example<Pick>({0}, {{5}}).with_indices({2}),
            ext::Example<Pick>({1}, {{3, 4}}).with_indices({3})};
  }
};

/// The sum over the examples of the batch.
struct SumBatches {
  static constexpr std::array kRoles{ext::Role::kWhole};
  static constexpr ext::Info kInfo{.name = "user_sum_batches", .args = {"x"}};
  Dim shape(const ext::Shapes& in) const { return in[0].single_batch(); }
  /// The batch is the last dimension of the call's tensor.
  [[nodiscard]] static ext::Move sum_over_last(const Dim& x) {
    ext::Move m;
    m.box = x;
    ext::strides_of(x, m.from_stride);
    ext::strides_of(x, m.to_stride);
    m.to_stride[x.nd - 1] = 0;
    return m;
  }
  void forward(ext::Call& c) const {
    c.kernels.move(sum_over_last(c.in[0].dim), c.in[0], c.out[0]);
  }
  void backward(ext::Call& c) const {
    ext::Move m = sum_over_last(c.in[0].dim);
    std::swap(m.from_stride, m.to_stride);
    c.kernels.move(m, c.d_out[0], c.d_in[0]);
  }
  static std::vector<ext::Example<SumBatches>> examples() { return {{{}, {{4, 3}}}}; }
};

/// An elementwise rule that other operations compute with.
struct Times {
  DYNET_DEVICE_FN auto value(auto x, auto y) const { return x * y; }
  DYNET_DEVICE_FN auto slopes(auto x, auto y, auto /*z*/) const { return dynet::rule::each(y, x); }
};

/// Inverted dropout.
struct Dropout {
  float p = 0.5F;

  static constexpr bool kRandom = true;
  static constexpr bool kForTraining = true;
  static constexpr unsigned kSaved = 1;
  static constexpr ext::Info kInfo{.name = "user_dropout", .args = {"x"}, .attrs = {"p"}};
  Dim shape(const ext::Shapes& in) const {
    if (!(p >= 0.0F && p <= 1.0F)) {
      in.fail_value("p in [0, 1]");
    }
    return in[0];
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {in[0]}; }
  void forward(ext::Call& c) const {
    const double keep = 1.0 - static_cast<double>(p);
    auto* mask = c.saved[0].data<std::byte>();
    for (const ext::Call::Random& r : c.random) {
      const std::int64_t n = r.examples * c.saved[0].size();
      c.kernels.random(ext::Distribution::kBernoulli, keep, keep > 0.0 ? 1.0 / keep : 0.0, r.key,
                       mask, n);
      mask += n * ext::bytes_of(c.kernels.number());
    }
    ext::apply_rule(Times{}, c, c.out[0], c.in[0], c.saved[0]);
  }
  void backward(ext::Call& c) const {
    ext::apply_rule(Times{}, c, c.d_in[0], c.d_out[0], c.saved[0]);
  }
  static std::vector<ext::Example<Dropout>> examples() {
    return {{{0.5F}, {{4, 3}}}, {{0.2F}, {{7}}}};
  }
};

}  // namespace user
