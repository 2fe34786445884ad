// The passes of a rule over rows over one frame of numbers: one row, or as many side by side as a
// vector has lanes. Compiled once per target.
//
// In:  a frame (simd_bound-inl.h) that says where the inputs lie and how long the row is, and the
//      rule's reductions and results as types.
// Out: the reductions in the frame, the results where their targets say. Start reading at
//      run_frame(); simd_rows-inl.h walks over the rows of a call.

#if defined(DYNET_KERNELS_SIMD_PASSES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_PASSES_INL_H
#undef DYNET_KERNELS_SIMD_PASSES_INL_H
#else
#define DYNET_KERNELS_SIMD_PASSES_INL_H
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "dynet/ext/op.h"

#include "hwy/highway.h"
#include "kernels/simd_bound-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

/// The way of a loop over one frame. kPart: across, fewer rows than lanes.
template <bool kIsAlong, bool kIsPart>
struct Way {
  static constexpr bool kAlong = kIsAlong, kPart = kIsPart;
};
using AlongRow = Way<true, false>;

// ---- one step -----------------------------------------------------------------------------------

/// Loads input kI where one of the expressions reads it. `part`: along, elements of the row that
/// are left; 0: a whole vector.
template <class W, bool kEnd, int kI, class Plan, class... B>
HWY_INLINE void load_input(const Frame<Plan>& f, std::size_t i, std::size_t part, V* x) {
  if constexpr ((kReads<kI, B> || ...)) {
    const D d;
    if constexpr (W::kAlong && kEnd) {
      x[kI] = load_part(d, f.from[kI] + i, part);
    } else if constexpr (W::kAlong) {
      x[kI] = hn::LoadU(d, f.from[kI] + i);
    } else if constexpr (Plan::Rule::kAlong[kI] == rule::Along::kPositions) {
      x[kI] = hn::Set(d, f.from[kI][i * f.step[kI]]);
    } else if constexpr (W::kPart) {
      x[kI] = load_part(d, f.from[kI] + i * f.step[kI], f.lanes_used);
    } else {
      x[kI] = hn::LoadU(d, f.from[kI] + i * f.step[kI]);
    }
  }
}
template <class W, bool kEnd, class Plan, class... B, std::size_t... kI>
HWY_INLINE void load_inputs(const Frame<Plan>& f, std::size_t i, std::size_t part, V* x,
                            std::index_sequence<kI...>, const B&...) {
  (load_input<W, kEnd, static_cast<int>(kI), Plan, B...>(f, i, part, x), ...);
}
template <class W, class Plan>
HWY_INLINE Place place(const Frame<Plan>& f, const V* x, std::size_t i) {
  return {x, i, f.kept, W::kAlong ? i : i * hn::Lanes(D()), W::kAlong};
}

// ---- reductions ---------------------------------------------------------------------------------

template <class W, bool kEnd, class Plan, class... R, std::size_t... kN, class... B>
HWY_INLINE void reduce_step(const Frame<Plan>& f, V (*states)[2], std::size_t i, std::size_t part,
                            rule::Types<R...>, std::index_sequence<kN...>, const B&... e) {
  V x[Plan::kInputs];
  load_inputs<W, kEnd>(f, i, part, x, std::make_index_sequence<Plan::kInputs>(), e...);
  const Place at = place<W>(f, x, i);
  (Reduced<R>::Kind::template add<kEnd>(states[kN], e, at, part), ...);
}

/// The reductions R... over a frame, all in one pass. Sums have two or four states, as one would
/// wait for itself.
template <class W, class Plan, class... R, std::size_t... kN, class... B>
HWY_INLINE void reduce(Frame<Plan>& f, rule::Types<R...> list, std::index_sequence<kN...> every,
                       const B&... e) {
  constexpr std::size_t kUnroll = W::kAlong ? ((B::kCost + ...) < 16 ? 4 : 2) : 2;
  const std::size_t lanes = W::kAlong ? hn::Lanes(D()) : 1;
  V s[kUnroll][sizeof...(R)][2];
  for (auto& states : s) {
    (Reduced<R>::Kind::start(states[kN]), ...);
  }
  std::size_t i = 0;
  for (; i + kUnroll * lanes <= f.length; i += kUnroll * lanes) {
    reduce_step<W, false>(f, s[0], i, 0, list, every, e...);
    reduce_step<W, false>(f, s[1], i + lanes, 0, list, every, e...);
    if constexpr (kUnroll == 4) {
      reduce_step<W, false>(f, s[2], i + 2 * lanes, 0, list, every, e...);
      reduce_step<W, false>(f, s[3], i + 3 * lanes, 0, list, every, e...);
    }
  }
  if (i > 0) {
    for (std::size_t u = 1; u < kUnroll; ++u) {
      (Reduced<R>::Kind::merge(s[0][kN], s[u][kN]), ...);
    }
  }
  for (; i + lanes <= f.length; i += lanes) {
    reduce_step<W, false>(f, s[0], i, 0, list, every, e...);
  }
  if constexpr (W::kAlong) {
    if (i < f.length) {
      reduce_step<W, true>(f, s[0], i, f.length - i, list, every, e...);
    }
  }
  ((f.slots[rule::kIndexIn<R, typename Plan::Reductions>] =
        W::kAlong ? Reduced<R>::Kind::over_lanes(s[0][kN]) : Reduced<R>::Kind::in_lanes(s[0][kN])),
   ...);
}

