// Expressions of rules over rows (ext/over.h) on vectors, compiled once per target.
//
// In:  the type of an expression, and a frame (simd_frame-inl.h): the place of one row, or of as
//      many rows side by side as a vector has lanes, and the numbers known about them so far.
// Out: a *bound* expression. Each part that is one number per row has been computed and is a vector
//      (Once); parts that vary along the row are left, so that a loop computes nothing twice.
//      Example: x - log(sum(exp(x))) is bound as x - v, with v a vector.
//
// Start reading at bind(). Surprising: bound expressions are structs of their own, as the functions
// of std::tuple would be compiled for the lowest target.

#if defined(DYNET_KERNELS_SIMD_BOUND_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_BOUND_INL_H
#undef DYNET_KERNELS_SIMD_BOUND_INL_H
#else
#define DYNET_KERNELS_SIMD_BOUND_INL_H
#endif

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "dynet/ext/row_rule.h"

#include "hwy/highway.h"
#include "kernels/simd_frame-inl.h"
#include "kernels/simd_rule-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

/// The rule of one direction of an operation: results E..., and the steps of these expressions.
template <class Direction, class Op, class... E>
struct RowPlan {
  using Rule = rule::Numbered<Direction, Op>;
  using Results = rule::Types<E...>;
  using Reductions = rule::Reductions<E...>;
  using Kept = rule::KeptParts<E...>;
  static constexpr std::size_t kInputs = Rule::kInputs;
  static constexpr std::size_t kResults = sizeof...(E);
  static constexpr int kLastPass = 1 + rule::largest_of({rule::Facts<E>::kPassesBefore...});
  /// Nothing is written but numbers per row.
  static constexpr bool kOnlyOnce = (rule::Facts<E>::kOncePerRow && ...) && [] {
    bool all = true;
    for (const bool once : Rule::kWritesOnce) {
      all = all && once;
    }
    return all;
  }();
};
template <class Direction, class Op, class... E>
RowPlan<Direction, Op, E...> plan_of(rule::Types<E...>);

/// The known numbers of a row along, or of the rows of a turn across: a vector for each number that
/// is the same all along the row. Variables of one function, so that a number used by several
/// passes is computed once.
template <class Plan>
struct Known {
  std::size_t length;
  V constants[Plan::Rule::kCount + 1];
  V once[Plan::kInputs];
  V slots[Plan::Reductions::kSize + 1];  ///< set by the passes

  HWY_INLINE explicit Known(const Frame& f) : length(f.length) {
    for (std::size_t k = 0; k < Plan::Rule::kCount; ++k) {
      constants[k] = hn::Set(D(), f.constants[k]);
    }
  }
  /// The inputs of row r, or of `lanes` rows from row r on.
  HWY_INLINE void read_row(const Frame& f, std::size_t r) {
    for (std::size_t k = 0; k < Plan::kInputs; ++k) {
      if (Plan::Rule::kAlong[k] == rule::Along::kOnce) {
        once[k] = hn::Set(D(), f.once[k].of[r]);
      }
    }
  }
  HWY_INLINE void read_rows(const Frame& f, std::size_t r) {
    for (std::size_t k = 0; k < Plan::kInputs; ++k) {
      if (Plan::Rule::kAlong[k] == rule::Along::kOnce) {
        once[k] = hn::Load(D(), f.once[k].of + r);
      }
    }
  }
};

/// The operands of a bound expression at one vector of a row.
struct Place {
  const V* x;
  std::size_t kept_at;
  float* const* kept;
  V position;
};

// ---- bound expressions --------------------------------------------------------------------------

struct Once {
  V value;
  static constexpr int kCost = 0;
  HWY_INLINE V at(const Place&) const { return value; }
};
template <int kI>
struct Element {
  static constexpr int kCost = 0;
  HWY_INLINE V at(const Place& p) const { return p.x[kI]; }
};
struct AtPosition {
  static constexpr int kCost = 1;
  HWY_INLINE V at(const Place& p) const { return p.position; }
};
/// A kept expression in the pass that computes it, and afterwards.
template <std::size_t kSlot, class E>
struct Keep {
  E e;
  static constexpr int kCost = E::kCost + 1;
  HWY_INLINE V at(const Place& p) const {
    const V value = e.at(p);
    hn::StoreU(value, D(), p.kept[kSlot] + p.kept_at);
    return value;
  }
};
template <std::size_t kSlot>
struct KeptBefore {
  static constexpr int kCost = 0;
  HWY_INLINE V at(const Place& p) const { return hn::LoadU(D(), p.kept[kSlot] + p.kept_at); }
};

