#include "util/env.h"

#include <array>
#include <cstdlib>

namespace dynet::util {
namespace {

constexpr std::array<EnvVariable, 4> kVariables{{
    {"DYNET_SIMD",
     "Name of the best SIMD target to use (SSE4, AVX2, AVX3, ...), if the machine has a better "
     "one. A name that this machine does not have is ignored."},
    {"DYNET_TRACE",
     "Parts that report to stderr, separated by commas: graph, plan, memory, execute, time, "
     "repeats; or all. Another word is an error."},
    {"DYNET_PARANOID",
     "Anything but 0: the executor verifies its own state after each value, checkpoint, backward "
     "and revert, and compares the results of nodes that ran together with each node alone. Slow."},
    {"DYNET_GPU_LIBRARY", "Absolute path of the library of GPUs, in place of the installed one."},
}};

std::string_view read(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

std::span<const EnvVariable> env_table() { return kVariables; }

std::string simd_target() { return std::string(read("DYNET_SIMD")); }
std::string_view trace_words() { return read("DYNET_TRACE"); }

std::string gpu_library() { return std::string(read("DYNET_GPU_LIBRARY")); }

std::string option_variable(std::string_view option) {
  std::string name = "DYNET_";
  for (const char c : option) {
    name += c == '-' ? '_' : static_cast<char>(c - 'a' + 'A');
  }
  return name;
}
std::string option_value(std::string_view option) {
  return std::string(read(option_variable(option).c_str()));
}

std::string_view launcher_variable(const char* name) { return read(name); }

bool is_paranoid() {
  const std::string_view value = read("DYNET_PARANOID");
  return !value.empty() && value != "0";
}

}  // namespace dynet::util
