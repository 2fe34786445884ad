#pragma once

// Rules over rows: from an operation to its loops and its record. rule_loop.h is the counterpart
// for elementwise rules.

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "dynet/ext/compiled.h"
#include "dynet/ext/numbered.h"
#include "dynet/ext/plain_rows.h"
#include "dynet/ext/properties.h"
#include "dynet/ext/rows.h"

namespace dynet::ext {

namespace detail {
/// Without kFloat, there are float loops for SIMD targets alone.
template <class Op, bool kFloat = true>
constexpr RowLoops plain_row_loops() {
  RowLoops loops{nullptr, nullptr, plain::loop<double, rule::ForwardRule, Op>,
                 plain::loop<double, rule::BackwardRule, Op>};
  if constexpr (kFloat) {
    loops.forward_float = plain::loop<float, rule::ForwardRule, Op>;
    loops.backward_float = plain::loop<float, rule::BackwardRule, Op>;
  }
  return loops;
}
template <class Op>
inline constinit RowLoops own_row_loops = plain_row_loops<Op>();
}  // namespace detail

DYNET_DEFINED_ELSEWHERE_BEGIN
/// The loops of one rule, shared by all of the program. Written once, before the first graph.
template <RowOperation Op>
constexpr RowLoops& row_loops() {
  if constexpr (kIsCompiled<Op>) {
    return Compiled<Op>::row_loops;
  } else {
    return detail::own_row_loops<Op>;
  }
}
DYNET_DEFINED_ELSEWHERE_END

namespace detail {
template <class Op>
constexpr RowRule make_row_rule() {
  static_assert(
      requires(const Op op) {
        { op.row_axes() } -> std::same_as<std::uint32_t>;
      }, "an operation over rows needs std::uint32_t row_axes() const");
  using Forward = rule::Numbered<rule::ForwardRule, Op>;
  using Backward = rule::Numbered<rule::BackwardRule, Op>;
  constexpr std::size_t kOutputs = outputs_of<Op>();
  static_assert(Op::kAlong.size() == kArgCount<Op>, "kAlong must have one entry per argument");
  static_assert(Forward::kResults == kOutputs + saved_of<Op>(),
                "value must return each(...) of kOutputs outputs and kSaved saved outputs");
  static_assert(Backward::kResults == kArgCount<Op>,
                "pull must return each(...) of one gradient per argument");
  static_assert(Forward::kCount <= kMaxRowConstants && Backward::kCount <= kMaxRowConstants,
                "the rule has too many constants");
  RowRule r{};
  r.loops = &row_loops<Op>();
  r.args = static_cast<std::uint8_t>(kArgCount<Op>);
  r.outputs = static_cast<std::uint8_t>(kOutputs);
  r.results = static_cast<std::uint8_t>(Forward::kResults);
  r.inputs = static_cast<std::uint8_t>(rule::ForwardRule::kInputs<Op>);
  r.backward_inputs = static_cast<std::uint8_t>(rule::BackwardRule::kInputs<Op>);
  r.has_payload = payload_of<Op>() != Payload::kNone;
  r.uses_positions = rule::kUsesPositions<typename Forward::Expressions> ||
                     rule::kUsesPositions<typename Backward::Expressions>;
  for (std::size_t i = 0; i < kArgCount<Op>; ++i) {
    r.along[i] = Op::kAlong[i];
  }
  for (std::size_t j = 0; j < Forward::kResults; ++j) {
    r.once[j] = Forward::kWritesOnce[j];
  }
  r.row_axes = [](const void* op) { return static_cast<const Op*>(op)->row_axes(); };
  r.constants = [](const void* op, Direction direction, double* to) {
    if (direction == Direction::kForward) {
      Forward::write_values(*static_cast<const Op*>(op), to);
    } else {
      Backward::write_values(*static_cast<const Op*>(op), to);
    }
  };
  return r;
}
}  // namespace detail
template <RowOperation Op>
inline constexpr RowRule kRowRule = detail::make_row_rule<Op>();

}  // namespace dynet::ext