/// Functions of one instruction or a few; others count 16.
using CheapFunctions = rule::Types<rule::Add, rule::Sub, rule::Mul, rule::Neg, rule::Abs, rule::Max,
                                   rule::Min, rule::Less, rule::LessEqual, rule::Equal,
                                   rule::Select, rule::Floor, rule::CopySign>;
template <class F, class... Cheap>
constexpr int cost_of(rule::Types<Cheap...> /*cheap*/) {
  return (std::is_same_v<F, Cheap> || ...) ? 1 : 16;
}
template <class F>
inline constexpr int kCostOf = cost_of<F>(CheapFunctions());

/// Function F of bound expressions.
template <class F, class... A>
struct Bound;
template <class E>
inline constexpr bool kIsBoundProduct = false;
template <class A, class B>
inline constexpr bool kIsBoundProduct<Bound<rule::Mul, A, B>> = true;

template <class F, class A>
struct Bound<F, A> {
  A a;
  static constexpr int kCost = kCostOf<F> + A::kCost;
  HWY_INLINE auto at(const Place& p) const { return call(F(), D(), a.at(p)); }
};
template <class F, class A, class B>
struct Bound<F, A, B> {
  A a;
  B b;
  static constexpr int kCost = kCostOf<F> + A::kCost + B::kCost;
  /// A product whose only use is a sum is fused with it, as in elementwise rules.
  HWY_INLINE auto at(const Place& p) const {
    constexpr bool kAdds = std::is_same_v<F, rule::Add>, kSubtracts = std::is_same_v<F, rule::Sub>;
    if constexpr (kAdds && kIsBoundProduct<A>) {
      return hn::MulAdd(a.a.at(p), a.b.at(p), b.at(p));
    } else if constexpr (kAdds && kIsBoundProduct<B>) {
      return hn::MulAdd(b.a.at(p), b.b.at(p), a.at(p));
    } else if constexpr (kSubtracts && kIsBoundProduct<B>) {
      return hn::NegMulAdd(b.a.at(p), b.b.at(p), a.at(p));
    } else if constexpr (kSubtracts && kIsBoundProduct<A>) {
      return hn::MulSub(a.a.at(p), a.b.at(p), b.at(p));
    } else {
      return call(F(), D(), a.at(p), b.at(p));
    }
  }
};
template <class F, class A, class B, class C>
struct Bound<F, A, B, C> {
  A a;
  B b;
  C c;
  static constexpr int kCost = kCostOf<F> + A::kCost + B::kCost + C::kCost;
  HWY_INLINE auto at(const Place& p) const { return call(F(), D(), a.at(p), b.at(p), c.at(p)); }
};

/// Whether a bound expression reads input kI at each position.
template <int kI, class E>
inline constexpr bool kReads = false;
template <int kI>
inline constexpr bool kReads<kI, Element<kI>> = true;
template <int kI, class F, class... A>
inline constexpr bool kReads<kI, Bound<F, A...>> = (kReads<kI, A> || ...);
template <int kI, std::size_t kSlot, class E>
inline constexpr bool kReads<kI, Keep<kSlot, E>> = kReads<kI, E>;

// ---- binding ------------------------------------------------------------------------------------

/// The value of an expression that is one number per row.
template <class E>
struct OnceValue;
template <class E, class Plan>
HWY_INLINE V once_value(const Known<Plan>& row) {
  return OnceValue<E>::of(row);
}
template <std::size_t kNumber>
struct OnceValue<rule::Fixed<kNumber>> {
  template <class Plan>
  static HWY_INLINE V of(const Known<Plan>& row) {
    return row.constants[kNumber];
  }
};
template <>
struct OnceValue<rule::Count> {
  template <class Plan>
  static HWY_INLINE V of(const Known<Plan>& row) {
    return hn::Set(D(), static_cast<float>(static_cast<std::int64_t>(row.length)));
  }
};
template <int kI>
struct OnceValue<rule::RowIn<kI>> {
  template <class Plan>
  static HWY_INLINE V of(const Known<Plan>& row) {
    return row.once[kI];
  }
};
template <class F, class... A>
struct OnceValue<rule::Reduce<F, A...>> {
  template <class Plan>
  static HWY_INLINE V of(const Known<Plan>& row) {
    return row.slots[rule::kIndexIn<rule::Reduce<F, A...>, typename Plan::Reductions>];
  }
};
template <class E>
struct OnceValue<rule::Kept<E>> : OnceValue<E> {};
template <class F, class... A>
struct OnceValue<rule::Apply<F, A...>> {
  template <class Plan>
  static HWY_INLINE auto of(const Known<Plan>& row) {
    return call(F(), D(), OnceValue<A>::of(row)...);
  }
};

