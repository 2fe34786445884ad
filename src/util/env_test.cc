#include "util/env.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace dynet::util {
namespace {

TEST(Env, TraceNamesStages) {
  setenv("DYNET_TRACE", "plan,time", 1);
  EXPECT_TRUE(trace_enabled("plan"));
  EXPECT_TRUE(trace_enabled("time"));
  EXPECT_FALSE(trace_enabled("memory"));
  EXPECT_FALSE(trace_enabled("pla"));
  setenv("DYNET_TRACE", "all", 1);
  EXPECT_TRUE(trace_enabled("memory"));
  unsetenv("DYNET_TRACE");
  EXPECT_FALSE(trace_enabled("plan"));
}

TEST(Env, Switches) {
  setenv("DYNET_PARANOID", "0", 1);
  EXPECT_FALSE(is_paranoid());
  setenv("DYNET_PARANOID", "1", 1);
  EXPECT_TRUE(is_paranoid());
  unsetenv("DYNET_PARANOID");
  EXPECT_FALSE(is_paranoid());
  setenv("DYNET_SIMD", "SSE4", 1);
  EXPECT_EQ(simd_target(), "SSE4");
  unsetenv("DYNET_SIMD");
  EXPECT_EQ(simd_target(), "");
}

TEST(Env, TableNamesEachVariableOnce) {
  for (const EnvVariable& a : env_table()) {
    EXPECT_TRUE(std::string_view(a.name).starts_with("DYNET_"));
    EXPECT_NE(std::string_view(a.meaning), "");
    int count = 0;
    for (const EnvVariable& b : env_table()) {
      count += std::string_view(a.name) == b.name ? 1 : 0;
    }
    EXPECT_EQ(count, 1);
  }
}

}  // namespace
}  // namespace dynet::util
