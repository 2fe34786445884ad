#pragma once

// Rearrangement: nothing is computed, numbers are copied or only seen in another shape.

#include <array>
#include <utility>

#include "dynet/ops/common.h"

namespace dynet::ops {

struct Reshape {
  Dim d;

  static constexpr ext::Info kInfo{
      .name = "reshape",
      .args = {"x"},
      .attrs = {"d"},
      .formula = "y = x in memory order",
      .summary =
          "The same numbers in another shape; no data move. If d has the elements of the whole "
          "batch, the result is exactly d; if d has the elements of one example, the result is d "
          "with the batch of x.",
      .shapes = "any -> d",
      .errors = "ShapeError if the numbers of elements differ"};
  static constexpr bool kAliases = true;
  static constexpr std::array kRoles{ext::Role::kWhole};
  Dim shape(const ext::Shapes& in) const {
    if (d.elements() == in[0].elements()) {
      return d;
    }
    if (d.bd != 1 || d.example_elements() != in[0].example_elements()) {
      in.fail("as many elements as d = " + to_string(d) + " has");
    }
    Dim r = d;
    r.bd = in[0].bd;
    return r;
  }
  /// Copies the numbers if the value is not in the argument's memory.
  void forward(ext::Call& call) const {
    copy_flat(call.kernels, call.in[0], 0, call.out[0], 0,
              call.out[0].size() * call.out[0].examples);
  }
  void gradient(auto& to) const { to.give(0, to.reshaped(to.d_out(), to.dim(to.in(0)))); }
  static std::vector<ext::Example<Reshape>> examples() {
    return {{{{3, 4}}, {{4, 3}}},       {{{6}}, {{1, 2, 3}}},
            {{{1}}, {{1, 1}}},          {{{2, 3}}, {{6}}},
            {{{4, 3}}, {{4, 3}}},       {{{5, 0}}, {{0, 2}}},
            {{{2, 1, 3, 2}}, {{3, 4}}}, {{{1, 2, 1, 2, 1, 1, 3}}, {{3, 2, 1, 2, 1, 1, 1}}}};
  }
};

struct Concatenate {
  unsigned d = 0;

  static constexpr ext::Info kInfo{
      .name = "concatenate",
      .args = {"xs"},
      .attrs = {"d"},
      .formula = "y = [x1; x2; ...] along dimension d",
      .summary =
          "Puts the tensors of a list one after the other along dimension d. Shapes with fewer "
          "dimensions are "
          "filled up with 1.",
      .shapes = "{n1,..}, {n2,..}, ... -> {n1+n2+..,..}",
      .errors =
          "ShapeError if another dimension than d differs, ValueError if the list is "
          "empty, SizeError if the sum does not fit 32 bits"};
  static constexpr bool kVariadic = true;
  Dim shape(const ext::Shapes& in) const {
    if (d >= DYNET_MAX_TENSOR_DIM) {
      in.fail("d below 7, not " + std::to_string(d));
    }
    Dim r = in[0];
    ext::Count extent = in[0].d[d];
    for (std::size_t i = 1; i < in.size(); ++i) {
      r.nd = std::max(r.nd, in[i].nd);
      for (unsigned k = 0; k < DYNET_MAX_TENSOR_DIM; ++k) {
        if (k != d && in[i].d[k] != r.d[k]) {
          in.fail("equal dimensions, other than dimension " + std::to_string(d));
        }
      }
      extent = extent + in[i].d[d];
    }
    r.d[d] = in.extent(extent);
    r.nd = std::max(r.nd, d + 1);
    return r;
  }
  [[nodiscard]] bool by_columns(std::size_t /*arg*/, const Dim& x) const { return d + 1 < x.nd; }
  void forward(ext::Call& call) const {
    std::int64_t offset = 0;
    for (const ext::Operand& x : call.in) {
      ext::Move m = part(x.dim, call.out[0].dim);
      m.to_offset = offset;
      offset += m.box.d[d] * m.to_stride[d];
      call.kernels.move(m, x, call.out[0]);
    }
  }
  void gradient(auto& to) const {
    unsigned offset = 0;
    for (std::size_t i = 0; i < to.args(); ++i) {
      const unsigned count = to.dim(to.in(i))[d];
      if (to.wants(i)) {
        to.give(i, to.part(to.d_out(), offset, count, d));
      }
      offset += count;
    }
  }
  static std::vector<ext::Example<Concatenate>> examples() {
    return {{{0}, {{4}, {3}, {1}}},           {{0}, {{4, 3}, {2, 3}}},
            {{1}, {{4, 2}, {4}, {4, 1}}},     {{2}, {{2, 3}, {2, 3}}},
            {{1}, {{2, 1, 3}, {2, 2, 3}}},    {{0}, {{5}}},
            {{0}, {{2, 3}, {0, 3}}},          {{1}, {{3}, {3, 2}}},
            {{3}, {{2, 1, 2}, {2, 1, 2, 2}}}, {{6}, {{1, 2, 1, 2, 1, 1, 3}, {1, 2, 1, 2}}}};
  }

