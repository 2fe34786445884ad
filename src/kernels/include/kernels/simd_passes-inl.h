// The passes of a rule over rows over one frame (simd_frame-inl.h). Compiled once per target.
//
// In:  a frame with the places of the inputs and the length of the rows, and the rule's reductions
//      and results as types.
// Out: the results at the frame's places: results with one number per element by write(), results
//      with one per row by set_numbers(), once reduce() has found the reductions, pass by pass.
//      Start reading at run_frame(), which is compiled once for each direction of each rule.

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
#include "kernels/long_sums.h"
#include "kernels/simd_bound-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

// ---- one step -----------------------------------------------------------------------------------

/// A vector of a row, and the positions of its lanes.
struct Cursor {
  std::size_t v;
  V position;
};
/// The places of the operands of a row, as variables of a loop, so that no write of the loop can
/// change them.
template <class Plan>
struct Operands {
  Vectors<const float> from[Plan::kInputs];
  Vectors<const float> base[Plan::kResults];
  Vectors<float> to[Plan::kResults];
  float* kept[Plan::Kept::kSize + 1];
  std::size_t whole, part;
  bool is_along;
  V first;      ///< the positions of vector 0
  V positions;  ///< from one vector to the next

  HWY_INLINE explicit Operands(const Frame& f)
      : whole(f.whole),
        part(f.part),
        is_along(f.is_along),
        first(f.is_along ? hn::Iota(D(), 0.0F) : hn::Zero(D())),
        positions(hn::Set(D(), f.is_along ? static_cast<float>(hn::Lanes(D())) : 1.0F)) {
    for (std::size_t k = 0; k < Plan::kInputs; ++k) {
      if (has_place(k)) {
        from[k] = variable(f.from[k]);
      }
    }
    for (std::size_t j = 0; j < Plan::kResults; ++j) {
      base[j] = variable(f.base[j]);
      to[j] = variable(f.to[j]);
    }
    for (std::size_t k = 0; k < Plan::Kept::kSize; ++k) {
      kept[k] = f.kept[k];
    }
  }
  HWY_INLINE void next_turn() {
    for (std::size_t k = 0; k < Plan::kInputs; ++k) {
      if (has_place(k)) {
        from[k].data += from[k].next;
      }
    }
    for (std::size_t j = 0; j < Plan::kResults; ++j) {
      base[j].data += base[j].next;
      to[j].data += to[j].next;
    }
  }
  [[nodiscard]] HWY_INLINE Cursor begin() const { return {0, first}; }
  HWY_INLINE void step(Cursor& c) const {
    ++c.v;
    c.position = hn::Add(c.position, positions);
  }
  /// The operands of the expressions B... at a vector, or (kPart) at its first `lanes`. Loads `x`,
  /// which must stay as long as the place.
  template <bool kPart, class... B>
  HWY_INLINE Place at(const Cursor& c, std::size_t lanes, V* x, const B&... /*read*/) const {
    load<kPart, B...>(c.v, lanes, x, std::make_index_sequence<Plan::kInputs>());
    return {x, c.v * hn::Lanes(D()), kept, c.position};
  }
  /// The operands in the first lane at number i of a row along.
  template <class... B>
  HWY_INLINE Place at_number(std::size_t i, V* x, const B&... /*read*/) const {
    load_number<B...>(i, x, std::make_index_sequence<Plan::kInputs>());
    return {x, i, kept, hn::Set(D(), static_cast<float>(static_cast<std::int64_t>(i)))};
  }

