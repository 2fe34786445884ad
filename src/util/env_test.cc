#include "util/env.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "dynet/except.h"

#include "util/trace.h"

namespace dynet::util {
namespace {

/// As in a process that starts with DYNET_TRACE=`words`.
void start_with(const char* words) {
  setenv("DYNET_TRACE", words, 1);
  detail::trace_bits = detail::kUnread;
}

class TraceTest : public ::testing::Test {
 protected:
  void TearDown() override {
    unsetenv("DYNET_TRACE");
    detail::trace_bits = detail::kUnread;
  }
};

TEST_F(TraceTest, TheVariableNamesWhatReports) {
  start_with("plan,time");
  EXPECT_TRUE(is_traced(TraceWord::kPlan));
  EXPECT_TRUE(is_traced(TraceWord::kTime));
  EXPECT_FALSE(is_traced(TraceWord::kMemory));
  start_with("all");
  for (const TraceWord word : {TraceWord::kGraph, TraceWord::kPlan, TraceWord::kMemory,
                               TraceWord::kExecute, TraceWord::kTime}) {
    EXPECT_TRUE(is_traced(word));
  }
  start_with("");
  EXPECT_FALSE(is_traced(TraceWord::kPlan));
}

TEST_F(TraceTest, EachWordIsOneBit) {
  EXPECT_EQ(parse_trace("graph", ""), 1);
  EXPECT_EQ(parse_trace("plan", ""), 2);
  EXPECT_EQ(parse_trace("memory", ""), 4);
  EXPECT_EQ(parse_trace("execute", ""), 8);
  EXPECT_EQ(parse_trace("time", ""), 16);
  EXPECT_EQ(parse_trace("repeats", ""), 32);
  EXPECT_EQ(parse_trace("all", ""), 63);
}

TEST_F(TraceTest, AnotherWordIsAnError) {
  start_with("plan,pla");
  try {
    static_cast<void>(is_traced(TraceWord::kPlan));
    FAIL() << "a word that means nothing was taken";
  } catch (const errors::ValueError& e) {
    EXPECT_EQ(std::string(e.what()),
              "DYNET_TRACE: 'pla' is nothing to trace; want graph, plan, memory, execute, time, "
              "repeats or all, separated by commas");
  }
  EXPECT_THROW(static_cast<void>(is_traced(TraceWord::kGraph)), errors::ValueError);
}

TEST_F(TraceTest, SettingReturnsWhatWasSet) {
  start_with("execute");
  EXPECT_EQ(set_trace(parse_trace("plan", "test")), 8);
  EXPECT_TRUE(is_traced(TraceWord::kPlan));
  EXPECT_FALSE(is_traced(TraceWord::kExecute));
  EXPECT_EQ(set_trace(0), 2);
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
