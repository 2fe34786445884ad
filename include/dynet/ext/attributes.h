#pragma once

// The members of an operation, listed by the compiler: an attribute that was forgotten cannot
// exist.

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dynet/dim.h"
#include "dynet/ext/info.h"

namespace dynet::ext {

namespace detail {
struct Anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): that is the point
};
template <class T, std::size_t... kI>
constexpr bool can_build(std::index_sequence<kI...>) {
  return requires { T{(static_cast<void>(kI), Anything{})...}; };
}
template <class T, std::size_t kGuess = kMaxAttrs + 1>
constexpr std::size_t count_fields() {
  if constexpr (can_build<T>(std::make_index_sequence<kGuess>{})) {
    return kGuess;
  } else {
    return count_fields<T, kGuess - 1>();
  }
}
}  // namespace detail

template <class Op>
inline constexpr std::size_t kAttrCount = detail::count_fields<Op>();

template <class Op>
[[nodiscard]] constexpr auto attributes(Op& op) {
  constexpr std::size_t kCount = kAttrCount<std::remove_const_t<Op>>;
  static_assert(kCount <= kMaxAttrs, "an operation has at most eight attributes");
  if constexpr (kCount == 0) {
    return std::tuple<>{};
  } else if constexpr (kCount == 1) {
    auto& [a] = op;
    return std::tie(a);
  } else if constexpr (kCount == 2) {
    auto& [a, b] = op;
    return std::tie(a, b);
  } else if constexpr (kCount == 3) {
    auto& [a, b, c] = op;
    return std::tie(a, b, c);
  } else if constexpr (kCount == 4) {
    auto& [a, b, c, d] = op;
    return std::tie(a, b, c, d);
  } else if constexpr (kCount == 5) {
    auto& [a, b, c, d, e] = op;
    return std::tie(a, b, c, d, e);
  } else if constexpr (kCount == 6) {
    auto& [a, b, c, d, e, f] = op;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (kCount == 7) {
    auto& [a, b, c, d, e, f, g] = op;
    return std::tie(a, b, c, d, e, f, g);
  } else {
    auto& [a, b, c, d, e, f, g, h] = op;
    return std::tie(a, b, c, d, e, f, g, h);
  }
}

namespace detail {
/// Bytes of all members, without padding.
template <class Op>
constexpr std::size_t packed_bytes() {
  Op op{};
  return std::apply([](const auto&... a) { return (std::size_t{0} + ... + sizeof(a)); },
                    attributes(op));
}
template <class Op, std::size_t kI>
constexpr bool read_member() {
  Op op;  // not Op{}: a member without an initializer stays indeterminate, and reading it is no
          // constant
  const auto copy = std::get<kI>(attributes(op));
  return sizeof copy != 0;
}
}  // namespace detail
/// Whether member kI has an initializer. One without must be given by the caller, in C++ and
/// Python.
template <class Op, std::size_t kI>
inline constexpr bool kHasDefault =
    requires { typename std::bool_constant<detail::read_member<Op, kI>()>; };

/// A list of at most kMax small values as an attribute. Unused entries are zero.
template <class T, std::size_t kMax>
struct List {
  T items[kMax] = {};
  std::uint32_t count = 0;
  [[nodiscard]] const T* begin() const { return items; }
  [[nodiscard]] const T* end() const { return items + count; }
  const T& operator[](std::size_t i) const { return items[i]; }
  friend bool operator==(const List&, const List&) = default;
};

/// Types of attributes: plain values, compared by their bytes.
template <class T>
concept Attribute =
    std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_member_pointer_v<T> &&
    (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, Dim> || requires(T t) {
      t.items;
      t.count;
    });

namespace detail {
template <class Tuple>
struct AllAttributes;
template <class... T>
struct AllAttributes<std::tuple<T&...>>
    : std::bool_constant<(Attribute<std::remove_const_t<T>> && ...)> {};
}  // namespace detail

}  // namespace dynet::ext
