#include "util/env.h"

#include <array>
#include <cstdlib>

namespace dynet::util {
namespace {

constexpr std::array<EnvVariable, 3> kVariables{{
    {"DYNET_SIMD",
     "Best SIMD target to use, e.g. SSE4 or AVX2, where the machine offers a better one."},
    {"DYNET_TRACE",
     "Stages that report to stderr, separated by commas: graph, plan, memory, execute, time; or "
     "all."},
    {"DYNET_PARANOID", "1: the library checks its own results at every stage; slow."},
}};

std::string_view read(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

std::span<const EnvVariable> env_table() { return kVariables; }

std::string simd_target() { return std::string(read("DYNET_SIMD")); }

bool trace_enabled(std::string_view stage) {
  std::string_view list = read("DYNET_TRACE");
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view name = list.substr(0, comma);
    if (name == stage || name == "all") {
      return true;
    }
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return false;
}

bool is_paranoid() {
  const std::string_view value = read("DYNET_PARANOID");
  return !value.empty() && value != "0";
}

}  // namespace dynet::util
