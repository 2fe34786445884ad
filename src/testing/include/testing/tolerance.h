#pragma once

// Bounds for the difference of two numbers in tests, with reasons. Every bound of EXPECT_NEAR and
// its relatives stands here (tools/check tolerances); equal numbers are compared with EXPECT_EQ.
//
// A bound is relative to numbers above 1 if the test says so (testing::compare does), and else
// absolute. One rounding of a number near 1 is 6e-8 in float and 1.1e-16 in double. Example: a
// bound of 1e-6 permits 16 roundings in float.

#include <cmath>
#include <cstddef>

namespace dynet::tolerance {

// ---- both sides in double --------------------------------------------------------------------

/// The same formula or sum of some dozens of terms, written twice: a thousand roundings.
inline constexpr double kSameInDouble = 1e-12;
/// The nodes of a graph merged and one by one, a hundred steps of a trainer: sums of all terms of a
/// graph in another order.
inline constexpr double kMergedInDouble = 1e-10;
/// Formulas written once more whose terms cancel; gradients that several passes add up.
inline constexpr double kLongInDouble = 1e-9;
/// Central differences with a step of 2^-17, whose own error is h^2/6 = 1e-11 of the third
/// derivative, and the rounding of the values divided by the step, 1e-11 of the value; both reach
/// thousands in the examples.
inline constexpr double kDifferences = 1e-6;
/// Numbers that go through float on one side: attributes, norms, learning rates.
inline constexpr double kThroughFloat = 1e-6;
/// The losses of some steps of Adam, whose quotients of small numbers make rounding larger.
inline constexpr double kTrainedInDouble = 1e-6;
/// Exact sparse updates against dense updates: sums of missed updates are closed formulas with
/// powers of the decays.
inline constexpr double kMissedUpdates = 1e-6;

// ---- float against float or double -----------------------------------------------------------

/// Half the distance of neighbours near 1: a bound that counts roundings multiplies it.
inline constexpr double kRounding = 0x1p-24;
/// A uniform random number, or the root of one: three roundings.
inline constexpr double kThreeRoundings = 3e-7;
/// Cosine and sine of a turn, as simd_math-inl.h says.
inline constexpr double kCosSin = 2e-7;
/// A few operations on numbers around 1: a dozen roundings.
inline constexpr double kFewInFloat = 1e-6;
/// A few steps of a cell.
inline constexpr double kCellInFloat = 2e-6;
/// One step of a trainer's rule.
inline constexpr double kStepInFloat = 4e-6;
/// A normal random number: logarithm, root and cosine, each of a few ulp, of numbers up to 6.
inline constexpr double kNormalInFloat = 5e-6;
/// Sums of up to a hundred terms; a small network.
inline constexpr double kSumsInFloat = 1e-5;
/// One call of an elementwise rule or a rule over rows, up to 1,000 terms.
inline constexpr double kRuleInFloat = 2e-5;
/// Any operation, random graph or network in float: against double, in other groups, or with sums
/// in another order.
inline constexpr double kFloatAgainstDouble = 1e-4;
/// Hundreds of steps of a trainer, whose errors add up.
inline constexpr double kTrainedInFloat = 1e-4;
/// Sums of up to a million terms, relative to the sum of their absolute values, as documented.
inline constexpr double kLongSum = 1e-5;
/// 100,000 terms added one by one, none of them a power of two: half a rounding of the sum each.
inline constexpr double kManyTermsInFloat = 1e-4;
/// 200,000 products, one after the other.
inline constexpr double kManyProductsInFloat = 1e-3;
/// 10,000 products into one place each, added to a sum that grows.
inline constexpr double kManyAddedInFloat = 1e-2;

// ---- random numbers --------------------------------------------------------------------------

/// The mean of `count` draws whose standard deviation is `deviation`: five standard errors. Seeds
/// are fixed, so a test passes always or never.
inline double of_mean(double deviation, std::size_t count) {
  return 5.0 * deviation / std::sqrt(static_cast<double>(count));
}

}  // namespace dynet::tolerance
