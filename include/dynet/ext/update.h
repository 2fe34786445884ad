#pragma once

// Updates of optimisers as rules: one struct whose members are the numbers of one step, and
//
//   step(w, gradient, state...)  ->  each(w, state...)
//
// written once as plain arithmetic (rule.h), for double, for every SIMD target and for CUDA. The
// results overwrite values and states. A rule may also leave out the gradient, or return fewer
// results: the streams of Kernels::run tell the operands apart. Example: gradient descent has the
// members rate, gradient_scale and keep, and step(w, g) returns each(keep * w - (keep * rate *
// gradient_scale) * g).
//
// A step may reduce over all elements that it changes: over::sum, over::max and their relatives
// (over.h) run over the n elements of a run, which are then a whole parameter, or one row of a
// table (kStepReduces). LAMB takes norms so, and exponentiated gradients normalise. All reductions
// are done before the first result is written.
//
// The members of a rule are doubles. An expression of members and literals alone is a constant of
// the loop: constants are numbered when the rule is compiled, equal constants of several results
// have one number, and `prepare` computes the values once per step, not once per row.
//
// Start reading at Prepared. Surprising: which constants are equal is found with made-up members
// (numbered.h), so a rule may not choose constants by `?:` on a member.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "dynet/ext/kernels.h"
#include "dynet/ext/numbered.h"
#include "dynet/ext/plain_rows.h"
#include "dynet/ext/rule.h"
#include "dynet/ext/rule_loop.h"