template <int kPass, class E>
struct Bind;
/// Expression E as the loop of pass kPass evaluates it; kPass 0: outside of all passes.
template <int kPass, class E, class Plan>
HWY_INLINE auto bind(const Known<Plan>& row) {
  if constexpr (rule::Facts<E>::kOncePerRow) {
    return Once{once_value<E>(row)};
  } else {
    return Bind<kPass, E>::of(row);
  }
}
template <int kPass, int kI>
struct Bind<kPass, rule::In<kI>> {
  template <class Plan>
  static HWY_INLINE auto of(const Known<Plan>&) {
    return Element<kI>{};
  }
};
template <int kPass>
struct Bind<kPass, rule::Position> {
  template <class Plan>
  static HWY_INLINE auto of(const Known<Plan>&) {
    return AtPosition{};
  }
};
template <int kPass, class E>
struct Bind<kPass, rule::Kept<E>> {
  template <class Plan>
  static HWY_INLINE auto of(const Known<Plan>& row) {
    using Kept = rule::Kept<E>;
    constexpr int kFirst = rule::first_pass<Kept>(typename Plan::Reductions());
    constexpr std::size_t kSlot = rule::kIndexIn<Kept, typename Plan::Kept>;
    if constexpr (kFirst == 0 || kPass < kFirst) {
      return bind<kPass, E>(row);
    } else if constexpr (kPass > kFirst) {
      return KeptBefore<kSlot>{};
    } else {
      return Keep<kSlot, decltype(bind<kPass, E>(row))>{bind<kPass, E>(row)};
    }
  }
};
template <int kPass, class F, class... A>
struct Bind<kPass, rule::Apply<F, A...>> {
  template <class Plan>
  static HWY_INLINE auto of(const Known<Plan>& row) {
    return Bound<F, decltype(bind<kPass, A>(row))...>{bind<kPass, A>(row)...};
  }
};
/// select(position == i, e, 0)
template <int kPass, class I, class E>
struct Bind<kPass, rule::Apply<rule::OnlyAt, I, E>> {
  template <class Plan>
  static HWY_INLINE auto of(const Known<Plan>& row) {
    using Here = Bound<rule::Equal, AtPosition, Once>;
    using Value = decltype(bind<kPass, E>(row));
    return Bound<rule::Select, Here, Value, Once>{Here{AtPosition{}, Once{once_value<I>(row)}},
                                                  bind<kPass, E>(row), Once{hn::Zero(D())}};
  }
};

// ---- reductions ---------------------------------------------------------------------------------