 private:
  static constexpr bool has_place(std::size_t input) {
    return Plan::Rule::kAlong[input] != rule::Along::kOnce;
  }
  template <class Number>
  static HWY_INLINE Vectors<Number> variable(const Vectors<Number>& v) {
    return {read_alone(v.data), read_alone(v.step), read_alone(v.next)};
  }
  template <bool kPart, class... B, std::size_t... kI>
  HWY_INLINE void load(std::size_t v, std::size_t lanes, V* x, std::index_sequence<kI...>) const {
    (load_one<kPart, static_cast<int>(kI), B...>(v, lanes, x), ...);
  }
  template <bool kPart, int kI, class... B>
  HWY_INLINE void load_one(std::size_t v, std::size_t lanes, V* x) const {
    if constexpr (reads<kI, B...>()) {
      const float* data = from[kI].data + v * from[kI].step;
      if constexpr (kPart) {
        x[kI] = load_part(D(), data, lanes);
      } else {
        x[kI] = hn::LoadU(D(), data);
      }
    }
  }
  template <class... B, std::size_t... kI>
  HWY_INLINE void load_number(std::size_t i, V* x, std::index_sequence<kI...>) const {
    ((reads<static_cast<int>(kI), B...>()
          ? void(x[kI] = hn::Set(D(), from[kI].data[from[kI].step == 0 ? 0 : i]))
          : void()),
     ...);
  }
  template <int kI, class... B>
  static constexpr bool reads() {
    return (kReads<kI, B> || ...);
  }
};

// ---- reductions ---------------------------------------------------------------------------------

template <bool kPart, class Plan, class... R, std::size_t... kN, class... B>
HWY_INLINE void reduce_step(const Operands<Plan>& o, V (*states)[2], Cursor& c, std::size_t lanes,
                            rule::Types<R...>, std::index_sequence<kN...>, const B&... e) {
  V x[Plan::kInputs];
  const Place at = o.template at<kPart>(c, lanes, x, e...);
  (Reduced<R>::Kind::template add<kPart>(states[kN], e, at, lanes), ...);
  o.step(c);
}

/// Reads whole vectors before `end`, kUnroll at a time.
template <std::size_t kUnroll, class Plan, class S, class... R, std::size_t... kN, class... B>
HWY_INLINE void reduce_vectors(const Operands<Plan>& o, S& s, Cursor& c, std::size_t end,
                               rule::Types<R...> list, std::index_sequence<kN...> every,
                               const B&... e) {
  while (c.v + kUnroll <= end) {
    reduce_step<false>(o, s[0], c, 0, list, every, e...);
    reduce_step<false>(o, s[1], c, 0, list, every, e...);
    if constexpr (kUnroll == 4) {
      reduce_step<false>(o, s[2], c, 0, list, every, e...);
      reduce_step<false>(o, s[3], c, 0, list, every, e...);
    }
  }
}

/// Reads all vectors of a frame of many: its sums are moved to `all` after every kMost vectors.
template <std::size_t kUnroll, class Plan, class S, class All, class... R, std::size_t... kN,
          class... B>
HWY_INLINE void reduce_many_vectors(const Operands<Plan>& o, S& s, All& all, Cursor& c,
                                    rule::Types<R...> list, std::index_sequence<kN...> every,
                                    const B&... e) {
  constexpr std::size_t kMost = kUnroll * static_cast<std::size_t>(kMostTerms);
  for (auto& sums : all) {
    sums[0] = sums[1] = hn::Zero(D());
  }
  for (std::size_t end = kMost; end < o.whole; end += kMost) {
    reduce_vectors<kUnroll>(o, s, c, end, list, every, e...);
    for (auto& states : s) {
      (Reduced<R>::Kind::carry(states[kN], all[kN]), ...);
    }
  }
  reduce_vectors<kUnroll>(o, s, c, o.whole, list, every, e...);
}

