// One pass of an optimiser's rule over rows of numbers, for each rule and SIMD target: each number
// is read and written once. Example: Adam reads w, g, m and v and writes w, m and v.
//
// The constants of a rule are further inputs that stay the same (ext/update.h), in registers if
// they fit. All results of a vector are computed before the first is written, as results overwrite
// their operands, and so that shared terms are computed once. A rule with reductions runs as one
// row (kernels/simd_passes-inl.h), with one pass for each reduction that waits for another.

#include "trainers/simd_steps.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "dynet/ext/update.h"
#include "dynet/trainers/all.h"

#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_steps.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd_memory-inl.h"
#include "kernels/simd_passes-inl.h"
#include "kernels/simd_rule-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {
namespace {

/// Written out, so that the compiler drops constants equal to an earlier one.
template <std::size_t... kC>
HWY_INLINE void set_constants(D d, const float* constants, V* x, std::index_sequence<kC...>) {
  ((x[kC] = hn::Set(d, constants[kC])), ...);
}

/// Computes one vector of each result E, from element i on; `part` elements of it if kPart.
template <bool kPart, class... E, std::size_t... kI, std::size_t... kJ>
HWY_INLINE void step_vector(rule::Types<E...> /*results*/, const float* const* in,
                            float* const* out, std::size_t i, std::size_t part, V* x,
                            std::index_sequence<kI...>, std::index_sequence<kJ...>) {
  const D d;
  if constexpr (kPart) {
    ((x[kI] = load_part(d, in[kI] + i, part)), ...);
  } else {
    ((x[kI] = hn::LoadU(d, in[kI] + i)), ...);
  }
  const V results[] = {evaluate(d, E{}, x)...};
  if constexpr (kPart) {
    (store_part(results[kJ], d, out[kJ] + i, part), ...);
  } else {
    (hn::StoreU(results[kJ], d, out[kJ] + i), ...);
  }
}

template <class Rule>
void step_loop(const void* step, const ext::Stream* in, const ext::Stream* out,
               std::int64_t count) {
  using Numbers = ext::detail::Numbering<Rule>;
  using Expressions = typename Numbers::Expressions;
  constexpr std::size_t kIn = Numbers::kInputs;
  constexpr std::size_t kOut = Numbers::kResults;
  constexpr auto kInputs = std::make_index_sequence<kIn>();
  constexpr auto kOutputs = std::make_index_sequence<kOut>();
  const D d;
  const auto* prepared = static_cast<const ext::detail::Prepared<Rule>*>(step);
  V x[kIn + Numbers::kCount + 1];
  set_constants(d, prepared->constants, x + kIn, std::make_index_sequence<Numbers::kCount>());
  const float* from[kIn];
  for (std::size_t k = 0; k < kIn; ++k) {
    from[k] = static_cast<const float*>(in[k].data);
  }
  float* to[kOut];
  for (std::size_t j = 0; j < kOut; ++j) {
    to[j] = static_cast<float*>(out[j].data);
  }
  const std::size_t lanes = hn::Lanes(d);
  const auto n = static_cast<std::size_t>(count);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    step_vector<false>(Expressions(), from, to, i, lanes, x, kInputs, kOutputs);
  }
  if (i < n) {
    step_vector<true>(Expressions(), from, to, i, n - i, x, kInputs, kOutputs);
  }
}

template <class Rule, class... E>
RowPlan<ext::detail::StepRule, Rule, E...> plan_of_step(rule::Types<E...> /*results*/);
/// A step with reductions: the elements are one row.
template <class Rule>
void reducing_loop(const void* step, const ext::Stream* in, const ext::Stream* out,
                   std::int64_t count) {
  using Numbers = ext::detail::Numbering<Rule>;
  using Plan = decltype(plan_of_step<Rule>(typename Numbers::Expressions()));
  static_assert(Plan::Kept::kSize == 0, "a step has no memory to keep anything in");
  Frame f;
  f.rows = 1;
  f.set_along(static_cast<std::size_t>(count));
  f.constants = static_cast<const ext::detail::Prepared<Rule>*>(step)->constants;
  for (std::size_t k = 0; k < Plan::kInputs; ++k) {
    f.from[k] = {static_cast<const float*>(in[k].data), hn::Lanes(D()), 0};
  }
  for (std::size_t j = 0; j < Plan::kResults; ++j) {
    f.to[j] = {static_cast<float*>(out[j].data), hn::Lanes(D()), 0};
    f.base[j] = {kNothing, 0, 0};
  }
  run_frame<Plan>(f);
}

template <class Rule>
void install_rule() {
  if constexpr (!std::is_same_v<Rule, dynet::trainers::NoCatchUp>) {
    if constexpr (ext::detail::kStepReduces<Rule>) {
      ext::update_loops<Rule>.forward_float = reducing_loop<Rule>;
    } else {
      ext::update_loops<Rule>.forward_float = step_loop<Rule>;
    }
  }
}
template <class Trainer>
void install(const Trainer* /*type*/) {
  install_rule<typename Trainer::Rule>();
  install_rule<typename Trainer::CatchUp>();
}
void install_all_steps() {
  dynet::trainers::AllUpdates::for_each([](const auto* trainer) { install(trainer); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet::kernels {
namespace {
HWY_EXPORT(install_all_steps);
}
}  // namespace dynet::kernels

void dynet::trainers::install_simd_steps() {
  // Highway's tables have no qualified names. NOLINTNEXTLINE(google-build-using-namespace)
  using namespace kernels;
  DYNET_FOR_TARGET(install_all_steps)();
}
#endif
