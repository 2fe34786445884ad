#include "util/number_text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dynet::util {
namespace {

TEST(NumberText, IsTheShortest) {
  EXPECT_EQ("0.1", text_of(0.1F));
  EXPECT_EQ("0.1", text_of(0.1));
  EXPECT_EQ("3", text_of(3.0));
  EXPECT_EQ("-2", text_of(-2.0));
  EXPECT_EQ("1e-08", text_of(1e-8F));
  EXPECT_EQ("1e+30", text_of(1e30));
}

TEST(NumberText, OfWhatIsNoNumber) {
  EXPECT_EQ("nan", text_of(std::nan("")));
  EXPECT_EQ("inf", text_of(HUGE_VAL));
  EXPECT_EQ("-inf", text_of(-HUGE_VAL));
}

}  // namespace
}  // namespace dynet::util