/// The reductions R... over a frame, all in one pass. Each has two or four states, as one state
/// would wait for itself.
template <class Plan, class... R, std::size_t... kN, class... B>
HWY_INLINE void reduce_together(const Operands<Plan>& o, Known<Plan>& row, rule::Types<R...> list,
                                std::index_sequence<kN...> every, const B&... e) {
  constexpr std::size_t kUnroll = ((B::kCost + Reduced<R>::Kind::kCost) + ...) < 16 ? 4 : 2;
  const std::size_t lanes = hn::Lanes(D());
  V s[kUnroll][sizeof...(R)][2];
  for (auto& states : s) {
    (Reduced<R>::Kind::start(states[kN]), ...);
  }
  const bool is_long = o.whole > kUnroll * static_cast<std::size_t>(kMostTerms);
  V all[sizeof...(R)][2];
  Cursor c = o.begin();
  if (is_long) {
    reduce_many_vectors<kUnroll>(o, s, all, c, list, every, e...);
  } else {
    reduce_vectors<kUnroll>(o, s, c, o.whole, list, every, e...);
  }
  if (c.v > 0) {
    for (std::size_t u = 1; u < kUnroll; ++u) {
      (Reduced<R>::Kind::merge(s[0][kN], s[u][kN]), ...);
    }
  }
  if constexpr (kUnroll == 4) {
    while (c.v < o.whole) {
      reduce_step<false>(o, s[0], c, 0, list, every, e...);
    }
  }
  // Costly rules have one copy of the code for whole and partial vectors.
  const std::size_t end = o.whole + (o.part > 0 ? 1 : 0);
  while (c.v < end) {
    reduce_step<true>(o, s[0], c, c.v < o.whole ? lanes : o.part, list, every, e...);
  }
  if (is_long) {
    (Reduced<R>::Kind::settle(s[0][kN], all[kN]), ...);
  }
  ((row.slots[rule::kIndexIn<R, typename Plan::Reductions>] =
        o.is_along ? Reduced<R>::Kind::over_lanes(s[0][kN]) : Reduced<R>::Kind::in_lanes(s[0][kN])),
   ...);
}

/// The value at one position: one number along a row; across, one number of each row.
template <class R, class Plan>
HWY_INLINE V value_at(const Operands<Plan>& o, const Known<Plan>& row) {
  const auto e = bind<0, typename Reduced<R>::Argument>(row);
  const V index = once_value<typename Reduced<R>::Index>(row);
  V x[Plan::kInputs];
  if (row.length == 0) {
    return hn::Zero(D());  // as plain_rows.h: there is nothing to be read
  }
  if (o.is_along) {
    const auto i = static_cast<std::size_t>(static_cast<std::int64_t>(hn::GetLane(index)));
    return hn::Set(D(), hn::GetLane(e.at(o.at_number(i, x, e))));
  }
  V found = hn::Zero(D());
  for (Cursor c = o.begin(); c.v < o.whole; o.step(c)) {
    const Place at = o.template at<false>(c, 0, x, e);
    found = hn::IfThenElse(hn::Eq(at.position, index), e.at(at), found);
  }
  return found;
}
template <int kPass, class R, class Plan>
HWY_INLINE void look_up_in_pass(const Operands<Plan>& o, Known<Plan>& row) {
  if constexpr (kIsValueAt<R> && rule::Facts<R>::kPassesBefore == kPass) {
    row.slots[rule::kIndexIn<R, typename Plan::Reductions>] = value_at<R>(o, row);
  }
}

/// The reductions that the loop of pass kPass computes.
template <int kPass, class Found, class... R>
struct OfPass {
  using Type = Found;
};
template <int kPass, class... Found, class R, class... Rest>
struct OfPass<kPass, rule::Types<Found...>, R, Rest...> {
  static constexpr bool kIsIn = rule::Facts<R>::kPassesBefore == kPass && !kIsValueAt<R>;
  using Type =
      typename OfPass<kPass,
                      std::conditional_t<kIsIn, rule::Types<Found..., R>, rule::Types<Found...>>,
                      Rest...>::Type;
};
template <int kPass, class Plan, class... R>
HWY_INLINE void reduce_these(const Operands<Plan>& o, Known<Plan>& row, rule::Types<R...> list) {
  if constexpr (sizeof...(R) > 0) {
    reduce_together(o, row, list, std::index_sequence_for<R...>(),
                    bind<kPass, typename Reduced<R>::Argument>(row)...);
  }
}
template <int kPass, class Plan, class... R>
HWY_INLINE void reduce_from(const Operands<Plan>& o, Known<Plan>& row, rule::Types<R...> all) {
  if constexpr (kPass < Plan::kLastPass) {
    (look_up_in_pass<kPass, R>(o, row), ...);
    reduce_these<kPass>(o, row, typename OfPass<kPass, rule::Types<>, R...>::Type());
    reduce_from<kPass + 1>(o, row, all);
  }
}
template <class Plan>
HWY_INLINE void reduce(const Operands<Plan>& o, Known<Plan>& row) {
  reduce_from<1>(o, row, typename Plan::Reductions());
}

