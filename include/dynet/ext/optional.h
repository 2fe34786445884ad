#pragma once

// Rules of cells with optional arguments (kOptional): each form of such a rule, with and without
// the arguments of a group, is a rule of its own, made from the written rule. In the form an absent
// piece is rule::Absent, and expressions that depend on absent pieces alone are not computed.
// Example: the first step of an LSTM has no cell c before it; its form does not compute f * c.

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dynet/ext/info.h"
#include "dynet/ext/properties.h"
#include "dynet/ext/rule.h"

namespace dynet::ext {

namespace detail {
/// Groups of optional arguments that an operation has.
template <class Op>
constexpr unsigned optional_groups() {
  if constexpr (requires { Op::kOptional; }) {
    unsigned most = 0;
    for (const auto group : Op::kOptional) {
      most = static_cast<unsigned>(group) > most ? static_cast<unsigned>(group) : most;
    }
    return most;
  }
  return 0;
}
/// Whether argument `arg` is present without the groups in `absent` (bit g - 1: group g).
template <class Op>
constexpr bool is_there(std::size_t arg, unsigned absent) {
  if constexpr (requires { Op::kOptional; }) {
    const auto group = static_cast<unsigned>(Op::kOptional[arg]);
    return group == 0 || (absent >> (group - 1) & 1U) == 0;
  } else {
    return true;
  }
}

template <class Array>
constexpr std::size_t sum_of(const Array& a) {
  std::size_t n = 0;
  for (auto v : a) {
    n += static_cast<std::size_t>(v);
  }
  return n;
}
template <std::size_t kN>
constexpr std::size_t count_true(const std::array<bool, kN>& flags) {
  std::size_t n = 0;
  for (const bool f : flags) {
    n += f ? 1 : 0;
  }
  return n;
}
/// The place of element `i` among the true elements.
template <std::size_t kN>
constexpr std::size_t place_of(const std::array<bool, kN>& flags, std::size_t i) {
  std::size_t place = 0;
  for (std::size_t k = 0; k < i; ++k) {
    place += flags[k] ? 1 : 0;
  }
  return place;
}
/// Which element is the `place`-th that is true.
template <std::size_t kN>
constexpr std::size_t element_at(const std::array<bool, kN>& flags, std::size_t place) {
  std::size_t i = 0;
  while (!flags[i] || place_of(flags, i) != place) {
    ++i;
  }
  return i;
}

/// Element kI of the whole list, from a tuple of the present elements, which begin at kFirst.
template <const auto& kThere, std::size_t kFirst, std::size_t kI, class Tuple>
DYNET_DEVICE_FN constexpr auto piece(const Tuple& x) {
  if constexpr (kThere[kI]) {
    return std::get<kFirst + place_of(kThere, kI)>(x);
  } else {
    return rule::Absent{};
  }
}
/// An output or a gradient that depends on absent pieces alone is zero.
template <class T>
DYNET_DEVICE_FN constexpr auto number_of(T value) {
  if constexpr (std::is_same_v<T, rule::Absent>) {
    return 0.0;
  } else {
    return value;
  }
}
}  // namespace detail

/// The form of cell Op without the arguments of the groups in kAbsent. Its pieces are the present
/// pieces of the arguments, and the pieces of saved outputs that do not depend on absent pieces
/// alone.
template <class Op, unsigned kAbsent>
struct Without {
  using Whole = Op;
  Op op;

  static constexpr std::size_t kPieces = detail::sum_of(Op::kParts);
  static constexpr std::size_t kOuts = detail::sum_of(Op::kOutParts);
  static constexpr std::size_t kSaves = [] {
    if constexpr (requires { Op::kSavedParts; }) {
      return detail::sum_of(Op::kSavedParts);
    } else {
      return std::size_t{0};
    }
  }();
  /// Whether each piece of the arguments is present.
  static constexpr std::array<bool, kPieces> kThere = [] {
    std::array<bool, kPieces> there{};
    std::size_t at = 0;
    for (std::size_t a = 0; a < Op::kParts.size(); ++a) {
      for (int p = 0; p < static_cast<int>(Op::kParts[a]); ++p) {
        there[at++] = detail::is_there<Op>(a, kAbsent);
      }
    }
    return there;
  }();

