#pragma once

// Rules of updates on CUDA devices: the same `step` as on the CPU, compiled by nvcc for every rule
// of AllUpdates. The kernels are in libdynet_cuda (src/cuda); loops_of_updates() is in libdynet.

#include <cstdint>
#include <span>

#include "dynet/ext/update.h"

namespace dynet::trainers {

/// Starts the kernel of a step over several runs, which share no written memory, on a CUDA stream
/// (`cudaStream_t`) and returns at once. The streams of numbers are kRun and kStore, in float, with
/// addresses of the device; results may overwrite operands. Throws cuda_exception if the start
/// fails, and out_of_memory if the addresses of many runs find no memory.
using DeviceStep = void (*)(const void* prepared, std::span<const ext::RuleRun> runs,
                            void* cuda_stream);

/// The kernel of a rule of AllUpdates, catch-up rules included; null for any other.
[[nodiscard]] DeviceStep device_step(const ext::RuleInfo* rule);

/// The loops of AllUpdates in libdynet, by which rules are known: the rules of all trainers, then
/// their catch-up rules (the rule itself for a trainer without one). A library that is opened at
/// run time has its own copies of all that headers define.
[[nodiscard]] std::span<const ext::RuleLoops* const> loops_of_updates();

}  // namespace dynet::trainers
