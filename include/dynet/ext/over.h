#pragma once

// Words of the rule language that look along a row: reductions and positions.
//
// A row is all elements of an example along one axis, or along several. Beside the arithmetic of
// rule.h, a rule over rows may use
//
//   over::sum(e), over::mean(e), over::max(e)   one number per row; NaN is no maximum
//   over::index_of_max(e)                       the first position of the largest element
//   over::at(e, i)                              the value of e at position i; in an empty row 0
//   over::position(), over::count()             the place of this element; the length of the row
//   over::only_at(i, e)                         e at position i, and 0 elsewhere
//   over::keep(e)                               e, with the hint to store it in the first pass that
//                                               computes it and to load it afterwards
//
// for example in the logarithm of a sum of exponentials:
//
//   constexpr auto value(auto x) const {
//     const auto m = over::max(x);
//     return rule::each(m + log(over::sum(exp(x - m))));
//   }
//
// A rule over rows is never called with numbers. The library calls the rule with symbols, and the
// type of the result tells an evaluator which reductions there are, how many passes over the row
// must come before each, and which expressions are one number per row. In the example the maximum
// needs one pass, and the sum a second pass after the maximum. This header has the words and the
// queries; numbered.h makes types out of constants; plain_rows.h evaluates one number after the
// other, and src/kernels evaluates vectors. Positions are numbers of the device's type, exact in
// float up to 2^24: an operation with positions refuses longer rows in shape(), and otherwise
// Kernels::run_rows_call (kernels.h) throws a ShapeError.

#include <cstddef>
#include <initializer_list>
#include <tuple>
#include <type_traits>

#include "dynet/ext/rule.h"