/// A reduction in one or two vectors. add() takes a bound expression at one place; if kPart, only
/// the first `part` lanes count.
template <class F>
struct Reduction;
template <>
struct Reduction<rule::SumOf> {
  static constexpr int kCost = 0;
  static HWY_INLINE void start(V* s) { s[0] = hn::Zero(D()); }
  template <bool kPart, class B>
  static HWY_INLINE void add(V* s, const B& e, const Place& at, std::size_t part) {
    if constexpr (kPart) {
      s[0] = hn::Add(s[0], hn::IfThenElseZero(hn::FirstN(D(), part), e.at(at)));
    } else if constexpr (kIsBoundProduct<B>) {
      s[0] = hn::MulAdd(e.a.at(at), e.b.at(at), s[0]);
    } else {
      s[0] = hn::Add(s[0], e.at(at));
    }
  }
  static HWY_INLINE void merge(V* s, const V* other) { s[0] = hn::Add(s[0], other[0]); }
  /// Moves the sum `s` into `all` after many terms (long_sums.h): a sum and the rounding error of
  /// its additions (Knuth's sum of two). `s` begins anew.
  static HWY_INLINE void carry(V* s, V* all) {
    const V sum = hn::Add(all[0], s[0]);
    const V part = hn::Sub(sum, all[0]);
    const V lost = hn::Add(hn::Sub(all[0], hn::Sub(sum, part)), hn::Sub(s[0], part));
    all[0] = sum;
    all[1] = hn::Add(all[1], lost);
    start(s);
  }
  /// The rounding error of an infinite sum is NaN, and is left out.
  static HWY_INLINE void settle(V* s, V* all) {
    carry(s, all);
    s[0] = hn::IfThenElse(hn::IsFinite(all[0]), hn::Add(all[0], all[1]), all[0]);
  }
  static HWY_INLINE V over_lanes(const V* s) { return hn::SumOfLanes(D(), s[0]); }
  static HWY_INLINE V in_lanes(const V* s) { return s[0]; }
};
HWY_INLINE V lowest_number() { return hn::Set(D(), -std::numeric_limits<float>::infinity()); }
template <bool kPart>
HWY_INLINE V or_lowest(V value, std::size_t part) {
  if constexpr (kPart) {
    return hn::IfThenElse(hn::FirstN(D(), part), value, lowest_number());
  } else {
    return value;
  }
}
template <>
struct Reduction<rule::MaxOf> {
  static constexpr int kCost = 0;
  static HWY_INLINE void start(V* s) { s[0] = lowest_number(); }
  template <bool kPart, class B>
  static HWY_INLINE void add(V* s, const B& e, const Place& at, std::size_t part) {
    // In this order NaN is passed over, as in plain numbers: the state is never NaN.
    s[0] = greater(or_lowest<kPart>(e.at(at), part), s[0]);
  }
  static HWY_INLINE void merge(V* s, const V* other) { s[0] = hn::Max(s[0], other[0]); }
  static HWY_INLINE void carry(V* /*s*/, V* /*all*/) {}
  static HWY_INLINE void settle(V* /*s*/, V* /*all*/) {}
  static HWY_INLINE V over_lanes(const V* s) { return hn::MaxOfLanes(D(), s[0]); }
  static HWY_INLINE V in_lanes(const V* s) { return s[0]; }
};
template <>
struct Reduction<rule::IndexOfMaxOf> {
  static constexpr int kCost = 16;
  static HWY_INLINE void start(V* s) {
    s[0] = lowest_number();
    s[1] = hn::Zero(D());
  }
  template <bool kPart, class B>
  static HWY_INLINE void add(V* s, const B& e, const Place& at, std::size_t part) {
    const V value = or_lowest<kPart>(e.at(at), part);
    const auto is_better = hn::Gt(value, s[0]);
    s[0] = hn::IfThenElse(is_better, value, s[0]);
    s[1] = hn::IfThenElse(is_better, AtPosition().at(at), s[1]);
  }
  static HWY_INLINE void merge(V* s, const V* other) {
    const auto is_better =
        hn::Or(hn::Gt(other[0], s[0]), hn::And(hn::Eq(other[0], s[0]), hn::Lt(other[1], s[1])));
    s[0] = hn::IfThenElse(is_better, other[0], s[0]);
    s[1] = hn::IfThenElse(is_better, other[1], s[1]);
  }
  static HWY_INLINE void carry(V* /*s*/, V* /*all*/) {}
  static HWY_INLINE void settle(V* /*s*/, V* /*all*/) {}
  static HWY_INLINE V over_lanes(const V* s) {
    const auto is_top = hn::Eq(s[0], hn::MaxOfLanes(D(), s[0]));
    const V far = hn::Set(D(), std::numeric_limits<float>::max());
    return hn::MinOfLanes(D(), hn::IfThenElse(is_top, s[1], far));
  }
  static HWY_INLINE V in_lanes(const V* s) { return s[1]; }
};
/// A reduction's kind and argument.
template <class R>
struct Reduced;
template <class F, class E>
struct Reduced<rule::Reduce<F, E>> {
  using Kind = Reduction<F>;
  using Argument = E;
};
/// The value at one position has no kind: it is looked up.
template <class E, class I>
struct Reduced<rule::Reduce<rule::ValueAt, E, I>> {
  using Argument = E;
  using Index = I;
};
template <class R>
inline constexpr bool kIsValueAt = false;
template <class E, class I>
inline constexpr bool kIsValueAt<rule::Reduce<rule::ValueAt, E, I>> = true;

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
