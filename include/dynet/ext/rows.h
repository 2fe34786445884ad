#pragma once

// Calls of rules over rows: the places of operands, and the record of such a rule. Plain data;
// row_rule.h makes the record from an operation. Example: a rule along dimension 0 of {4,3}x2 has 6
// rows of length 4, and a step of 1 along the row.

#include <cstddef>
#include <cstdint>

#include "dynet/ext/info.h"
#include "dynet/ext/over.h"

namespace dynet::ext {

/// Axes of a row that do not join into one; with seven dimensions there are no more than four.
inline constexpr int kMaxRowAxes = 4;
/// The longest row of a rule that uses positions: in float they are exact up to this number.
inline constexpr std::int64_t kMostPositions = std::int64_t{1} << 24;
/// Streams of a rule over rows.
inline constexpr std::size_t kMaxRowStreams = 32;

/// outer * inner rows of `length` elements each. Inner rows lie side by side: along an axis other
/// than the first they are neighbours in memory. `inner` depends on shapes of one example alone.
struct Rows {
  std::int64_t length, inner, outer;
  int axes = 1;                                 ///< of a row
  std::int64_t extent[kMaxRowAxes] = {length};  ///< of each; their product is `length`
};
/// One operand. Number k of row (o, i) lies at data[o * outer_step + i * row_step + k * step[0]],
/// or, for a row of several axes, at the sum over all axes. A step of 0 repeats an input and sums a
/// result; operands with one number per row have steps of 0 along the row.
struct RowStream {
  void* data;  ///< null: input 0, or result not wanted
  std::int64_t step[kMaxRowAxes];
  std::int64_t row_step, outer_step;
  bool adds;      ///< result: added to the number in memory
  bool is_index;  ///< input: 32-bit whole numbers
};
/// One call of a rule. It names no operation, so it can be queued or sent to a device.
struct RowCall {
  const double* constants;  ///< rule::Numbered::values of the operation
  const RowStream* in;      ///< forward: arguments, payload; backward: also outputs, saved outputs,
                            ///< gradients of the outputs
  const RowStream* out;     ///< forward: outputs, saved outputs; backward: gradients of arguments
  Rows rows;
};
using RowLoop = void (*)(const RowCall& call);

struct RowLoops {
  RowLoop forward_float, backward_float, forward_double, backward_double;
};
/// The record of a rule over rows.
struct RowRule {
  RowLoops* loops;
  std::uint8_t args, outputs, results;  ///< results: outputs and saved outputs
  std::uint8_t inputs, backward_inputs;
  bool has_payload;
  bool uses_positions;                        ///< in either direction
  rule::Along along[kMaxArgs];                ///< of each argument
  bool once[kMaxOutputs + kMaxSaved];         ///< results with one number per row
  std::uint32_t (*row_axes)(const void* op);  ///< bit d: dimension d lies along the row
  /// Writes the constants of one direction; at most kMaxRowConstants.
  void (*constants)(const void* op, Direction direction, double* to);
};
inline constexpr std::size_t kMaxRowConstants = 64;
/// The result of row_axes() if an example is one row.
inline constexpr std::uint32_t kWholeExample = ~std::uint32_t{0};

/// An operation over rows: kAlong says how its arguments lie.
template <class Op>
concept RowOperation = requires { Op::kAlong; };

}  // namespace dynet::ext
