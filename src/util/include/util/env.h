#pragma once

// The environment: util/env.cc is the only file that reads it. Every variable of the library is in
// env_table(), or belongs to an option (params/options.h).

#include <span>
#include <string>
#include <string_view>

namespace dynet::util {

struct EnvVariable {
  const char* name;
  const char* meaning;
};
/// All variables of the library, without variables of options; docs/options.md prints this table,
/// and a test compares both.
[[nodiscard]] std::span<const EnvVariable> env_table();

// Each function reads the environment when it is called: callers on hot paths keep the answer.
// Thread rule: any number of threads, as long as nobody changes the environment.

/// DYNET_SIMD: name of the best SIMD target to use ("SSE4", "AVX2", "AVX3", "NEON"), or empty.
[[nodiscard]] std::string simd_target();
/// The text of DYNET_TRACE; trace.h explains the words.
[[nodiscard]] std::string_view trace_words();
/// The variable of an option: DYNET_WEIGHT_DECAY for "weight-decay".
[[nodiscard]] std::string option_variable(std::string_view option);
/// The variable's text; empty if it is not set.
[[nodiscard]] std::string option_value(std::string_view option);
/// The text of DYNET_GPU_LIBRARY: the path of the library of GPUs, or empty.
[[nodiscard]] std::string gpu_library();
/// A variable of a launcher of many processes, such as RANK; empty if it is not set.
[[nodiscard]] std::string_view launcher_variable(const char* name);
/// DYNET_PARANOID is set, to anything but "0".
[[nodiscard]] bool is_paranoid();

}  // namespace dynet::util