namespace dynet::ext {

/// Room for any prepared step.
inline constexpr std::size_t kMaxStepBytes = 512;
inline constexpr std::size_t kMaxStepInputs = 8;

/// The record of an update rule.
struct UpdateInfo {
  RuleInfo rule;  ///< for Kernels::run, forward; `op` is a prepared step
  bool reduces;   ///< a run is a whole parameter or a row of a table
  std::uint8_t inputs;
  std::uint8_t results;
  std::uint16_t member_bytes;   ///< of the rule, at the front of a prepared step
  void (*prepare)(void* step);  ///< computes the constants behind the rule
};

namespace detail {

template <class R, std::size_t... kI>
constexpr auto step_on_symbols(const R& r, std::index_sequence<kI...>)
    -> decltype(r.step(rule::In<static_cast<int>(kI)>{}...)) {
  return r.step(rule::In<static_cast<int>(kI)>{}...);
}
template <class R, std::size_t kN = 1>
constexpr std::size_t step_inputs() {
  static_assert(kN <= kMaxStepInputs, "an update rule needs a step(w, gradient, state...)");
  if constexpr (requires(const R& r) { step_on_symbols(r, std::make_index_sequence<kN>()); }) {
    return kN;
  } else {
    return step_inputs<R, kN + 1>();
  }
}

template <class R>
using StepResults = decltype(step_on_symbols(std::declval<const R&>(),
                                             std::make_index_sequence<step_inputs<R>()>()));
template <class... E>
constexpr bool has_reductions(const std::tuple<E...>* /*type*/) {
  return rule::Reductions<E...>::kSize > 0;
}
/// Whether the step R has reductions.
template <class R>
inline constexpr bool kStepReduces = has_reductions(static_cast<StepResults<R>*>(nullptr));

/// The numbered rule of a step (numbered.h). A constant becomes a further input of the expressions,
/// unless the expressions reduce along a row.
struct StepRule {
  template <class R>
  static constexpr std::size_t kInputs = step_inputs<R>();
  template <class R>
  static constexpr auto expressions(const R& r) {
    return step_on_symbols(r, std::make_index_sequence<kInputs<R>>());
  }
  template <class R>
  static constexpr rule::Along along(std::size_t /*input*/) {
    return rule::Along::kElements;
  }
  template <class R, class E>
  static constexpr bool writes_once(std::size_t /*result*/) {
    return false;
  }
  template <class R>
  static constexpr R made_up(double seed) {
    std::array<double, sizeof(R) / sizeof(double)> members{};
    for (double& m : members) {
      m = seed;
      seed = 1.37 * seed + 0.21;
    }
    return std::bit_cast<R>(members);
  }
  template <class R, std::size_t kNumber>
  using ConstantSymbol = std::conditional_t<kStepReduces<R>, rule::Fixed<kNumber>,
                                            rule::In<static_cast<int>(kInputs<R> + kNumber)>>;
};
template <class R>
using Numbering = rule::Numbered<StepRule, R>;

/// A step as loops get it: the rule, and its constants in float for SIMD loops.
template <class R>
struct Prepared {
  R rule;
  float constants[Numbering<R>::kCount + 1];
};

/// Inner reductions stand before outer ones.
template <class Team, class Row, class... Reductions>
DYNET_DEVICE_FN void reduce_row(Row& row, rule::Types<Reductions...> /*reductions*/) {
  ((row.slots[rule::kIndexIn<Reductions, rule::Types<Reductions...>>] =
        plain::Reducer<Reductions>::template run<Team>(row)),
   ...);
}
/// A step with reductions over a row of n numbers, which a team shares (plain_rows.h). All results
/// of an element are computed before the first is written.
template <class Team, class R, class T, class... E, std::size_t... kJ>
DYNET_DEVICE_FN void reducing_step(const double* constants, const T* const* in, T* const* out,
                                   std::int64_t n, rule::Types<E...> /*results*/,
                                   std::index_sequence<kJ...> /*every*/) {
  constexpr std::size_t kInputs = Numbering<R>::kInputs;
  RowStream streams[kInputs] = {};
  const Rows rows{n, 1, 1};
  plain::Row<T, kInputs, rule::Reductions<E...>> row{};
  row.in = streams;
  row.rows = &rows;
  row.constants = constants;
  for (std::size_t k = 0; k < kInputs; ++k) {
    streams[k].step[0] = 1;
    row.from[k] = in[k];
  }
  reduce_row<Team>(row, rule::Reductions<E...>());
  for (std::int64_t k = Team::rank(); k < n; k += Team::kSize) {
    const T results[] = {static_cast<T>(plain::value_of<E>(row, k))...};
    ((out[kJ][k] = results[kJ]), ...);
  }
}
template <class Team, class R, class T>
DYNET_DEVICE_FN void reducing_step(const double* constants, const T* const* in, T* const* out,
                                   std::int64_t n) {
  using Numbers = Numbering<R>;
  reducing_step<Team, R>(constants, in, out, n, typename Numbers::Expressions(),
                         std::make_index_sequence<Numbers::kResults>());
}

template <class R, class T>
void plain_step(const void* step, const Stream* in, const Stream* out, std::int64_t n) {
  using Numbers = Numbering<R>;
  const R& r = *static_cast<const R*>(step);
  if constexpr (kStepReduces<R>) {
    double constants[Numbers::kCount + 1];
    Numbers::write_values(r, static_cast<double*>(constants));
    const T* from[Numbers::kInputs];
    T* to[Numbers::kResults];
    for (std::size_t k = 0; k < Numbers::kInputs; ++k) {
      from[k] = static_cast<const T*>(in[k].data);
    }
    for (std::size_t j = 0; j < Numbers::kResults; ++j) {
      to[j] = static_cast<T*>(out[j].data);
    }
    reducing_step<plain::Alone, R, T>(constants, from, to, n);
  } else {
    plain_loop<T, Numbers::kInputs>(in, out, n, [&r](auto... x) { return r.step(x...); });
  }
}
/// Everything is inlined here: else each node of the expression is copied several times.
template <class R>
[[gnu::flatten]] void prepare_step(void* step) {
  auto* prepared = static_cast<Prepared<R>*>(step);
  Numbering<R>::write_values(prepared->rule, static_cast<float*>(prepared->constants));
}

}  // namespace detail

/// The loops of one update rule, shared by all of the program. For rules of the library's trainers,
/// the loop of the best SIMD target replaces the float loop.
template <class R>
inline constinit RuleLoops update_loops = {detail::plain_step<R, float>, nullptr,
                                           detail::plain_step<R, double>, nullptr};

namespace detail {
template <class R>
constexpr UpdateInfo make_update_info() {
  static_assert(std::is_trivially_copyable_v<R> && sizeof(R) % sizeof(double) == 0,
                "the members of an update rule are doubles");
  static_assert(sizeof(Prepared<R>) <= kMaxStepBytes, "the update rule has too many numbers");
  using Numbers = Numbering<R>;
  static_assert(Numbers::kResults <= Numbers::kInputs, "step() returns each(w, state...)");
  UpdateInfo info{};
  info.rule.loops = &update_loops<R>;
  info.rule.op_bytes = sizeof(Prepared<R>);
  info.rule.streams[0] = {Numbers::kInputs, Numbers::kResults};
  info.reduces = info.rule.summed = kStepReduces<R>;
  info.inputs = static_cast<std::uint8_t>(Numbers::kInputs);
  info.results = static_cast<std::uint8_t>(Numbers::kResults);
  info.member_bytes = static_cast<std::uint16_t>(sizeof(R));
  info.prepare = prepare_step<R>;
  return info;
}
template <class R>
inline constexpr UpdateInfo kUpdateInfo = make_update_info<R>();
}  // namespace detail

/// The record of the rule R.
template <class R>
const UpdateInfo& update_info() {
  return detail::kUpdateInfo<R>;
}

/// Runs one step over n elements. `data` are the streams that the rule reads; results go to data[0]
/// and, with `has_gradient`, to data[2] and on, else to data[1] and on.
void run_step(const Kernels& kernels, const UpdateInfo& info, const void* prepared,
              void* const* data, bool has_gradient, std::int64_t n);
/// Prepares and runs the rule r, for tests and measurements: trainers prepare once for many rows.
template <class R, std::size_t kN>
void run_update(const Kernels& kernels, const R& r, void* const (&data)[kN], std::int64_t n,
                bool has_gradient = true) {
  static_assert(kN == detail::Numbering<R>::kInputs);
  detail::Prepared<R> step{r, {}};
  update_info<R>().prepare(&step);
  run_step(kernels, update_info<R>(), &step, data, has_gradient, n);
}

}  // namespace dynet::ext
