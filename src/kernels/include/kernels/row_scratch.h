#pragma once

// Scratch memory for the walks over rows, shared by all SIMD targets.

#include <cstddef>

namespace dynet::kernels {

/// Room for n floats, 64-byte aligned, until the calling thread asks again. std::bad_alloc leaves
/// everything as it was.
[[nodiscard]] float* row_scratch(std::size_t n);

}  // namespace dynet::kernels