namespace dynet::rule {

/// How an argument lies along a row.
enum class Along : unsigned char {
  kElements,   ///< one number per element
  kPositions,  ///< one number per position, the same in all rows of an example: a gain, a bias
  kOnce        ///< one number per row: a class, a target
};

// ---- nodes --------------------------------------------------------------------------------------

/// The i-th input, if it has one number per row.
template <int kI>
struct RowIn {};
/// A reduction of kind F over the row.
template <class F, class... A>
struct Reduce {
  std::tuple<A...> args;
};
struct SumOf {};
struct MaxOf {};
struct IndexOfMaxOf {};
struct ValueAt {};
struct Position {};
struct Count {};
/// The function of over::only_at.
struct OnlyAt {};
template <class E>
struct Kept {
  std::tuple<E> args;
};
/// A constant that has been numbered (numbered.h).
template <std::size_t kNumber>
struct Fixed {};

namespace detail {
template <int kI>
inline constexpr bool kIsSymbol<RowIn<kI>> = true;
template <class F, class... A>
inline constexpr bool kIsSymbol<Reduce<F, A...>> = true;
template <>
inline constexpr bool kIsSymbol<Position> = true;
template <>
inline constexpr bool kIsSymbol<Count> = true;
template <class E>
inline constexpr bool kIsSymbol<Kept<E>> = true;
template <std::size_t kNumber>
inline constexpr bool kIsSymbol<Fixed<kNumber>> = true;
}  // namespace detail

// ---- queries on a type --------------------------------------------------------------------------

constexpr int largest_of(std::initializer_list<int> values) {
  int top = 0;
  for (const int v : values) {
    top = v > top ? v : top;
  }
  return top;
}

/// Properties of an expression, by its type. Leaves vary along the row, unless specialised below.
template <class E>
struct Facts {
  static constexpr bool kOncePerRow = false;
  static constexpr bool kIsReduction = false, kIsKept = false;
  static constexpr int kPassesBefore = 0;  ///< over the row, before the expression is known
};
struct OnceFacts : Facts<void> {
  static constexpr bool kOncePerRow = true;
};
template <>
struct Facts<Constant> : OnceFacts {};
template <>
struct Facts<Count> : OnceFacts {};
template <std::size_t kNumber>
struct Facts<Fixed<kNumber>> : OnceFacts {};
template <int kI>
struct Facts<RowIn<kI>> : OnceFacts {};
template <class F, class... A>
struct Facts<Apply<F, A...>> : Facts<void> {
  static constexpr bool kOncePerRow = !std::is_same_v<F, OnlyAt> && (Facts<A>::kOncePerRow && ...);
  static constexpr int kPassesBefore = largest_of({Facts<A>::kPassesBefore...});
};
template <class F, class... A>
struct Facts<Reduce<F, A...>> : OnceFacts {
  static constexpr bool kIsReduction = true;
  static constexpr int kPassesBefore = 1 + largest_of({Facts<A>::kPassesBefore...});
};
template <class E>
struct Facts<Kept<E>> : Facts<E> {
  static constexpr bool kIsKept = true;
};

/// Whether positions stand in an expression, or in several.
template <class E>
inline constexpr bool kUsesPositions = false;
template <>
inline constexpr bool kUsesPositions<Position> = true;
template <>
inline constexpr bool kUsesPositions<IndexOfMaxOf> = true;
template <>
inline constexpr bool kUsesPositions<ValueAt> = true;
template <>
inline constexpr bool kUsesPositions<OnlyAt> = true;
template <template <class...> class Node, class... A>
inline constexpr bool kUsesPositions<Node<A...>> = (kUsesPositions<A> || ...);

template <class... T>
struct Types {
  static constexpr std::size_t kSize = sizeof...(T);
};
namespace detail {
template <class List, class T>
struct WithOne;
template <class... U, class T>
struct WithOne<Types<U...>, T> {
  using Type = std::conditional_t<(std::is_same_v<U, T> || ...), Types<U...>, Types<U..., T>>;
};
struct WantReductions {
  template <class E>
  static constexpr bool kHolds = Facts<E>::kIsReduction;
};
struct WantKept {
  template <class E>
  static constexpr bool kHolds = Facts<E>::kIsKept;
};

/// Adds to Found all of the expressions E... and their operands for which Want holds.
template <class Want, class Found, class... E>
struct Collect {
  using Type = Found;
};
template <class Want, class Found, class E, class Next, class... Rest>
struct Collect<Want, Found, E, Next, Rest...>
    : Collect<Want, typename Collect<Want, Found, E>::Type, Next, Rest...> {};
template <class Want, class Found, template <class...> class Node, class... A>
struct Collect<Want, Found, Node<A...>> {
  using Inside = typename Collect<Want, Found, A...>::Type;
  using Type = std::conditional_t<Want::template kHolds<Node<A...>>,
                                  typename WithOne<Inside, Node<A...>>::Type, Inside>;
};
}  // namespace detail

/// The reductions in some expressions, each once, inner ones before outer ones.
template <class... E>
using Reductions = typename detail::Collect<detail::WantReductions, Types<>, E...>::Type;
/// The kept expressions, each once, inner ones before outer ones.
template <class... E>
using KeptParts = typename detail::Collect<detail::WantKept, Types<>, E...>::Type;

/// The place of T in a list; its length if T is not there.
template <class T, class List>
inline constexpr std::size_t kIndexIn = 0;
template <class T, class First, class... Rest>
inline constexpr std::size_t kIndexIn<T, Types<First, Rest...>> =
    std::is_same_v<T, First> ? 0 : 1 + kIndexIn<T, Types<Rest...>>;

/// The number of the first pass that computes the kept expression K: the least pass of a reduction
/// over K. 0: no reduction reads K, and keeping K is of no use.
template <class K, class... R>
constexpr int first_pass(Types<R...> /*reductions*/) {
  int first = 0;
  const auto meet = [&](bool holds, int pass) {
    first = holds && (first == 0 || pass < first) ? pass : first;
  };
  (meet(kIndexIn<K, KeptParts<R>> < KeptParts<R>::kSize, Facts<R>::kPassesBefore), ...);
  return first;
}

}  // namespace dynet::rule

namespace dynet::over {

constexpr rule::Position position() { return {}; }
constexpr rule::Count count() { return {}; }
template <rule::Symbol E>
constexpr rule::Reduce<rule::SumOf, E> sum(E e) {
  return {{e}};
}
template <rule::Symbol E>
constexpr auto mean(E e) {
  return sum(e) / count();
}
template <rule::Symbol E>
constexpr rule::Reduce<rule::MaxOf, E> max(E e) {
  return {{e}};
}
template <rule::Symbol E>
constexpr rule::Reduce<rule::IndexOfMaxOf, E> index_of_max(E e) {
  return {{e}};
}
template <rule::Symbol E, rule::Symbol I>
constexpr rule::Reduce<rule::ValueAt, E, I> at(E e, I i) {
  static_assert(rule::Facts<I>::kOncePerRow, "over::at: the position is one number per row");
  return {{e, i}};
}
template <rule::Symbol I, rule::Symbol E>
constexpr auto only_at(I i, E e) {
  static_assert(rule::Facts<I>::kOncePerRow, "over::only_at: the position is one number per row");
  return rule::apply<rule::OnlyAt>(i, e);
}
template <rule::Symbol E>
constexpr rule::Kept<E> keep(E e) {
  return {{e}};
}

}  // namespace dynet::over
