#pragma once

// Elements in order: running sums, and the largest of them.

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "dynet/ops/common.h"
#include "dynet/ops/steps.h"

namespace dynet::ops {

/// The position of each element.
struct Positions {
  unsigned d;
  static constexpr ext::Info kInfo{.name = "positions", .args = {"x"}, .attrs = {"d"}};
  static constexpr std::array kAlong{rule::Along::kElements};
  std::uint32_t row_axes() const { return std::uint32_t{1} << d; }
  DYNET_DEVICE_FN constexpr auto value(auto /*x*/) const { return rule::each(over::position()); }
  DYNET_DEVICE_FN constexpr auto pull(auto /*x*/, auto /*y*/, auto dy) const {
    return rule::each(0.0 * dy);
  }
  static std::vector<ext::Example<Positions>> examples() { return {{{0}, {{4, 3}}}}; }
};
using OrderSteps = ext::OpList<Positions>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::OrderSteps)

namespace dynet::ops {

struct CumSum {
  unsigned d = 0;

  static constexpr ext::Info kInfo{
      .name = "cumsum",
      .args = {"x"},
      .attrs = {"d"},
      .formula = "y_k = x_0 + ... + x_k along dimension d",
      .summary = "Running sums along dimension d: each element is added to all before it.",
      .shapes = "any -> the same",
      .errors = "ShapeError if x has no dimension d"};
  Dim shape(const ext::Shapes& in) const {
    check_axis(in, d);
    return in[0];
  }
  void forward(ext::Call& call) const {
    call.kernels.scan(d, ext::ScanFrom::kStart, call.in[0], call.out[0]);
  }
  void gradient(auto& to) const { to.give(0, to.summed_onward(to.d_out(), d)); }
  static std::vector<ext::Example<CumSum>> examples() {
    return {{{0}, {{7}}},
            {{0}, {{4, 3}}},
            {{1}, {{4, 3}}},
            {{2}, {{2, 3, 4}}},
            {{1}, {{2, 3, 4}}},
            {{0}, {{1}}},
            {{1}, {{3, 0}}},
            {{0}, {{0, 3}}},
            {{1}, {{70, 2}}},
            {{0}, {{100}}},
            {{4}, {{1, 2, 1, 2, 3, 2, 2}}}};
  }
};

/// The shape of x with k elements along dimension d.
inline Dim with_largest(const ext::Shapes& in, unsigned k, unsigned d) {
  check_axis(in, d);
  check_positions(in, in[0].d[d]);
  if (k == 0 || k > in[0].d[d]) {
    in.fail("k from 1 to " + std::to_string(in[0].d[d]) + ", not " + std::to_string(k));
  }
  Dim r = in[0];
  r.d[d] = k;
  return r;
}
/// From lines of x along dimension d to chosen elements of them, by their places.
inline ext::Move by_places(const Dim& x, unsigned d, const ext::Operand& places) {
  ext::Move m;
  m.box = places.dim;
  ext::strides_of(x, m.from_stride);
  ext::strides_of(places.dim, m.to_stride);
  m.index = places;
  m.index_axis = ext::Move::kPerElement;
  m.from_index_stride = m.from_stride[d];
  m.from_stride[d] = 0;  // the place says where
  return m;
}

struct KMaxPooling {
  unsigned k;
  unsigned d = 1;

