// One call of an elementwise rule as the vectors of a target see it, and the walk over it. Compiled
// once per target.
//
// Of a rule only its arithmetic is compiled: one loop over whole vectors that knows no modes
// (simd_rule-inl.h). Here lies what is the same for all rules: which number is repeated, what is
// stored, added, summed or thrown away, and the part of a vector at the end. It is compiled once
// (simd_rule_walk.cc), as it would otherwise be most of the code of every rule. A result that is
// thrown away is computed all the same, but what it alone reads does not come from memory.
//
// Surprising: everything that is written is added to something. What is stored is added to -0,
// which leaves every number as it is, the sign of a zero too.

#if defined(DYNET_KERNELS_SIMD_ELEMENTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_ELEMENTS_INL_H
#undef DYNET_KERNELS_SIMD_ELEMENTS_INL_H
#else
#define DYNET_KERNELS_SIMD_ELEMENTS_INL_H
#endif

#include <cstddef>
#include <cstdint>

#include "dynet/ext/rule_loop.h"

#include "hwy/highway.h"
#include "kernels/simd_memory-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

/// Streams that a rule reads, and results that it has.
inline constexpr std::size_t kMaxRuleInputs = 40;
inline constexpr std::size_t kMaxRuleResults = 16;

/// A line of numbers: element i lies at data[i & mask]. All bits of the mask are set, or only the
/// low ones where a vector, or a few of them, are visited again and again.
template <class Number>
struct Line {
  Number* data;
  std::size_t mask;
};
/// The operands of one loop, over `count` elements in whole vectors. Result j goes to to[j], and is
/// base[j] plus what the rule says.
struct Elements {
  Line<const float> from[kMaxRuleInputs];
  Line<const float> base[kMaxRuleResults];
  Line<float> to[kMaxRuleResults];
  std::size_t count;
};
using ElementLoop = void (*)(const void* op, const Elements& elements);
/// The loop of one direction of a rule, how many streams it has, and for each input the results
/// that read it, as bits.
struct RuleSteps {
  ElementLoop loop;
  std::size_t inputs, results;
  const std::uint16_t* readers;
};
static_assert(kMaxRuleResults <= 16);

/// Runs a rule over n elements whose streams are as ext::RuleLoop has them.
void walk_rule(const RuleSteps& rule, const void* op, const ext::Stream* in, const ext::Stream* out,
               std::int64_t n);

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
