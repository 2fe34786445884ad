#pragma once

// Maxima and softmax within segments: the entries of one dimension fall into groups by a list, such
// as the edges of a graph by the node to which they lead. The sum of each segment is scatter_add.
//
// Entries go to their segments and back by the moves of scatter_add and gather; a rule over rows
// does the steps between. A segment that no index names is empty: its maximum is 0, as its sum is,
// so that a node of a graph without edges gets a number.

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "dynet/ops/arithmetic.h"
#include "dynet/ops/common.h"
#include "dynet/ops/elementary.h"
#include "dynet/ops/select.h"
#include "dynet/ops/steps.h"

namespace dynet::ops {

// ---- steps
// ---------------------------------------------------------------------------------------

/// exp(x - top), element by element.
struct ExpBelow {
  static constexpr ext::Info kInfo{.name = "exp_below", .args = {"x", "top"}};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kElements};
  std::uint32_t row_axes() const { return ext::kWholeExample; }
  DYNET_DEVICE_FN constexpr auto value(auto x, auto top) const { return rule::each(exp(x - top)); }
  DYNET_DEVICE_FN constexpr auto pull(auto /*x*/, auto /*top*/, auto y, auto dy) const {
    return rule::each(y * dy, -(y * dy));
  }
  static std::vector<ext::Example<ExpBelow>> examples() { return {{{}, {{4, 3}, {4, 3}}}}; }
};

/// The gradient of softmax, y (dy - m), with m the mean of dy under the distribution y.
struct AboveMean {
  static constexpr ext::Info kInfo{.name = "above_mean", .args = {"y", "dy", "mean"}};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kElements,
                                     rule::Along::kElements};
  std::uint32_t row_axes() const { return ext::kWholeExample; }
  DYNET_DEVICE_FN constexpr auto value(auto y, auto dy, auto mean) const {
    return rule::each(y * (dy - mean));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto y, auto dy, auto mean, auto /*z*/, auto dz) const {
    return rule::each(dz * (dy - mean), dz * y, -(dz * y));
  }
  static std::vector<ext::Example<AboveMean>> examples() {
    return {{{}, {{4, 3}, {4, 3}, {4, 3}}}};
  }
};

/// The place along dimension d of the elements that are the largest of their segments, negative, so
/// that the largest of these numbers belongs to the first; -inf for the other elements.
struct PlaceOfTop {
  unsigned d;
  static constexpr ext::Info kInfo{.name = "place_of_top", .args = {"x", "top"}, .attrs = {"d"}};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kElements};
  static constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
  std::uint32_t row_axes() const { return std::uint32_t{1} << d; }
  /// With NaN in a segment the first NaN is the largest.
  DYNET_DEVICE_FN constexpr auto value(auto x, auto top) const {
    const auto place = -over::position();
    return rule::each(select(x == top, place, select(x == x, kMinusInf, place)));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto /*x*/, auto /*top*/, auto /*y*/, auto dy) const {
    return rule::each(0.0 * dy, 0.0 * dy);
  }
  static std::vector<ext::Example<PlaceOfTop>> examples() { return {{{0}, {{4, 3}, {4, 3}}}}; }
};

/// dy if `place` is the place of the element, else 0.
struct OnlyAtPlace {
  unsigned d;
  static constexpr ext::Info kInfo{
      .name = "only_at_place", .args = {"place", "dy"}, .attrs = {"d"}};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kElements};
  std::uint32_t row_axes() const { return std::uint32_t{1} << d; }
  DYNET_DEVICE_FN constexpr auto value(auto place, auto dy) const {
    return rule::each(select(place == -over::position(), dy, 0.0));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto place, auto /*dy*/, auto /*z*/, auto dz) const {
    return rule::each(0.0 * dz, select(place == -over::position(), dz, 0.0));
  }
  static std::vector<ext::Example<OnlyAtPlace>> examples() { return {{{0}, {{4, 3}, {4, 3}}}}; }
};

using SegmentSteps = ext::OpList<ExpBelow, AboveMean, PlaceOfTop, OnlyAtPlace>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::SegmentSteps)

namespace dynet::ops {

// ---- operations
// ----------------------------------------------------------------------------------

/// The moves between the entries of a call, x of shape `entries`, and the segments in dimension d.
class SegmentsOf {
 public:
  SegmentsOf(const ext::Call& call, const Dim& entries, unsigned segments, unsigned d)
      : call_(call), d_(d), entries_(entries), shape_(entries) {
    shape_.d[d] = segments;
    back_ = indexed_move(shape_, entries_, d, call.indices);
    there_ = reversed(back_);
  }
  /// Shape of one number for each segment.
  [[nodiscard]] const Dim& shape() const { return shape_; }
  void largest(const ext::Operand& x, const ext::Operand& y) const {
    collect(x, y, -std::numeric_limits<double>::infinity(), ext::Write::kMax);
  }
  void sums(const ext::Operand& x, const ext::Operand& y) const {
    collect(x, y, 0.0, ext::Write::kAdd);
  }
  /// Sets all numbers of each segment to its number in `starts` {segments}.
  void begin(const ext::Operand& starts, const ext::Operand& y) const {
    ext::Move m;
    m.box = shape_;
    m.from_stride[d_] = 1;
    ext::strides_of(shape_, m.to_stride);
    call_.kernels.move(m, starts, y, ext::Write::kStore);
  }
  /// From the entries to their segments.
  [[nodiscard]] const ext::Move& there() const { return there_; }
  /// Gives each entry the number of its segment.
  void give(const ext::Operand& y, const ext::Operand& x) const { call_.kernels.move(back_, y, x); }