// ---- results ------------------------------------------------------------------------------------

/// `a + only_at(i, e)` and `a - only_at(i, e)` are written as `a`, and then one element is changed:
/// nothing is compared in the loop.
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
template <std::size_t kJ, class E, class Plan>
HWY_INLINE void put_spike(const Operands<Plan>& o, const Known<Plan>& row, std::size_t rows) {
  if constexpr (!Plan::Rule::kWritesOnce[kJ] && Spike<E>::kSign != 0.0F) {
    if (o.to[kJ].step == 0 && o.to[kJ].next == 0) {
      return;  // nobody wants it: a sum along the row has a `next`
    }
    alignas(64) float index[kMaxLanes], height[kMaxLanes];
    hn::Store(once_value<typename Spike<E>::Index>(row), D(), index);
    hn::Store(once_value<typename Spike<E>::Height>(row), D(), height);
    const std::size_t step = o.is_along ? 1 : o.to[kJ].step;
    for (std::size_t r = 0; r < rows; ++r) {
      if (index[r] >= 0.0F &&
          index[r] < static_cast<float>(static_cast<std::int64_t>(row.length))) {
        const auto i = static_cast<std::size_t>(static_cast<std::int64_t>(index[r]));
        o.to[kJ].data[i * step + r] += Spike<E>::kSign * height[r];
      }
    }
  }
}

template <std::size_t kJ, class E, class Plan>
HWY_INLINE auto bind_result(const Known<Plan>& row) {
  if constexpr (Plan::Rule::kWritesOnce[kJ]) {
    return Once{hn::Zero(D())};  // number()
  } else if constexpr (Spike<E>::kSign != 0.0F) {
    return bind<Plan::kLastPass, typename Spike<E>::Rest>(row);
  } else {
    return bind<Plan::kLastPass, E>(row);
  }
}
template <bool kPart>
HWY_INLINE void put_vector(V value, const Vectors<const float>& base, const Vectors<float>& to,
                           std::size_t v, std::size_t part) {
  const D d;
  const float* start = base.data + v * base.step;
  if constexpr (kPart) {
    store_part(hn::Add(load_part(d, start, part), value), d, to.data + v * to.step, part);
  } else {
    hn::StoreU(hn::Add(hn::LoadU(d, start), value), d, to.data + v * to.step);
  }
}
template <bool kPart, class Plan, std::size_t... kJ, class... B>
HWY_INLINE void write_step(const Operands<Plan>& o, const Cursor& c, std::size_t lanes,
                           std::index_sequence<kJ...>, const B&... e) {
  V x[Plan::kInputs];
  const Place at = o.template at<kPart>(c, lanes, x, e...);
  // All values before the first is written: shared terms are computed once.
  const V values[] = {e.at(at)...};
  ((Plan::Rule::kWritesOnce[kJ] ? void()
                                : put_vector<kPart>(values[kJ], o.base[kJ], o.to[kJ], c.v, lanes)),
   ...);
}
template <class Plan, std::size_t... kJ, class... B>
HWY_INLINE void write_elements(const Operands<Plan>& o, std::index_sequence<kJ...> every,
                               const B&... e) {
  Cursor c = o.begin();
  for (; c.v < o.whole; o.step(c)) {
    write_step<false>(o, c, 0, every, e...);
  }
  if (o.part > 0) {
    write_step<true>(o, c, o.part, every, e...);
  }
}
/// The results with one number per element, of `rows` lanes.
template <class Plan, class... E, std::size_t... kJ>
HWY_INLINE void write(const Operands<Plan>& o, const Known<Plan>& row, std::size_t rows,
                      rule::Types<E...>, std::index_sequence<kJ...> every) {
  write_elements(o, every, bind_result<kJ, E>(row)...);
  (put_spike<kJ, E>(o, row, rows), ...);
}

