#pragma once

// Which instruction set the float kernels use. The best one that the machine offers is chosen at
// the first use; DYNET_SIMD names a lower one.

#include <cstdint>
#include <string>
#include <vector>

namespace dynet::kernels {

/// Names of the SIMD targets that were compiled and that this machine offers, the best first:
/// "AVX3" (AVX-512), "AVX2", "SSE4"; "NEON".
[[nodiscard]] std::vector<std::string> supported_targets();
/// Switches to a target of supported_targets(), else ValueError. For tests: not thread-safe, and
/// the rules' loops follow only when ops::install_simd_rules() is called again.
void use_target(const std::string& name);
/// Name of the target in use.
[[nodiscard]] std::string current_target();

/// The target in use, and all less capable ones, as Highway's bit mask.
[[nodiscard]] std::int64_t target_mask();

}  // namespace dynet::kernels
