#pragma once

// The environment: util/env.cc is the only file that reads it. Every variable that means something
// to the library is in env_table().

#include <span>
#include <string>
#include <string_view>

namespace dynet::util {

struct EnvVariable {
  const char* name;
  const char* meaning;
};
/// All variables the library looks at; the reference page prints this table.
[[nodiscard]] std::span<const EnvVariable> env_table();

// Each function reads the environment when it is called: callers on hot paths keep the answer.
// Thread rule: any number of threads, as long as nobody changes the environment.

/// DYNET_SIMD: name of the best SIMD target to use ("SSE4", "AVX2", "AVX3", "NEON"), or empty.
[[nodiscard]] std::string simd_target();
/// Whether DYNET_TRACE, a list separated by commas, names this stage (or is "all").
[[nodiscard]] bool trace_enabled(std::string_view stage);
/// DYNET_PARANOID is set, to anything but "0".
[[nodiscard]] bool is_paranoid();

}  // namespace dynet::util
