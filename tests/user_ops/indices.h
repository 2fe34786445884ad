#pragma once

// Indices, saved places, whole batches, scratch memory and absent arguments, as a user outside the
// tree would write them. These have no twins in the library.

#include <utility>

#include "dynet/ext/op.h"

namespace user {

using dynet::Dim;
namespace ext = dynet::ext;

/// Some rows of a matrix: one list per node, of any length.
struct SelectRows {
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr ext::IndicesPer kIndicesPer = ext::IndicesPer::kNode;
  static constexpr bool kPartialGradient = true;
  static constexpr ext::Info kInfo{.name = "user_select_rows",
                                   .args = {"x"},
                                   .payload = "rows",
                                   .formula = "y[i, j] = x[rows[i], j]"};
  Dim shape(const ext::Shapes& in) const {
    if (in[0].nd != 2 || in.payload() == 0) {
      in.fail("a matrix x and one row or more");
    }
    return {in.payload(), in[0].cols()};
  }
  unsigned index_limit(const ext::Shapes& in) const { return in[0].rows(); }
  void forward(ext::Call& c) const { c.kernels.move(rows(c, true), c.in[0], c.out[0]); }
  void backward(ext::Call& c) const { c.kernels.move(rows(c, false), c.d_out[0], c.d_in[0]); }
  static std::vector<ext::Example<SelectRows>> examples() {
    return {ext::Example<SelectRows>({}, {{4, 3}}).with_indices({2, 0, 2}),
            ext::Example<SelectRows>({}, {{5, 2}}).with_indices({4})};
  }

 private:
  [[nodiscard]] static ext::Move rows(const ext::Call& c, bool reads) {
    ext::Move m;
    m.box = c.out[0].dim;
    m.from_stride[1] = c.in[0].dim.rows();
    m.to_stride[0] = 1;
    m.to_stride[1] = c.out[0].dim.rows();
    m.index = c.indices;
    m.index_axis = 0;
    m.from_index_stride = 1;
    if (!reads) {
      std::swap(m.from_stride, m.to_stride);
      std::swap(m.from_index_stride, m.to_index_stride);
    }
    return m;
  }
};

/// The sum of k elements of a vector, chosen for each example.
struct SumOfSome {
  unsigned k = 2;

  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr bool kPartialGradient = true;
  static constexpr ext::Info kInfo{.name = "user_sum_of_some",
                                   .args = {"x"},
                                   .attrs = {"k"},
                                   .payload = "which",
                                   .formula = "y = sum_i x[which[i]], i below k"};
  Dim shape(const ext::Shapes& in) const {
    if (in[0].nd != 1 || k == 0) {
      in.fail("a vector x and k above 0");
    }
    return {1};
  }
  [[nodiscard]] unsigned index_count() const { return k; }
  unsigned index_limit(const ext::Shapes& in) const { return in[0].rows(); }
  void forward(ext::Call& c) const { c.kernels.move(elements(c, true), c.in[0], c.out[0]); }
  void backward(ext::Call& c) const { c.kernels.move(elements(c, false), c.d_out[0], c.d_in[0]); }
  static std::vector<ext::Example<SumOfSome>> examples() {
    return {ext::Example<SumOfSome>({2}, {{5}}).with_indices({4, 1}),
            ext::Example<SumOfSome>({3}, {{4}}).with_indices({0, 3, 3})};
  }

 private:
  [[nodiscard]] ext::Move elements(const ext::Call& c, bool reads) const {
    ext::Move m;
    m.box = {k};
    m.index = c.indices;
    m.index_axis = 0;
    (reads ? m.from_index_stride : m.to_index_stride) = 1;
    return m;
  }
};

/// The largest element of a vector. Its place is kept for backward, as an integer. No loop of
/// ext::Kernels finds places, so forward looks for it on the host.
struct Largest {
  static constexpr unsigned kSaved = 1;
  static constexpr std::array kSavedAs{ext::SavedAs::kIndices};
  static constexpr bool kPartialGradient = true;
  static constexpr bool kOnHost = true;
  static constexpr ext::Info kInfo{
      .name = "user_largest", .args = {"x"}, .formula = "y = max_i x_i"};
  Dim shape(const ext::Shapes& in) const {
    if (in[0].nd != 1) {
      in.fail("a vector x");
    }
    return {1};
  }
  std::array<Dim, 1> saved(const ext::Shapes& /*in*/) const { return {Dim({1})}; }
  void forward(ext::Call& c) const {
    c.kernels.number() == ext::Number::kFloat ? find<float>(c) : find<double>(c);
  }
  void backward(ext::Call& c) const {
    ext::Move m = ext::whole_move(1);
    m.index = c.saved[0];
    m.to_index_stride = 1;
    c.kernels.move(m, c.d_out[0], c.d_in[0]);
  }
  static std::vector<ext::Example<Largest>> examples() { return {{{}, {{5}}}, {{}, {{1}}}}; }

