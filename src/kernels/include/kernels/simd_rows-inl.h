// Rules over rows on vectors, compiled once a target.
//
// In:  the type of a rule (ext/numbered.h) and calls of it (ext/rows.h).
// Out: loops with the signature ext::RowLoop, for install_row_loops() to put in ext::row_loops.
//
//   pass 1, 2, ...  computes the reductions whose arguments are known by then, all of one pass
//                   together
//   last pass       computes the results and writes them
//
// Before each pass its expressions are bound (simd_bound-inl.h). There are two ways. *Along* the
// row a vector holds neighbours of one row; *across*, one position of several rows. Rows that lie
// side by side go across, and so do short rows whose reductions wait for each other; they are
// turned. The choice depends on the rule and the shape of one example alone: a row has the same
// bits whatever the batch is. Start reading at run_rows().
//
// Surprising: where all results are one number per row, the reductions of as many rows as there are
// lanes are gathered before the rest (often a logarithm) is computed for all of them.

#if defined(DYNET_KERNELS_SIMD_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_ROWS_INL_H
#undef DYNET_KERNELS_SIMD_ROWS_INL_H
#else
#define DYNET_KERNELS_SIMD_ROWS_INL_H
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "dynet/ext/op.h"

#include "hwy/highway.h"
#include "kernels/row_scratch.h"
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

// ---- rows along ---------------------------------------------------------------------------------

HWY_INLINE float row_number(const ext::RowStream& s, std::int64_t at) {
  if (s.data == nullptr) {
    return 0.0F;
  }
  return s.is_index ? static_cast<float>(static_cast<const std::uint32_t*>(s.data)[at])
                    : static_cast<const float*>(s.data)[at];
}
template <class Plan>
constexpr bool is_once(std::size_t input) {
  return Plan::Rule::kAlong[input] == rule::Along::kOnce;
}
template <class Plan>
constexpr bool is_positions(std::size_t input) {
  return Plan::Rule::kAlong[input] == rule::Along::kPositions;
}

template <class Plan>
HWY_INLINE void set_constants(Frame<Plan>& f, const double* constants) {
  for (std::size_t k = 0; k < Plan::Rule::kCount; ++k) {
    f.constants[k] = hn::Set(D(), static_cast<float>(constants[k]));
  }
}

template <class Plan, class... E, std::size_t... kJ>
HWY_INLINE void write_block(const Frame<Plan>& f, const ext::RowStream* out, std::int64_t first,
                            std::size_t rows, rule::Types<E...>, std::index_sequence<kJ...>) {
  alignas(64) float results[Plan::kResults][kMaxLanes];
  (hn::Store(once_value<E>(f), D(), results[kJ]), ...);
  for (std::size_t j = 0; j < Plan::kResults; ++j) {
    if (out[j].data == nullptr) {
      continue;
    }
    float* to = static_cast<float*>(out[j].data) + first * out[j].outer_step;
    for (std::size_t r = 0; r < rows; ++r, to += out[j].outer_step) {
      *to = out[j].adds ? *to + results[j][r] : results[j][r];
    }
  }
}
/// The reductions of some rows, one row in each lane.
template <class Plan>
struct Block {
  alignas(64) float slots[Plan::Reductions::kSize + 1][kMaxLanes];
  alignas(64) float once[Plan::kInputs][kMaxLanes];
  std::size_t rows = 0;

  HWY_INLINE void take(const Frame<Plan>& f) {
    for (std::size_t k = 0; k < Plan::Reductions::kSize; ++k) {
      slots[k][rows] = hn::GetLane(f.slots[k]);
    }
    for (std::size_t k = 0; k < Plan::kInputs; ++k) {
      if (is_once<Plan>(k)) {
        once[k][rows] = hn::GetLane(f.once[k]);
      }
    }
    ++rows;
  }
  HWY_INLINE void finish(Frame<Plan>& f, const ext::RowStream* out, std::int64_t end) {
    for (std::size_t k = 0; k < Plan::Reductions::kSize; ++k) {
      f.slots[k] = hn::Load(D(), slots[k]);
    }
    for (std::size_t k = 0; k < Plan::kInputs; ++k) {
      if (is_once<Plan>(k)) {
        f.once[k] = hn::Load(D(), once[k]);
      }
    }
    write_block(f, out, end - static_cast<std::int64_t>(rows), rows, typename Plan::Results(),
                std::make_index_sequence<Plan::kResults>());
    rows = 0;
  }
};

/// Scratch memory of rows along: what is kept, a row of zeros for inputs that are absent, and a row
/// for results that nobody wants.
template <class Plan>
struct AlongMemory {
  float* zeros;
  float* dump;

