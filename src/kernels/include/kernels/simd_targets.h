#pragma once

// Which SIMD targets are compiled. Must be included before any header of Highway, in every file
// that is compiled once per target.
//
// x86: SSE4 (the floor of the library, x86-64-v2), AVX2, AVX3; of Arm NEON, as the vectors of SVE
// cannot stand in arrays, which the tiles of a product need. Highway asks for AES with SSE4 unless
// it is told not to; nothing here uses it.

#define HWY_DISABLE_PCLMUL_AES

#if defined(__x86_64__) || defined(_M_X64)
#ifdef DYNET_FEW_TARGETS
#define HWY_DISABLED_TARGETS (~(HWY_SSE4 | HWY_AVX2))
#else
#define HWY_DISABLED_TARGETS (~(HWY_SSE4 | HWY_AVX2 | HWY_AVX3))
#endif
#elif defined(__aarch64__)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif

#include "hwy/targets.h"
#include "kernels/targets.h"

// DYNET_FOR_TARGET(f): the function f, exported with HWY_EXPORT, for the target in use. Highway's
// own choice is left alone: it belongs to the whole process, programs included.
#if (HWY_TARGETS & (HWY_TARGETS - 1)) == 0
#define DYNET_FOR_TARGET(function) HWY_STATIC_DISPATCH(function)
#else
#define DYNET_FOR_TARGET(function) \
  (*HWY_DISPATCH_TABLE(function)[::dynet::kernels::target_index(HWY_CHOSEN_TARGET_MASK_TARGETS)])
#endif

namespace dynet::kernels {

/// Index into Highway's tables for a file that was compiled for `compiled`.
inline std::size_t target_index(std::int64_t compiled) {
  const std::int64_t wanted =
      HWY_CHOSEN_TARGET_SHIFT(target_mask()) | HWY_CHOSEN_TARGET_MASK_SCALAR;
  return hwy::Num0BitsBelowLS1Bit_Nonzero64(static_cast<std::uint64_t>(wanted & compiled));
}

}  // namespace dynet::kernels
