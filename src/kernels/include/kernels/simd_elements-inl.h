// One call of an elementwise rule on the vectors of a target, and the walk over the call. Compiled
// once per target.
//
// Only the arithmetic of a rule is compiled for each rule: one loop over whole vectors that knows
// no modes (simd_rule-inl.h). The rest is equal for all rules: repeated numbers, stored, added,
// summed or discarded results, and the part of a vector at the end. That code is here and is
// compiled once (simd_rule_walk.cc), as it would otherwise be most of the code of every rule. A
// discarded result is computed all the same, but its own inputs are not read from memory.
//
// Surprising: every result is added to something. Stored results are added to -0, which leaves
// every number unchanged: -0 + -0 is -0, and -0 + 0 is 0.

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

/// The most streams that a rule reads, and the most results.
inline constexpr std::size_t kMaxRuleInputs = 40;
inline constexpr std::size_t kMaxRuleResults = 16;

/// A line of numbers: element i lies at data[i & mask]. The mask has all bits set, or only low bits
/// to visit one vector, or a few vectors, again and again.
template <class Number>
struct Line {
  Number* data;
  std::size_t mask;
};
/// The operands of one loop, over `count` elements in whole vectors. Result j goes to to[j]:
/// base[j] plus the value of the rule.
struct Elements {
  Line<const float> from[kMaxRuleInputs];
  Line<const float> base[kMaxRuleResults];
  Line<float> to[kMaxRuleResults];
  std::size_t count;
};
using ElementLoop = void (*)(const void* op, const Elements& elements);
/// The loop of one direction of a rule, the number of its streams, and for each input the results
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
