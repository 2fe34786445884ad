#pragma once

// Kernels::chain on CUDA devices: the steps of chain_step.h, compiled by nvcc. Built with
// -DDYNET_CUDA=ON only.

#include <cstdint>

#include "dynet/ext/chain.h"

namespace dynet::kernels {

/// Starts the kernel of a chain on a CUDA stream (`cudaStream_t`) and returns at once. Operands are
/// in float, each in one block, with addresses of the device; forward stores the value. Backward
/// needs device memory for 2 n numbers per example in `scratch`; gradients that several examples
/// share are added in no fixed order. Throws cuda_exception if the start fails.
void start_chain(const ext::Chain& c, ext::Direction direction, float* scratch, void* cuda_stream);

}  // namespace dynet::kernels