  HWY_INLINE AlongMemory(Frame<Plan>& f, const ext::RowCall& call) {
    const std::size_t row = f.length + kMaxLanes;
    bool is_absent = false;
    for (std::size_t k = 0; k < Plan::kInputs; ++k) {
      is_absent = is_absent || (!is_once<Plan>(k) && call.in[k].data == nullptr);
    }
    bool is_unwanted = false;
    for (std::size_t j = 0; j < Plan::kResults; ++j) {
      is_unwanted = is_unwanted || call.out[j].data == nullptr;
    }
    const std::size_t rows = Plan::Kept::kSize + (is_absent ? 1 : 0) + (is_unwanted ? 1 : 0);
    float* memory = rows > 0 ? row_scratch(rows * row) : nullptr;
    for (std::size_t k = 0; k < Plan::Kept::kSize; ++k, memory += row) {
      f.kept[k] = memory;
    }
    zeros = memory;
    dump = is_absent ? memory + row : memory;
    if (is_absent) {
      std::fill_n(zeros, f.length, 0.0F);
    }
  }
};

template <class Plan>
HWY_INLINE void run_along(const ext::RowCall& call) {
  Frame<Plan> f;
  set_constants(f, call.constants);
  f.length = static_cast<std::size_t>(call.rows.length);
  const AlongMemory<Plan> memory(f, call);
  [[maybe_unused]] Block<Plan> block;
  const std::int64_t outer = call.rows.outer;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::size_t k = 0; k < Plan::kInputs; ++k) {
      const ext::RowStream& s = call.in[k];
      if (is_once<Plan>(k)) {
        f.once[k] = hn::Set(D(), row_number(s, o * s.outer_step));
      } else {
        f.from[k] =
            s.data == nullptr ? memory.zeros : static_cast<const float*>(s.data) + o * s.outer_step;
      }
    }
    if constexpr (Plan::kOnlyOnce) {
      run_passes<1, AlongRow>(f, typename Plan::Reductions());
      if (block.rows == 0 && o + 1 == outer) {  // alone: no need to gather
        write_block(f, call.out, o, 1, typename Plan::Results(),
                    std::make_index_sequence<Plan::kResults>());
        break;
      }
      block.take(f);
      if (block.rows == hn::Lanes(D()) || o + 1 == outer) {
        block.finish(f, call.out, o + 1);
      }
    } else {
      Target targets[Plan::kResults];
      for (std::size_t j = 0; j < Plan::kResults; ++j) {
        const ext::RowStream& s = call.out[j];
        targets[j] = s.data == nullptr ? Target{memory.dump, 0, true, false}
                                       : Target{static_cast<float*>(s.data) + o * s.outer_step, 0,
                                                !s.adds, false};
      }
      run_frame<AlongRow>(f, targets, typename Plan::Results(),
                          std::make_index_sequence<Plan::kResults>());
    }
  }
}

// ---- rows across --------------------------------------------------------------------------------

/// As many rows as a vector has lanes, or fewer: `part` of them, from row (o, i) on.
template <class Plan>
struct Across {
  const ext::RowCall& call;
  std::size_t lanes, tile;  ///< a tile is a turned operand: `tile` numbers
  float* tiles;
  Frame<Plan> f;
  Target targets[Plan::kResults];