 private:
  template <class T>
  static void find(ext::Call& c) {
    for (std::int64_t e = 0; e < c.examples; ++e) {
      const T* x = c.in[0].example<const T>(e);
      unsigned best = 0;
      for (unsigned i = 1; i < c.in[0].size(); ++i) {
        best = x[i] > x[best] ? i : best;
      }
      *c.saved[0].example<unsigned>(e) = best;
      *c.out[0].example<T>(e) = x[best];
    }
  }
};

/// y = W^T (W x), with W x in scratch memory.
struct ThereAndBack {
  static constexpr std::array kRoles{ext::Role::kEither, ext::Role::kStacked};
  static constexpr ext::Info kInfo{
      .name = "user_there_and_back", .args = {"w", "x"}, .formula = "y = transpose(w) w x"};
  Dim shape(const ext::Shapes& in) const {
    if (in[0].nd > 2 || in[1].nd != 1 || in[0].cols() != in[1].rows()) {
      in.fail("w {m,k} and x {k}");
    }
    return in[1];
  }
  void forward(ext::Call& c) const {
    const Scratch t(c);
    c.kernels.product(c.in[0], kNo, c.in[1], kNo, t.all, ext::Write::kStore);
    c.kernels.product(c.in[0], kYes, t.all, kNo, c.out[0]);
  }
  void backward(ext::Call& c) const {
    const ext::Operand& dy = c.d_out[0];
    const Scratch t(c);
    const Scratch dt(c);
    c.kernels.product(c.in[0], kNo, c.in[1], kNo, t.all, ext::Write::kStore);
    c.kernels.product(c.in[0], kNo, dy, kNo, dt.all, ext::Write::kStore);
    if (!c.d_in[0].absent()) {
      c.kernels.product(t.all, kNo, dy, kYes, c.d_in[0]);
      c.kernels.product(dt.all, kNo, c.in[1], kYes, c.d_in[0], ext::Write::kAdd);
    }
    if (!c.d_in[1].absent()) {
      c.kernels.product(c.in[0], kYes, dt.all, kNo, c.d_in[1]);
    }
  }
  static std::vector<ext::Example<ThereAndBack>> examples() {
    return {{{}, {{4, 3}, {3}}}, {{}, {{2, 5}, {5}}}};
  }

 private:
  static constexpr auto kNo = ext::Transposed::kNo;
  static constexpr auto kYes = ext::Transposed::kYes;
  /// {m} for each example.
  struct Scratch {
    ext::Block block;
    ext::Operand all;
    explicit Scratch(const ext::Call& c)
        : block{c.scratch(c.in[0].dim.rows() * c.examples * ext::bytes_of(c.kernels.number())),
                c.examples, true},
          all{.dim = {c.in[0].dim.rows()},
              .examples = c.examples,
              .blocks = &block,
              .block_count = 1} {}
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() = default;
  };
};

/// y = x + a + b; a and b may be absent.
struct SumOfThose {
  static constexpr std::array kOptional{0, 1, 2};
  static constexpr ext::Info kInfo{
      .name = "user_sum_of_those", .args = {"x", "a", "b"}, .formula = "y = x + a + b"};
  Dim shape(const ext::Shapes& in) const {
    for (std::size_t i = 1; i < in.size(); ++i) {
      if (in.has(i) && in[i] != in[0]) {
        in.fail("equal shapes");
      }
    }
    return in[0];
  }
  void forward(ext::Call& c) const {
    auto write = ext::Write::kAsBlocks;
    for (const ext::Operand& x : c.in) {
      if (!x.absent()) {
        c.kernels.move(ext::whole_move(x.size()), x, c.out[0], write);
        write = ext::Write::kAdd;
      }
    }
  }
  void backward(ext::Call& c) const {
    for (const ext::Operand& dx : c.d_in) {
      if (!dx.absent()) {
        c.kernels.move(ext::whole_move(dx.size()), c.d_out[0], dx);
      }
    }
  }
  static std::vector<ext::Example<SumOfThose>> examples() {
    return {{{}, {{4, 3}, {4, 3}, {4, 3}}},
            {{}, {{4, 3}, ext::absent(), {4, 3}}},
            {{}, {{4, 3}, {4, 3}, ext::absent()}},
            {{}, {{5}, ext::absent(), ext::absent()}}};
  }
};

/// The examples of a batch in an order given per node.
struct Shuffle {
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr ext::IndicesPer kIndicesPer = ext::IndicesPer::kNode;
  static constexpr bool kPartialGradient = true;
  static constexpr std::array kRoles{ext::Role::kWhole};
  static constexpr ext::Info kInfo{
      .name = "user_shuffle", .args = {"x"}, .payload = "order", .formula = "y[e] = x[order[e]]"};
  Dim shape(const ext::Shapes& in) const {
    Dim r = in[0];
    r.bd = in.payload();
    return r;
  }
  unsigned index_limit(const ext::Shapes& in) const { return in[0].bd; }
  void forward(ext::Call& c) const { c.kernels.move(examples_of(c, true), c.in[0], c.out[0]); }
  void backward(ext::Call& c) const {
    c.kernels.move(examples_of(c, false), c.d_out[0], c.d_in[0]);
  }
  static std::vector<ext::Example<Shuffle>> examples() {
    return {ext::Example<Shuffle>({}, {{4, 3}}).with_indices({0, 0}),
            ext::Example<Shuffle>({}, {{2}}).with_indices({0})};
  }

 private:
  [[nodiscard]] static ext::Move examples_of(const ext::Call& c, bool reads) {
    const Dim& y = c.out[0].dim;  // the last dimension is the batch
    const auto count = y[y.nd - 1];
    const auto size = c.out[0].size() / count;
    ext::Move m;
    m.box = {static_cast<unsigned>(size), count};
    m.from_stride[0] = m.to_stride[0] = 1;
    (reads ? m.to_stride : m.from_stride)[1] = size;
    m.index = c.indices;
    m.index_axis = 1;
    (reads ? m.from_index_stride : m.to_index_stride) = size;
    return m;
  }
};

}  // namespace user
