// The macros of DyNet 2.1 that programs check with.
#include "dynet/except.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace {

std::string text_of(void (*f)()) {
  try {
    f();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}
int evaluated = 0;
bool is_never_true() {
  ++evaluated;
  return false;
}

void check_argument() { DYNET_ARG_CHECK(is_never_true(), "got " << 3 << ", want " << 4); }
void refuse_argument() { DYNET_INVALID_ARG("no " << 1) }
void fail() { DYNET_RUNTIME_ERR("failed " << 2); }
void assert_something() { DYNET_ASSERT(is_never_true(), "not so"); }
void refuse_device(){DYNET_NO_CUDA_IMPL_ERROR("Tanh")}

TEST(Macros, ThrowWhatProgramsExpect) {
  EXPECT_THROW(check_argument(), std::invalid_argument);
  EXPECT_THROW(refuse_argument(), std::invalid_argument);
  EXPECT_THROW(fail(), std::runtime_error);
  EXPECT_THROW(refuse_device(), std::runtime_error);
  EXPECT_EQ(text_of(check_argument), "got 3, want 4");
  EXPECT_EQ(text_of(refuse_argument), "no 1");
  EXPECT_EQ(text_of(fail), "failed 2");
  EXPECT_EQ(text_of(refuse_device),
            "Tanh has no CUDA implementation; its CPU one can be used: see to_device");
}

TEST(Macros, AssertionsAreOffUnlessAskedFor) {
  evaluated = 0;
  EXPECT_NO_THROW(assert_something());
  EXPECT_EQ(evaluated, 0);
}

}  // namespace