 private:
  void collect(const ext::Operand& x, const ext::Operand& y, double start, ext::Write how) const {
    for (std::int64_t b = 0; b < y.block_count; ++b) {
      call_.kernels.fill(y.blocks[b].data, start, y.blocks[b].examples * y.size());
    }
    call_.kernels.move(there_, x, y, how);
  }

  const ext::Call& call_;
  unsigned d_;
  Dim entries_, shape_;
  ext::Move there_, back_;
};

/// x has n entries, at least one, in dimension d.
inline void check_entries(const ext::Shapes& in, unsigned n, unsigned d) {
  check_axis(in, d);
  if (n == 0 || in[0][d] != n) {
    in.fail("n = " + std::to_string(n) + " entries, at least one, in dimension " +
            std::to_string(d));
  }
}

/// Examples of an operation on `segments` segments of dimension d.
template <class Op>
std::vector<ext::Example<Op>> segment_examples() {
  const auto of = [](unsigned segments, unsigned d, const Dim& x, std::vector<unsigned> list) {
    return ext::Example<Op>{{segments, static_cast<unsigned>(list.size()), d}, {x}}.with_indices(
        std::move(list));
  };
  return {of(3, 1, {2, 5}, {2, 0, 0, 2, 0}),
          of(2, 0, {4}, {1, 1, 0, 1}),
          of(4, 0, {3, 2}, {3, 3, 1}),
          of(1, 1, {3, 4}, {0, 0, 0, 0}),
          of(2, 2, {2, 3, 3}, {1, 0, 1}),
          of(1, 0, {1}, {0}),
          of(5, 1, {17, 2}, {4, 4}),
          of(3, 1, {0, 2}, {1, 2}),
          of(3, 6, {1, 2, 1, 2, 1, 1, 4}, {2, 0, 2, 2})};
}

struct SegmentMax {
  unsigned segments;
  unsigned n;
  unsigned d = 1;

  static constexpr ext::Info kInfo{
      .name = "segment_max",
      .args = {"x"},
      .attrs = {"segments", "n", "d"},
      .payload = "index",
      .formula = "y[.., s, ..] = max of x[.., i, ..] over the i with index[i] = s, in dimension d",
      .summary =
          "The largest of the entries of each segment, by default of columns: NaN if one of "
          "them is NaN, 0 if there are none. The gradient goes to the first of equal ones. One "
          "list of n indices is for all examples, or each example has its own list, one after the "
          "other.",
      .shapes = "{a,n} -> {a,segments} for d = 1, {n,..} -> {segments,..} for d = 0, ...",
      .errors =
          "ShapeError if x has no dimension d, not n entries along it or more than 2^24, n is 0, "
          "or indices are neither n nor n per example; IndexError if one is not below segments",
      .cpp = "-",
      .python = "-"};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  using Steps = ext::OpList<PlaceOfTop, OnlyAtPlace>;
  Dim shape(const ext::Shapes& in) const {
    check_entries(in, n, d);
    check_positions(in, n);
    Dim r = in[0];
    r.d[d] = segments;
    return r;
  }
  [[nodiscard]] unsigned index_count() const { return n; }
  unsigned index_limit(const ext::Shapes& /*in*/) const { return segments; }
  void forward(ext::Call& call) const {
    const SegmentsOf of(call, call.in[0].dim, segments, d);
    const ScratchOperand starts(call, {segments}, call.indices.examples);
    mark_indices(call, -std::numeric_limits<double>::infinity(), starts);
    of.begin(starts, call.out[0]);
    call.kernels.move(of.there(), call.in[0], call.out[0], ext::Write::kMax);
  }
  /// Beside gradient(to), which is for nodes: comparisons by rules over rows are two passes here.
  void backward(ext::Call& call) const {
    const Dim& x = call.in[0].dim;
    const SegmentsOf of(call, x, segments, d);
    const ScratchOperand entries(call, x, call.examples);
    const ScratchOperand places(call, x, call.examples);
    const ScratchOperand first(call, of.shape(), call.examples);
    of.give(call.out[0], entries);
    forward_step(PlaceOfTop{d}, call, {call.in[0], entries}, {places});
    of.largest(places, first);
    of.give(first, places);
    of.give(call.d_out[0], entries);
    forward_step(OnlyAtPlace{d}, call, {places, entries}, {call.d_in[0]});
  }
  /// The first of equal entries is the one with the largest negative position. Infinite entries
  /// have NaN as difference and are equal; NaN is the largest.
  void gradient(auto& to) const {
    const auto zero = to.constant({1}, 0.0);
    const auto no_place = to.constant({1}, -2.0 * static_cast<double>(ext::kMostPositions));
    const auto is_nan = [&to](const auto& x) {  // NaN, which is not 0, or 0
      const auto finite = to.add(Clip{-1.0F, 1.0F}, x);
      return to.add(Subtract{}, finite, finite);
    };
    const auto top = to.gathered(to.out(), n, d, to.kSame);
    const auto difference = to.add(Subtract{}, to.in(0), top);
    const auto unequal = to.add(Choose{}, is_nan(difference), zero, difference);
    const auto no_nan = to.add(Choose{}, is_nan(to.in(0)), zero, to.constant({1}, 1.0));
    const auto below = to.add(Choose{}, is_nan(top), no_nan, unequal);
    const auto place = to.add(Choose{}, below, no_place, to.scaled(to.positions(n, d), -1.0));
    const auto first = to.add_indexed(SegmentMax{segments, n, d}, place, to.kSame);
    const auto is_other = to.add(Subtract{}, place, to.gathered(first, n, d, to.kSame));
    to.give(0, to.add(Choose{}, is_other, zero, to.gathered(to.d_out(), n, d, to.kSame)));
  }
  static std::vector<ext::Example<SegmentMax>> examples() { return segment_examples<SegmentMax>(); }
};

struct SegmentSoftmax {
  unsigned segments;
  unsigned n;
  unsigned d = 1;

