#pragma once

// Elementwise rules on SIMD vectors: the loops of every rule of AllOps, for the target in use.

namespace dynet::ops {

/// Makes the loops of the SIMD target in use (kernels/targets.h) the float loops of all rules.
/// Called once, before the first graph; tests call it again after kernels::use_target(). Not
/// thread-safe.
void install_simd_rules();

}  // namespace dynet::ops