template <class R>
inline constexpr bool kIsValueAt = false;
template <class E, class I>
inline constexpr bool kIsValueAt<rule::Reduce<rule::ValueAt, E, I>> = true;

/// Along a row, the value at one position is a load.
template <class R, class Plan>
HWY_INLINE void look_up(Frame<Plan>& f) {
  const auto e = bind<0, typename Reduced<R>::Element>(f);
  const V index = once_value<typename Reduced<R>::Index>(f);
  const auto i = static_cast<std::size_t>(static_cast<std::int64_t>(hn::GetLane(index)));
  V x[Plan::kInputs];
  load_inputs<AlongRow, true>(f, i, 1, x, std::make_index_sequence<Plan::kInputs>(), e);
  f.slots[rule::kIndexIn<R, typename Plan::Reductions>] =
      hn::Set(D(), hn::GetLane(e.at(place<AlongRow>(f, x, i))));
}
template <int kPass, class W, class R, class Plan>
HWY_INLINE void look_up_in_pass(Frame<Plan>& f) {
  if constexpr (W::kAlong && kIsValueAt<R> && rule::Facts<R>::kPassesBefore == kPass) {
    look_up<R>(f);
  }
}

/// The reductions that the loop of pass kPass computes.
template <int kPass, class W, class Found, class... R>
struct OfPass {
  using Type = Found;
};
template <int kPass, class W, class... Found, class R, class... Rest>
struct OfPass<kPass, W, rule::Types<Found...>, R, Rest...> {
  static constexpr bool kIsIn =
      rule::Facts<R>::kPassesBefore == kPass && !(W::kAlong && kIsValueAt<R>);
  using Type =
      typename OfPass<kPass, W,
                      std::conditional_t<kIsIn, rule::Types<Found..., R>, rule::Types<Found...>>,
                      Rest...>::Type;
};
template <int kPass, class W, class Plan, class... R>
HWY_INLINE void reduce_these(Frame<Plan>& f, rule::Types<R...> list) {
  if constexpr (sizeof...(R) > 0) {
    reduce<W>(f, list, std::index_sequence_for<R...>(), Reduced<R>::template argument<kPass>(f)...);
  }
}
template <int kPass, class W, class Plan, class... R>
HWY_INLINE void run_passes(Frame<Plan>& f, rule::Types<R...> all) {
  if constexpr (kPass < Plan::kLastPass) {
    (look_up_in_pass<kPass, W, R>(f), ...);
    reduce_these<kPass, W>(f, typename OfPass<kPass, W, rule::Types<>, R...>::Type());
    run_passes<kPass + 1, W>(f, all);
  }
}

// ---- results ------------------------------------------------------------------------------------

/// Where a result of a frame goes.
struct Target {
  float* to;
  std::size_t step;  ///< across: from one position to the next
  bool stores;
  bool sums;  ///< across: all rows go to one number
};