  /// The rule's results for values X of the present pieces.
  template <class Tuple, std::size_t... kI>
  DYNET_DEVICE_FN static constexpr auto whole_value(const Op& op, const Tuple& x,
                                                    std::index_sequence<kI...> /*pieces*/) {
    return op.value(detail::piece<kThere, 0, kI>(x)...);
  }
  template <std::size_t... kI>
  static constexpr auto example_of(std::index_sequence<kI...> /*there*/) {
    return std::make_tuple((static_cast<void>(kI), 1.0)...);
  }
  using Values = decltype(whole_value(
      std::declval<const Op&>(), example_of(std::make_index_sequence<detail::count_true(kThere)>{}),
      std::make_index_sequence<kPieces>{}));
  template <std::size_t... kI>
  static constexpr std::array<bool, sizeof...(kI)> saved_there(std::index_sequence<kI...> /*all*/) {
    return {!std::is_same_v<std::tuple_element_t<kOuts + kI, Values>, rule::Absent>...};
  }
  /// Whether each piece of the saved outputs is present.
  static constexpr std::array<bool, kSaves> kSavedThere =
      saved_there(std::make_index_sequence<kSaves>{});

  static constexpr std::array<std::size_t, 1> kParts{detail::count_true(kThere)};
  static constexpr auto kOutParts = Op::kOutParts;
  static constexpr std::array<std::size_t, 1> kSavedParts{detail::count_true(kSavedThere)};
  /// The number of present pieces of saved output `k`.
  static constexpr std::size_t saved_parts(std::size_t k) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < k; ++i) {
      first += static_cast<std::size_t>(Op::kSavedParts[i]);
    }
    const std::size_t last = first + static_cast<std::size_t>(Op::kSavedParts[k]);
    return detail::place_of(kSavedThere, last) - detail::place_of(kSavedThere, first);
  }

  template <class... X>
    requires(sizeof...(X) == kParts[0])
  DYNET_DEVICE_FN constexpr auto value(X... x) const {
    const auto all = whole_value(op, std::tuple<X...>(x...), std::make_index_sequence<kPieces>{});
    return values_of(all, std::make_index_sequence<kOuts>{},
                     std::make_index_sequence<kSavedParts[0]>{});
  }
  template <class... X>
    requires(sizeof...(X) == kParts[0] + 2 * kOuts + kSavedParts[0])
  DYNET_DEVICE_FN constexpr auto pull(X... x) const {
    return gradients_of(
        whole_pull(std::tuple<X...>(x...), std::make_index_sequence<kPieces>{},
                   std::make_index_sequence<kOuts>{}, std::make_index_sequence<kSaves>{}),
        std::make_index_sequence<kParts[0]>{});
  }

 private:
  template <class Tuple, std::size_t... kO, std::size_t... kS>
  DYNET_DEVICE_FN static constexpr auto values_of(const Tuple& all,
                                                  std::index_sequence<kO...> /*outputs*/,
                                                  std::index_sequence<kS...> /*saved*/) {
    return rule::each(detail::number_of(std::get<kO>(all))...,
                      std::get<kOuts + detail::element_at(kSavedThere, kS)>(all)...);
  }
  template <class Tuple, std::size_t... kI, std::size_t... kO, std::size_t... kS>
  DYNET_DEVICE_FN constexpr auto whole_pull(const Tuple& x, std::index_sequence<kI...> /*pieces*/,
                                            std::index_sequence<kO...> /*outputs*/,
                                            std::index_sequence<kS...> /*saved*/) const {
    constexpr std::size_t kOut = kParts[0];
    constexpr std::size_t kSaved = kOut + kOuts;
    constexpr std::size_t kGradient = kSaved + kSavedParts[0];
    return op.pull(detail::piece<kThere, 0, kI>(x)..., std::get<kOut + kO>(x)...,
                   detail::piece<kSavedThere, kSaved, kS>(x)..., std::get<kGradient + kO>(x)...);
  }
  template <class Tuple, std::size_t... kI>
  DYNET_DEVICE_FN static constexpr auto gradients_of(const Tuple& all,
                                                     std::index_sequence<kI...> /*there*/) {
    return rule::each(detail::number_of(std::get<detail::element_at(kThere, kI)>(all))...);
  }
};

/// A rule, or a form of one, from the operation at `op`.
template <class Rule>
DYNET_DEVICE_FN constexpr Rule rule_at(const void* op) {
  if constexpr (requires { typename Rule::Whole; }) {
    return Rule{*static_cast<const typename Rule::Whole*>(op)};
  } else {
    return *static_cast<const Rule*>(op);
  }
}

/// Calls f.operator()<Form>() for the rule Op and for each form without some arguments.
template <class Op>
void for_each_form(auto&& f) {
  f.template operator()<Op>();
  [&]<std::size_t... kI>(std::index_sequence<kI...>) {
    (f.template operator()<Without<Op, kI + 1>>(), ...);
  }(std::make_index_sequence<(std::size_t{1} << detail::optional_groups<Op>()) - 1>{});
}

}  // namespace dynet::ext