template <std::size_t kJ, class E, class Plan>
HWY_INLINE void set_number(float* to, const Known<Plan>& row, bool is_one) {
  if constexpr (Plan::Rule::kWritesOnce[kJ]) {
    const V value = once_value<E>(row);
    if (is_one) {
      *to = hn::GetLane(value);
    } else {
      hn::Store(value, D(), to);
    }
  }
}
/// The results with one number per row: of row r alone, or of `lanes` rows.
template <class Plan, class... E, std::size_t... kJ>
HWY_INLINE void set_numbers(Frame& f, const Known<Plan>& row, std::size_t r, bool is_one,
                            rule::Types<E...>, std::index_sequence<kJ...>) {
  (set_number<kJ, E>(f.numbers[kJ].of + r, row, is_one), ...);
}

// ---- frames -------------------------------------------------------------------------------------

/// The rows of a turn, from row r on.
template <class Plan>
HWY_INLINE void read_once(const Frame& f, std::size_t r, Known<Plan>& row) {
  if (f.is_along) {
    row.read_row(f, r);
  } else {
    row.read_rows(f, r);
  }
}
/// Results with one number per row and no others: the reductions of all rows come first, so that
/// the rest (often a logarithm) is computed for as many of them together as there are lanes.
template <class Plan>
HWY_INLINE void run_to_numbers(Frame& f, Operands<Plan>& o, Known<Plan>& row) {
  constexpr std::size_t kReductions = Plan::Reductions::kSize;
  const std::size_t lanes = hn::Lanes(D());
  RowNumbers slots[kReductions + 1];
  for (std::size_t r = 0; r < f.rows; r += o.is_along ? 1 : lanes, o.next_turn()) {
    read_once(f, r, row);
    reduce(o, row);
    for (std::size_t k = 0; k < kReductions; ++k) {
      if (o.is_along) {
        slots[k].of[r] = hn::GetLane(row.slots[k]);
      } else {
        hn::Store(row.slots[k], D(), slots[k].of + r);
      }
    }
  }
  for (std::size_t r = 0; r < f.rows; r += lanes) {
    row.read_rows(f, r);
    for (std::size_t k = 0; k < kReductions; ++k) {
      row.slots[k] = hn::Load(D(), slots[k].of + r);
    }
    set_numbers(f, row, r, false, typename Plan::Results(),
                std::make_index_sequence<Plan::kResults>());
  }
}
template <class Plan>
HWY_INLINE void run_to_elements(Frame& f, Operands<Plan>& o, Known<Plan>& row) {
  const auto every = std::make_index_sequence<Plan::kResults>();
  const std::size_t turn = o.is_along ? 1 : hn::Lanes(D());
  for (std::size_t r = 0; r < f.rows; r += turn, o.next_turn()) {
    read_once(f, r, row);
    reduce(o, row);
    write(o, row, std::min(turn, f.rows - r), typename Plan::Results(), every);
    set_numbers(f, row, r, o.is_along, typename Plan::Results(), every);
  }
}
/// RowSteps::run
template <class Plan>
void run_frame(Frame& f) {
  Operands<Plan> o(f);
  Known<Plan> row(f);
  if constexpr (Plan::kOnlyOnce) {
    run_to_numbers(f, o, row);
  } else {
    run_to_elements(f, o, row);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