  HWY_INLINE explicit Across(const ext::RowCall& c)
      : call(c),
        lanes(hn::Lanes(D())),
        tile((static_cast<std::size_t>(c.rows.length) + 1) * lanes),
        tiles(row_scratch((Plan::Kept::kSize + Plan::kInputs + Plan::kResults) * tile)) {
    set_constants(f, call.constants);
    f.length = static_cast<std::size_t>(call.rows.length);
    for (std::size_t k = 0; k < Plan::Kept::kSize; ++k, tiles += tile) {
      f.kept[k] = tiles;
    }
  }
  HWY_INLINE void read(std::size_t k, std::int64_t o, std::int64_t i, std::size_t part) {
    const ext::RowStream& s = call.in[k];
    const std::int64_t at = o * s.outer_step + i * s.row_step;
    if (is_once<Plan>(k)) {
      alignas(64) float numbers[kMaxLanes] = {};
      for (std::size_t lane = 0; lane < part; ++lane) {
        numbers[lane] = row_number(s, at + static_cast<std::int64_t>(lane) * s.row_step);
      }
      f.once[k] = hn::Load(D(), numbers);
      return;
    }
    if (s.data == nullptr) {
      std::fill_n(tiles + k * tile, f.length * lanes, 0.0F);
    } else {
      f.from[k] = static_cast<const float*>(s.data) + at;
      f.step[k] = static_cast<std::size_t>(s.step[0]);
      if (is_positions<Plan>(k) || part == 1 || s.row_step == 1) {
        return;
      }
      turn_in(s, f.from[k], part, lanes, f.length, tiles + k * tile);
    }
    f.from[k] = tiles + k * tile;
    f.step[k] = lanes;
  }
  HWY_INLINE void aim(std::size_t j, std::int64_t o, std::int64_t i, std::size_t part) {
    const ext::RowStream& s = call.out[j];
    const bool is_turned = s.data == nullptr || (part > 1 && s.row_step != 1 && s.row_step != 0);
    targets[j] = is_turned ? Target{tiles + (Plan::kInputs + j) * tile, lanes, true, false}
                           : Target{static_cast<float*>(s.data) + o * s.outer_step + i * s.row_step,
                                    static_cast<std::size_t>(s.step[0]), !s.adds,
                                    part > 1 && s.row_step == 0};
  }
  HWY_INLINE void finish(std::size_t j, std::int64_t o, std::int64_t i, std::size_t part) {
    const ext::RowStream& s = call.out[j];
    const float* from = tiles + (Plan::kInputs + j) * tile;
    if (s.data != nullptr && targets[j].to == from) {
      turn_out(s, from, part, lanes, Plan::Rule::kWritesOnce[j] ? 1 : f.length,
               static_cast<float*>(s.data) + o * s.outer_step + i * s.row_step);
    }
  }
  HWY_INLINE void run(std::int64_t o, std::int64_t i, std::size_t part) {
    f.lanes_used = part;
    for (std::size_t k = 0; k < Plan::kInputs; ++k) {
      read(k, o, i, part);
    }
    for (std::size_t j = 0; j < Plan::kResults; ++j) {
      aim(j, o, i, part);
    }
    const auto every = std::make_index_sequence<Plan::kResults>();
    if (part == lanes) {
      run_frame<Way<false, false>>(f, targets, typename Plan::Results(), every);
    } else {
      run_frame<Way<false, true>>(f, targets, typename Plan::Results(), every);
    }
    for (std::size_t j = 0; j < Plan::kResults; ++j) {
      finish(j, o, i, part);
    }
  }
};

/// Side by side: row i of `inner` is lane i.
template <class Plan>
HWY_INLINE void run_across(const ext::RowCall& call) {
  Across<Plan> across(call);
  // Numbers that differ from row to row but not along it have no form side by side.
  std::int64_t most = static_cast<std::int64_t>(across.lanes);
  for (std::size_t k = 0; k < Plan::kInputs; ++k) {
    most = is_positions<Plan>(k) && call.in[k].row_step != 0 ? 1 : most;
  }
  for (std::int64_t o = 0; o < call.rows.outer; ++o) {
    for (std::int64_t i = 0; i < call.rows.inner; i += most) {
      across.run(o, i, static_cast<std::size_t>(std::min(most, call.rows.inner - i)));
    }
  }
}

/// Rows shorter than this are turned: where a row is reduced twice or more, one reduction after the
/// other, this beats waiting for lanes to be summed. It depends on nothing but the rule and the
/// length, as sums round differently along and across.
template <class Plan>
inline constexpr std::int64_t kShortRow = Plan::kLastPass >= 3 ? 24 : 0;

template <class Direction, class Op>
void run_rows(const ext::RowCall& call) {
  using Plan =
      decltype(plan_of<Direction, Op>(typename rule::Numbered<Direction, Op>::Expressions()));
  if (call.rows.inner > 1) {
    run_across<Plan>(call);
  } else if (call.rows.length >= kShortRow<Plan>) {
    run_along<Plan>(call);
  } else {  // outer rows become lanes
    ext::RowStream streams[Plan::kInputs + Plan::kResults];
    std::copy_n(call.in, Plan::kInputs, streams);
    std::copy_n(call.out, Plan::kResults, streams + Plan::kInputs);
    for (ext::RowStream& s : streams) {
      s.row_step = s.outer_step;
      s.outer_step = 0;
    }
    ext::RowCall turned{call.constants, streams, streams + Plan::kInputs, call.rows};
    turned.rows.inner = call.rows.outer;
    turned.rows.outer = 1;
    run_across<Plan>(turned);
  }
}

template <class Op>
void install_row_loop() {
  if constexpr (ext::RowOperation<Op>) {
    ext::row_loops<Op>().forward_float = run_rows<rule::ForwardRule, Op>;
    ext::row_loops<Op>().backward_float = run_rows<rule::BackwardRule, Op>;
  }
}
/// Makes this target's loops those of all rules over rows in a list of operations.
template <class... Ops>
void install_row_loops(ext::OpList<Ops...>) {
  (install_row_loop<Ops>(), ...);
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
