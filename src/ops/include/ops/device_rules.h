#pragma once

// Rules on CUDA devices: the same `value`, `slope`, `slopes` and `pull` as on the CPU,
// compiled by nvcc for every rule of AllOps. Part of libdynet_cuda (src/cuda).

#include <cstddef>
#include <cstdint>

#include "dynet/ext/op.h"

#include "kernels/device_operands.h"

namespace dynet::ops {

inline constexpr int kMostRuleAxes = DYNET_MAX_TENSOR_DIM;
/// The threads of a block, which share a place if there are few places with many terms.
inline constexpr unsigned kMostOfTeam = 256;

/// A stream of a rule's call, of elements of a box and its examples.
struct DeviceStream {
  kernels::DeviceOperand operand;
  std::int64_t offset;                 ///< bytes from an example to this part of it
  std::int64_t stride[kMostRuleAxes];  ///< numbers
  // 0 or 1, without padding (device_operands.h).
  std::uint32_t is_wanted;  ///< 0: a result that nobody wants
  std::uint32_t is_summed;  ///< a result that gets the sum of all terms of a place
};
/// The elements of a call. The first axes count places, and the others the terms of a place, in
/// which results are summed.
struct RuleBox {
  std::int64_t extent[kMostRuleAxes];
  int axes, place_axes;
  std::int64_t places, terms;  ///< of an example
  std::int64_t examples;
  std::uint32_t examples_are_terms;  ///< 1; 0: each example has places of its own
  std::uint32_t team;                ///< threads that share a place
  kernels::DeviceSegments segments;
};
struct DeviceRuleCall {
  const DeviceStream* in;
  const DeviceStream* out;
  RuleBox box;
  const kernels::DeviceWords* words;
};

/// Starts a rule's kernel on a CUDA stream (`cudaStream_t`) and returns at once. Sums have one
/// order. Throws cuda_exception if the start fails.
using DeviceLoop = void (*)(const void* op, const DeviceRuleCall& call, void* cuda_stream);
struct DeviceLoops {
  DeviceLoop forward, backward;
};

/// Runs a loop over n elements: the streams are those of ext::RuleLoop, in float, with addresses of
/// the device.
void start_run(DeviceLoop loop, const void* op, const ext::Stream* in, std::size_t in_count,
               const ext::Stream* out, std::size_t out_count, std::int64_t n, void* cuda_stream);

/// The device loops of a rule of AllOps, or of a form of such a rule without some arguments; null
/// for other rules.
[[nodiscard]] const DeviceLoops* device_loops(const ext::RuleInfo* rule);
/// The number of forms with such loops.
[[nodiscard]] std::int64_t device_loop_count();

/// Starts the kernel of a rule over rows, likewise. The call's streams have addresses of the
/// device; the constants have addresses of the host.
using DeviceRowLoop = void (*)(const ext::RowCall& call, void* cuda_stream);
struct DeviceRowLoops {
  DeviceRowLoop forward, backward;
};
[[nodiscard]] const DeviceRowLoops* device_row_loops(const ext::RowRule* rule);
[[nodiscard]] std::int64_t device_row_loop_count();

}  // namespace dynet::ops
