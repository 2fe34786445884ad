#pragma once

// The rules of all trainers on SIMD vectors, for the target in use.

namespace dynet::trainers {

/// Makes the loops of the SIMD target in use (kernels/targets.h) the float loops of the rules of
/// AllUpdates. Trainers call it once; tests call it again after kernels::use_target(). Not
/// thread-safe.
void install_simd_steps();

}  // namespace dynet::trainers