  static constexpr ext::Info kInfo{
      .name = "segment_softmax",
      .args = {"x"},
      .attrs = {"segments", "n", "d"},
      .payload = "index",
      .formula =
          "y[.., i, ..] = exp(x[.., i, ..]) / sum of exp(x[.., j, ..]) over the j with "
          "index[j] = index[i], in dimension d",
      .summary =
          "Softmax among the entries of each segment, by default among columns, shifted by the "
          "largest of the segment, so that nothing overflows. One list of n indices is for all "
          "examples, or each example has its own list, one after the other.",
      .shapes = "any with n entries in dimension d -> the same",
      .errors =
          "ShapeError if x has no dimension d or not n entries along it, n is 0, or indices are "
          "neither n nor n per example; IndexError if one is not below segments",
      .source = "Velickovic et al., 2018 (the coefficients of graph attention)",
      .cpp = "-",
      .python = "-"};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  using Steps = ext::OpList<ExpBelow, AboveMean>;
  Dim shape(const ext::Shapes& in) const {
    check_entries(in, n, d);
    return in[0];
  }
  [[nodiscard]] unsigned index_count() const { return n; }
  unsigned index_limit(const ext::Shapes& /*in*/) const { return segments; }
  void forward(ext::Call& call) const {
    const Dim& x = call.in[0].dim;
    const SegmentsOf of(call, x, segments, d);
    const ScratchOperand each(call, of.shape(), call.examples);
    const ScratchOperand given(call, x, call.examples);
    const ScratchOperand powers(call, x, call.examples);
    of.largest(call.in[0], each);
    of.give(each, given);
    forward_step(ExpBelow{}, call, {call.in[0], given}, {powers});
    of.sums(powers, each);
    of.give(each, given);
    const ext::Operand& numerators = powers;
    const ext::Operand& denominators = given;
    ext::apply_rule(CDiv{}, call, call.out[0], numerators, denominators);
  }
  /// Beside gradient(to), which needs one pass more, because AboveMean subtracts and multiplies in
  /// one: run as backward, it took 3.3 % more instructions, forward and backward together, for
  /// {64,64}.
  void backward(ext::Call& call) const {
    const Dim& x = call.in[0].dim;
    const SegmentsOf of(call, x, segments, d);
    const ScratchOperand each(call, of.shape(), call.examples);
    const ScratchOperand given(call, x, call.examples);
    ext::apply_rule(CMult{}, call, given, call.out[0], call.d_out[0]);
    of.sums(given, each);
    of.give(each, given);
    forward_step(AboveMean{}, call, {call.out[0], call.d_out[0], given}, {call.d_in[0]});
  }
  void gradient(auto& to) const {
    const auto y = to.out();
    const auto sums = to.scattered(to.add(CMult{}, y, to.d_out()), segments, d, to.kSame);
    const auto mean = to.gathered(sums, n, d, to.kSame);
    to.give(0, to.add(CMult{}, y, to.add(Subtract{}, to.d_out(), mean)));
  }
  static std::vector<ext::Example<SegmentSoftmax>> examples() {
    return segment_examples<SegmentSoftmax>();
  }
};

using SegmentOps = ext::OpList<SegmentMax, SegmentSoftmax>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::SegmentOps)
