// The macros of DyNet 2.1 with both of the switches that a program may set.
#define DYNET_SKIP_ARG_CHECK
#define DYNET_DO_ASSERT
#include <gtest/gtest.h>

#include <stdexcept>

#include "dynet/except.h"

namespace {

int evaluated = 0;
bool is_never_true() {
  ++evaluated;
  return false;
}

void check_argument() { DYNET_ARG_CHECK(is_never_true(), "got " << 3) }
void refuse_argument() { DYNET_INVALID_ARG("no " << 1); }
void assert_something() { DYNET_ASSERT(is_never_true(), "not so") }
void fail() { DYNET_RUNTIME_ERR("failed"); }

TEST(MacroSwitches, ArgumentsAreNotLookedAt) {
  EXPECT_NO_THROW(check_argument());
  EXPECT_NO_THROW(refuse_argument());
  EXPECT_EQ(evaluated, 0);
}

TEST(MacroSwitches, AssertionsHold) {
  EXPECT_THROW(assert_something(), std::runtime_error);
  EXPECT_EQ(evaluated, 1);
  EXPECT_THROW(fail(), std::runtime_error);  // which no switch changes
}

}  // namespace