/// Writes one vector of a result. `part`: lanes that are wanted; along: at the end of a row.
template <class W, bool kEnd>
HWY_INLINE void put_vector(V value, const Target& t, std::size_t i, std::size_t part) {
  const D d;
  float* const to = t.to + (W::kAlong ? i : i * t.step);
  constexpr bool kIsPart = W::kAlong ? kEnd : W::kPart;
  if (!W::kAlong && t.sums) {
    if constexpr (kIsPart) {
      value = hn::IfThenElseZero(hn::FirstN(d, part), value);
    }
    *to += hn::GetLane(hn::SumOfLanes(d, value));
  } else if constexpr (kIsPart) {
    put_part(value, d, to, part, t.stores);
  } else {
    put(value, d, to, t.stores);
  }
}
template <class W, bool kEnd, class Plan, std::size_t... kJ, class... B>
HWY_INLINE void result_step(const Frame<Plan>& f, const Target* targets, std::size_t i,
                            std::size_t part, std::index_sequence<kJ...>, const B&... e) {
  V x[Plan::kInputs];
  load_inputs<W, kEnd>(f, i, part, x, std::make_index_sequence<Plan::kInputs>(), e...);
  const Place at = place<W>(f, x, i);
  // All before the first is written: what they share is computed once.
  const V values[] = {e.at(at)...};
  ((Plan::Rule::kWritesOnce[kJ]
        ? void()
        : put_vector<W, kEnd>(values[kJ], targets[kJ], i, W::kAlong ? part : f.lanes_used)),
   ...);
}
/// The last pass: results with one number per element.
template <class W, class Plan, std::size_t... kJ, class... B>
HWY_INLINE void write_elements(const Frame<Plan>& f, const Target* targets,
                               std::index_sequence<kJ...> every, const B&... e) {
  const std::size_t lanes = W::kAlong ? hn::Lanes(D()) : 1;
  std::size_t i = 0;
  if (((targets[kJ].stores && !targets[kJ].sums) && ...)) {  // a loop without choices
    const Target stored[] = {Target{targets[kJ].to, targets[kJ].step, true, false}...};
    for (; i + lanes <= f.length; i += lanes) {
      result_step<W, false>(f, stored, i, 0, every, e...);
    }
  }
  for (; i + lanes <= f.length; i += lanes) {
    result_step<W, false>(f, targets, i, 0, every, e...);
  }
  if constexpr (W::kAlong) {
    if (i < f.length) {
      result_step<W, true>(f, targets, i, f.length - i, every, e...);
    }
  }
}
template <class W, std::size_t kJ, class E, class Plan>
HWY_INLINE void write_once(const Frame<Plan>& f, const Target& t) {
  if constexpr (Plan::Rule::kWritesOnce[kJ]) {
    const V value = once_value<E>(f);
    if constexpr (W::kAlong) {
      *t.to = t.stores ? hn::GetLane(value) : *t.to + hn::GetLane(value);
    } else {
      put_vector<W, true>(value, t, 0, f.lanes_used);
    }
  }
}

// Along a row, `a + only_at(i, e)` and `a - only_at(i, e)` are written as `a`, and then one element
// is changed: nothing is compared in the loop.
template <class E>
struct Spike {
  static constexpr float kSign = 0.0F;
};
template <class A, class I, class E>
struct Spike<rule::Apply<rule::Add, A, rule::Apply<rule::OnlyAt, I, E>>> {
  static constexpr float kSign = rule::Facts<E>::kOncePerRow ? 1.0F : 0.0F;
  using Rest = A;
  using Index = I;
  using Height = E;
};
template <class A, class I, class E>
struct Spike<rule::Apply<rule::Sub, A, rule::Apply<rule::OnlyAt, I, E>>>
    : Spike<rule::Apply<rule::Add, A, rule::Apply<rule::OnlyAt, I, E>>> {
  static constexpr float kSign = rule::Facts<E>::kOncePerRow ? -1.0F : 0.0F;
};
template <class W, std::size_t kJ, class E, class Plan>
HWY_INLINE auto bind_result(const Frame<Plan>& f) {
  if constexpr (Plan::Rule::kWritesOnce[kJ]) {
    return Once{hn::Zero(D())};  // write_once
  } else if constexpr (W::kAlong && Spike<E>::kSign != 0.0F) {
    return bind<Plan::kLastPass, typename Spike<E>::Rest>(f);
  } else {
    return bind<Plan::kLastPass, E>(f);
  }
}
template <class W, class E, class Plan>
HWY_INLINE void put_spike(const Frame<Plan>& f, const Target& t) {
  if constexpr (W::kAlong && Spike<E>::kSign != 0.0F) {
    const float index = hn::GetLane(once_value<typename Spike<E>::Index>(f));
    if (index >= 0.0F && index < static_cast<float>(static_cast<std::int64_t>(f.length))) {
      t.to[static_cast<std::int64_t>(index)] +=
          Spike<E>::kSign * hn::GetLane(once_value<typename Spike<E>::Height>(f));
    }
  }
}

template <class W, class Plan, class... E, std::size_t... kJ>
HWY_INLINE void run_frame(Frame<Plan>& f, const Target* targets, rule::Types<E...>,
                          std::index_sequence<kJ...> every) {
  run_passes<1, W>(f, typename Plan::Reductions());
  if constexpr (!Plan::kOnlyOnce) {
    write_elements<W>(f, targets, every, bind_result<W, kJ, E>(f)...);
  }
  (write_once<W, kJ, E>(f, targets[kJ]), ...);
  (put_spike<W, E>(f, targets[kJ]), ...);
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