 private:
  [[nodiscard]] static ext::Move part(const Dim& x, const Dim& y) {
    ext::Move m;
    m.box = x;
    m.box.nd = y.nd;
    ext::strides_of(m.box, m.from_stride);
    ext::strides_of(y, m.to_stride);
    return m;
  }
};

struct PickBatchElem {
  static constexpr ext::Info kInfo{.name = "pick_batch_elem",
                                   .args = {"x"},
                                   .payload = "v",
                                   .formula = "y = x[v], v counting the examples",
                                   .summary = "One example of a batch.",
                                   .shapes = "{..}xb -> {..}",
                                   .errors = "IndexError if v is not below the batch size"};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr ext::IndicesPer kIndicesPer = ext::IndicesPer::kNode;
  static constexpr bool kPartialGradient = true;
  static constexpr std::array kRoles{ext::Role::kWhole};
  Dim shape(const ext::Shapes& in) const {
    check_one_payload(in, "one index v");
    return in[0].single_batch();
  }
  unsigned index_limit(const ext::Shapes& in) const { return in[0].bd; }
  void forward(ext::Call& call) const {
    ext::Move m = ext::whole_move(call.out[0].size());
    m.index = call.indices;
    m.from_index_stride = call.out[0].size();
    call.kernels.move(m, call.in[0], call.out[0]);
  }
  void gradient(auto& to) const { to.give_examples(); }
  static std::vector<ext::Example<PickBatchElem>> examples() {
    std::vector<ext::Example<PickBatchElem>> all;
    for (const Dim& d : std::initializer_list<Dim>{
             {4, 3}, {1}, {5}, {1, 1}, {0, 2}, {2, 3, 2}, {2, 1, 3, 2}, {1, 2, 1, 2, 1, 1, 3}}) {
      all.push_back(ext::Example<PickBatchElem>{{}, {d}}.with_indices({0}));
    }
    return all;
  }
};

struct ConcatenateToBatch {
  static constexpr ext::Info kInfo{
      .name = "concatenate_to_batch",
      .args = {"xs"},
      .formula = "y = the examples of x1, then the examples of x2, ...",
      .summary = "Makes one batch of a list.",
      .shapes = "{..}xb1, {..}xb2, ... -> {..}x(b1+b2+..)",
      .errors =
          "ShapeError if the shapes of one example differ, ValueError if the list is "
          "empty, SizeError if the sum does not fit 32 bits"};
  static constexpr bool kVariadic = true;
  static constexpr std::array kRoles{ext::Role::kWhole};
  Dim shape(const ext::Shapes& in) const {
    Dim r = in[0];
    ext::Count examples = in[0].bd;
    for (std::size_t i = 1; i < in.size(); ++i) {
      if (in[i].single_batch() != in[0].single_batch()) {
        in.fail("equal shapes of one example");
      }
      examples = examples + in[i].bd;
    }
    r.bd = in.extent(examples);
    return r;
  }
  void forward(ext::Call& call) const {
    std::int64_t at = 0;
    for (const ext::Operand& x : call.in) {
      ext::Move m = ext::whole_move(x.size());
      m.to_offset = at;
      at += x.size();
      call.kernels.move(m, x, call.out[0]);
    }
  }
  void gradient(auto& to) const {
    const Dim y = to.dim(to.d_out());
    const auto n = static_cast<unsigned>(y.example_elements());
    const auto columns = to.reshaped(to.d_out(), Dim({n, y.bd}));
    unsigned at = 0;
    for (std::size_t i = 0; i < to.args(); ++i) {
      const Dim x = to.dim(to.in(i));
      if (to.wants(i)) {
        to.give(i, to.reshaped(to.part(columns, at, x.bd, 1), x));
      }
      at += x.bd;
    }
  }
  static std::vector<ext::Example<ConcatenateToBatch>> examples() {
    return {{{}, {{4, 3}, {4, 3}, {4, 3}}},
            {{}, {{1}, {1}}},
            {{}, {{5}}},
            {{}, {{3}, {3}}},
            {{}, {{1, 1}, {1, 1}}},
            {{}, {{0, 2}, {0, 2}}},
            {{}, {{2, 3, 2}, {2, 3, 2}}},
            {{}, {{1, 2, 1, 2, 1, 1, 3}, {1, 2, 1, 2, 1, 1, 3}}}};
  }
};

struct NoBackprop {
  static constexpr ext::Info kInfo{.name = "nobackprop",
                                   .args = {"x"},
                                   .formula = "y = x; dx = 0",
                                   .summary = "The value of x, through which no gradient flows.",
                                   .shapes = "any -> the same"};
  static constexpr bool kAliases = true;
  static constexpr bool kStopsGradient = true;
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  static std::vector<ext::Example<NoBackprop>> examples() {
    return elementwise_examples<NoBackprop>();
  }
};

using ShapeOps = ext::OpList<Reshape, Concatenate, PickBatchElem, ConcatenateToBatch, NoBackprop>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::ShapeOps)
