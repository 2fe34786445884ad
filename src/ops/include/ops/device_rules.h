#pragma once

// Rules on CUDA devices: the same `value`, `slope`, `slopes` and `pull` as on the CPU,
// compiled by nvcc for every rule of AllOps. Part of libdynet_cuda (src/cuda).

#include <cstdint>

#include "dynet/ext/op.h"

namespace dynet::ops {

/// Starts a rule's kernel on a CUDA stream (`cudaStream_t`) and returns at once. Streams of numbers
/// are the streams of ext::RuleLoop, in float, with addresses of the device. A call with a sum
/// (Stream::kSum) is one block of threads, so that the sum has one order. Throws cuda_exception if
/// the start fails.
using DeviceLoop = void (*)(const void* op, const ext::Stream* in, const ext::Stream* out,
                            std::int64_t n, void* cuda_stream);
struct DeviceLoops {
  DeviceLoop forward, backward;
};

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
