// Rules over rows on vectors, compiled once per target.
//
// In:  the type of a rule (ext/numbered.h) and calls of it (ext/rows.h).
// Out: loops with the signature ext::RowLoop, for install_row_loops() to put in ext::row_loops.
//
//   pass 1, 2, ...  computes the reductions whose arguments are known by then, all of one pass
//                   together
//   last pass       computes the results and writes them
//
// The passes are in simd_passes-inl.h; before each pass its expressions are bound
// (simd_bound-inl.h). The walk over the rows of a call is the same for all rules: simd_frame-inl.h.
// Example: log_softmax has a pass for the maximum, a pass for the sum of exponentials, and the last
// pass.

#if defined(DYNET_KERNELS_SIMD_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_ROWS_INL_H
#undef DYNET_KERNELS_SIMD_ROWS_INL_H
#else
#define DYNET_KERNELS_SIMD_ROWS_INL_H
#endif

#include <cstddef>

#include "dynet/ext/op.h"

#include "hwy/highway.h"
#include "kernels/simd_passes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

template <class Plan>
constexpr RowSteps row_steps() {
  static_assert(Plan::Kept::kSize <= kMaxKept, "the rule keeps too much");
  RowSteps s{};
  s.run = run_frame<Plan>;
  s.inputs = Plan::kInputs;
  s.results = Plan::kResults;
  s.kept = Plan::Kept::kSize;
  s.constants = Plan::Rule::kCount;
  s.short_row = Plan::kLastPass >= 3 ? 24 : 0;
  for (std::size_t k = 0; k < Plan::kInputs; ++k) {
    s.reads_once[k] = Plan::Rule::kAlong[k] == rule::Along::kOnce;
  }
  for (std::size_t j = 0; j < Plan::kResults; ++j) {
    s.writes_once[j] = Plan::Rule::kWritesOnce[j];
  }
  return s;
}

template <class Direction, class Op>
void run_rows(const ext::RowCall& call) {
  static constexpr RowSteps kSteps = row_steps<decltype(plan_of<Direction, Op>(
      typename rule::Numbered<Direction, Op>::Expressions()))>();
  walk_rows(kSteps, call);
}

template <class Op>
void install_row_loop() {
  if constexpr (ext::RowOperation<Op>) {
    ext::row_loops<Op>().forward_float = run_rows<rule::ForwardRule, Op>;
    ext::row_loops<Op>().backward_float = run_rows<rule::BackwardRule, Op>;
  }
}
/// Installs this target's loops for all rules over rows in a list of operations.
template <class... Ops>
void install_row_loops(ext::OpList<Ops...>) {
  (install_row_loop<Ops>(), ...);
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