  static constexpr ext::Info kInfo{
      .name = "kmax_pooling",
      .args = {"x"},
      .attrs = {"k", "d"},
      .formula = "y = the k largest x along dimension d, in the order in which they stand",
      .summary =
          "The k largest elements along dimension d, in the order in which they stand. Of equal "
          "elements the first are taken; NaN counts as the largest.",
      .shapes = "{a,b} -> {a,k} for d = 1, {k,b} for d = 0, ...",
      .errors = "ShapeError if x has no dimension d, or not 1 <= k <= its extent <= 2^24",
      .source = "Kalchbrenner et al., 2014"};
  static constexpr unsigned kSaved = 1;  // their positions
  static constexpr std::array kSavedAs{ext::SavedAs::kIndices};
  static constexpr bool kPartialGradient = true;
  Dim shape(const ext::Shapes& in) const { return with_largest(in, k, d); }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {with_largest(in, k, d)}; }
  void forward(ext::Call& call) const {
    call.kernels.select(d, ext::Order::kAsTheyStand, call.in[0], call.saved[0]);
    call.kernels.move(by_places(call.in[0].dim, d, call.saved[0]), call.in[0], call.out[0]);
  }
  void gradient(auto& to) const {
    to.give(0, to.put_back(to.d_out(), to.dim(to.in(0)), d, 0,
                           [this](auto& nodes) { return this->places(nodes); }));
  }
  static std::vector<ext::Example<KMaxPooling>> examples() {
    return {{{2, 1}, {{3, 4}}},    {{4, 1}, {{3, 4}}},    {{1, 1}, {{4, 1}}},
            {{3, 0}, {{7}}},       {{1, 0}, {{1}}},       {{2, 0}, {{4, 3}}},
            {{3, 2}, {{2, 2, 5}}}, {{2, 1}, {{2, 3, 2}}}, {{2, 4}, {{1, 2, 1, 2, 3, 2, 2}}},
            {{2, 1}, {{0, 4}}}};
  }

 private:
  /// The positions of the largest elements, in their order.
  [[nodiscard]] auto places(auto& nodes) const;
};

struct TopK {
  unsigned k;
  unsigned d = 0;

  static constexpr ext::Info kInfo{
      .name = "topk",
      .args = {"x"},
      .attrs = {"k", "d"},
      .formula = "y = the k largest x along dimension d, the largest first; i = their positions",
      .summary =
          "The k largest elements along dimension d in descending order, and their positions as "
          "numbers, through which no gradient flows. Of equal elements the one that stands first "
          "comes first; NaN counts as the largest. With the extent as k, x is sorted.",
      .shapes = "{a,b} -> {k,b}, {k,b} for d = 0, {a,k}, {a,k} for d = 1, ...",
      .errors = "ShapeError if x has no dimension d, or not 1 <= k <= its extent <= 2^24"};
  using Steps = ext::OpList<Positions>;

  static constexpr unsigned kOutputs = 2;
  static constexpr unsigned kSaved = 1;  // their positions
  static constexpr std::array kSavedAs{ext::SavedAs::kIndices};
  static constexpr bool kPartialGradient = true;
  std::array<Dim, 2> shapes(const ext::Shapes& in) const {
    const Dim y = with_largest(in, k, d);
    return {y, y};
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {with_largest(in, k, d)}; }
  void forward(ext::Call& call) const {
    const ext::Operand& x = call.in[0];
    const ext::Move m = by_places(x.dim, d, call.saved[0]);
    call.kernels.select(d, ext::Order::kDescending, x, call.saved[0]);
    call.kernels.move(m, x, call.out[0]);
    const ScratchOperand positions(call, x.dim, call.examples);
    forward_step(Positions{d}, call, {nothing(x.dim)}, {positions});
    call.kernels.move(m, positions, call.out[1]);
  }
  void gradient(auto& to) const {
    to.give(0, to.put_back(to.d_out(), to.dim(to.in(0)), d, 0,
                           [](auto& nodes) { return nodes.out(1); }));
  }
  static std::vector<ext::Example<TopK>> examples() {
    return {{{2, 0}, {{4, 3}}},    {{4, 0}, {{4, 3}}},    {{1, 1}, {{4, 1}}},
            {{3, 0}, {{7}}},       {{1, 0}, {{1}}},       {{2, 1}, {{4, 3}}},
            {{3, 2}, {{2, 2, 5}}}, {{2, 1}, {{2, 3, 2}}}, {{2, 4}, {{1, 2, 1, 2, 3, 2, 2}}},
            {{2, 1}, {{0, 4}}}};
  }
};

auto KMaxPooling::places(auto& nodes) const {
  const TopK largest{k, d};
  const auto positions = nodes.output(nodes.add(largest, nodes.in(0)), 1);
  return nodes.scaled(nodes.add(largest, nodes.scaled(positions, -1.0)), -1.0);
}

using OrderOps = ext::OpList<CumSum, KMaxPooling, TopK>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::OrderOps)
