// The suite of dynet/ext/testing.h reports operations that are wrong, and by which check.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "dynet/ext/testing.h"

#include "testing/worst.h"

namespace dynet::testing {
namespace {

TEST(WorstError, StaysNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  Worst worst;
  EXPECT_EQ(worst.get(), 0.0);
  EXPECT_TRUE(worst.add(2.0));
  EXPECT_FALSE(worst.add(1.0));
  EXPECT_EQ(worst.get(), 2.0);
  EXPECT_TRUE(worst.add(nan));
  EXPECT_FALSE(worst.add(inf));
  EXPECT_TRUE(std::isnan(worst.get()));
  EXPECT_EQ(relative_error(3.0, 2.0), 0.5);
  EXPECT_EQ(relative_error(0.5, 0.25), 0.25);
  EXPECT_EQ(relative_error(-inf, -inf), 0.0);
  EXPECT_EQ(relative_error(nan, nan), 0.0);
  EXPECT_EQ(relative_error(1e30, inf), inf);
  EXPECT_EQ(relative_error(inf, -inf), inf);
  EXPECT_EQ(relative_error(nan, 1.0), inf);
}

/// A mistake in an operation.
enum class Fault : unsigned char {
  kNone,
  kSlope,            ///< its sign
  kNan,              ///< double loses it
  kShared,           ///< the argument is declared shared without need
  kMixes,            ///< adds the first example of a call to all
  kStoresGradients,  ///< should add them
  kOneBlock,         ///< writes no gradient that lies in two blocks
  kThrows
};

/// A rule.
template <Fault kFault>
struct Square {
  static constexpr ext::Info kInfo{.name = "square", .args = {"x"}, .formula = "y = x * x"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::select;
    if constexpr (kFault == Fault::kNan && std::is_same_v<decltype(x), double>) {
      return select(x == x, x * x, 0.0);
    } else {
      return x * x;
    }
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const {
    return kFault == Fault::kSlope ? -2.0 * x : 2.0 * x;
  }
  static std::vector<ext::Example<Square>> examples() { return {{{}, {{4, 3}}}}; }
};

/// forward and backward by hand.
template <Fault kFault>
struct Copy {
  static constexpr std::array kRoles{kFault == Fault::kShared ? ext::Role::kShared
                                                              : ext::Role::kStacked};
  static constexpr ext::Info kInfo{.name = "copy", .args = {"x"}, .formula = "y = x"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  void forward(ext::Call& c) const {
    if (kFault == Fault::kThrows) {
      throw std::runtime_error("on purpose");
    }
    const ext::Move all = ext::whole_move(c.out[0].size());
    c.kernels.move(all, c.in[0], c.out[0]);
    if (kFault == Fault::kMixes) {
      ext::Block first = c.in[0].blocks[0];
      first.examples = 1;
      const ext::Operand one{.dim = c.in[0].dim, .examples = 1, .blocks = &first, .block_count = 1};
      c.kernels.move(all, one, c.out[0], ext::Write::kAdd);
    }
  }
  void backward(ext::Call& c) const {
    if (kFault == Fault::kOneBlock && c.d_in[0].block_count > 1) {
      return;
    }
    c.kernels.move(ext::whole_move(c.out[0].size()), c.d_out[0], c.d_in[0],
                   kFault == Fault::kStoresGradients ? ext::Write::kStore : ext::Write::kAsBlocks);
  }
  static std::vector<ext::Example<Copy>> examples() { return {{{}, {{4, 3}}}}; }
};

/// The checks that report something.
template <class Op>
std::set<std::string> reporting() {
  std::set<std::string> names;
  for (const std::string& failure : check<Op>()) {
    EXPECT_NE(failure.find(Op::kInfo.name), std::string::npos) << failure;
    names.insert(failure.substr(0, failure.find(':')));
  }
  return names;
}
using Names = std::set<std::string>;

TEST(Suite, RightOperationsPass) {
  EXPECT_EQ(check<Square<Fault::kNone>>(), Failures());
  EXPECT_EQ(check<Copy<Fault::kNone>>(), Failures());
  EXPECT_EQ(report<Copy<Fault::kNone>>(), 0);
}
TEST(Suite, ASlopeOfTheWrongSignIsReported) {
  EXPECT_EQ(reporting<Square<Fault::kSlope>>(), (Names{"Calls", "GradientsAgreeWithDifferences"}));
  EXPECT_EQ(report<Square<Fault::kSlope>>(), 1);
}
TEST(Suite, ANanThatOneDeviceLosesIsReported) {
  EXPECT_EQ(reporting<Square<Fault::kNan>>(), (Names{"SpecialValuesAsDouble"}));
}
TEST(Suite, AnArgumentThatIsDeclaredSharedIsReported) {
  EXPECT_EQ(reporting<Copy<Fault::kShared>>(), (Names{"CopiesMerge"}));
}
TEST(Suite, AnOperationThatMixesExamplesIsReported) {
  const Names names = reporting<Copy<Fault::kMixes>>();
  for (const char* name : {"Calls", "GradientsAgreeWithDifferences", "SpecialValuesStay"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}
TEST(Suite, AGradientThatIsNotAddedIsReported) {
  EXPECT_TRUE(reporting<Copy<Fault::kStoresGradients>>().contains("Calls"));
}
TEST(Suite, AGradientThatIsLeftOutInTwoBlocksIsReported) {
  EXPECT_TRUE(reporting<Copy<Fault::kOneBlock>>().contains("Calls"));
}
TEST(Suite, WhatAnOperationThrowsIsAFailure) {
  const Failures failures = check<Copy<Fault::kThrows>>();
  EXPECT_TRUE(std::any_of(failures.begin(), failures.end(), [](const std::string& f) {
    return f.find("on purpose") != std::string::npos;
  }));
}

}  // namespace
}  // namespace dynet::testing
