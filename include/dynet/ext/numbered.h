#pragma once

// A rule as a type without values: of an operation over rows (ForwardRule, BackwardRule) or of an
// optimiser's step (update.h).
//
// The result of a rule holds attributes and literals as values. So `over::sum(2.0 * x)` and
// `over::sum(3.0 * x)` would have one type, and an attribute that occurs twice would be two values
// to a compiler. For evaluation constants are numbered: equal constants get one number, and the
// type is the whole expression. The library finds equal constants by calling the rule, at compile
// time, with three sets of made-up attributes. The values are computed for each call
// (Numbered::values) and passed beside the streams: a device needs numbers and no operation.
//
// Surprising: two constants that agree in all made-up sets but not in a real operation (a choice by
// `?:` on an attribute) would be taken for one. Numbered::holds finds this error; the suite calls
// it for every example.

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dynet/ext/attributes.h"
#include "dynet/ext/over.h"
#include "dynet/ext/properties.h"

namespace dynet::rule {

// ---- the rule, called with symbols --------------------------------------------------------------

/// Arguments of value(): the operation's arguments and, last, its payload (one number per row).
template <class Op>
inline constexpr std::size_t kRowArgs =
    Op::kAlong.size() + (ext::detail::payload_of<Op>() == ext::Payload::kNone ? 0 : 1);
template <class Op>
constexpr Along along_of(std::size_t argument) {
  return argument < Op::kAlong.size() ? Op::kAlong[argument] : Along::kOnce;
}
template <int kI, bool kOnce>
using InputSymbol = std::conditional_t<kOnce, RowIn<kI>, In<kI>>;

/// The common base of the two directions of an operation over rows.
struct RowDirection {
  /// An operation with made-up attributes; lists and shapes stay as they are.
  template <class Op>
  static constexpr Op made_up(double seed) {
    Op op{};
    const auto set = [&](auto& a) {
      using T = std::remove_cvref_t<decltype(a)>;
      if constexpr (std::is_same_v<T, bool>) {
        a = seed > 1.0;
      } else if constexpr (std::is_integral_v<T>) {
        a = static_cast<T>((seed < 0.0 ? -seed : seed) * 10.0);
      } else if constexpr (std::is_floating_point_v<T>) {
        a = static_cast<T>(seed);
      }
      seed += 0.37 + seed * 0.25;
    };
    std::apply([&](auto&... a) { (set(a), ...); }, ext::attributes(op));
    return op;
  }
  /// The symbol of constant kNumber.
  template <class Op, std::size_t kNumber>
  using ConstantSymbol = Fixed<kNumber>;
};

/// The values: `op.value(args...)`, outputs first, then saved outputs.
struct ForwardRule : RowDirection {
  template <class Op, std::size_t... kI>
  static DYNET_DEVICE_FN constexpr auto call(const Op& op, std::index_sequence<kI...>) {
    return op.value(InputSymbol < static_cast<int>(kI), along_of<Op>(kI) == Along::kOnce > {}...);
  }
  template <class Op>
  static DYNET_DEVICE_FN constexpr auto expressions(const Op& op) {
    return call(op, std::make_index_sequence<kRowArgs<Op>>{});
  }
  template <class Op>
  static constexpr std::size_t kInputs = kRowArgs<Op>;
  /// How input `input` lies.
  template <class Op>
  static constexpr Along along(std::size_t input) {
    return along_of<Op>(input);
  }
  /// Whether result j, of type E, is one number per row.
  template <class Op, class E>
  static constexpr bool writes_once(std::size_t /*j*/) {
    return Facts<E>::kOncePerRow;
  }
};
/// The gradients: `op.pull(args..., outputs..., saved..., gradients of outputs...)`, one result per
/// argument.
struct BackwardRule : RowDirection {
  template <class Op, class... R, std::size_t... kI, std::size_t... kJ, std::size_t... kG>
  static DYNET_DEVICE_FN constexpr auto call(const Op& op, const std::tuple<R...>& /*results*/,
                                             std::index_sequence<kI...>, std::index_sequence<kJ...>,
                                             std::index_sequence<kG...>) {
    constexpr bool kOnce[] = {Facts<R>::kOncePerRow...};
    constexpr int kArgs = sizeof...(kI), kResults = sizeof...(kJ);
    return op.pull(InputSymbol < static_cast<int>(kI), along_of<Op>(kI) == Along::kOnce > {}...,
                   InputSymbol<kArgs + static_cast<int>(kJ), kOnce[kJ]>{}...,
                   InputSymbol<kArgs + kResults + static_cast<int>(kG), kOnce[kG]>{}...);
  }
  template <class Op>
  using Results = decltype(ForwardRule::expressions(std::declval<const Op&>()));
  template <class Op>
  static DYNET_DEVICE_FN constexpr auto expressions(const Op& op) {
    return call(op, ForwardRule::expressions(op), std::make_index_sequence<kRowArgs<Op>>{},
                std::make_index_sequence<std::tuple_size_v<Results<Op>>>{},
                std::make_index_sequence<ext::detail::outputs_of<Op>()>{});
  }
  template <class Op>
  static constexpr std::size_t kInputs =
      kRowArgs<Op> + std::tuple_size_v<Results<Op>> + ext::detail::outputs_of<Op>();
  template <class Op>
  static constexpr Along along(std::size_t input) {
    if (input < kRowArgs<Op>) {
      return along_of<Op>(input);
    }
    const std::size_t j = (input - kRowArgs<Op>) % std::tuple_size_v<Results<Op>>;
    return once_results(static_cast<Results<Op>*>(nullptr))[j] ? Along::kOnce : Along::kElements;
  }
  template <class Op, class E>
  static constexpr bool writes_once(std::size_t j) {
    return along_of<Op>(j) == Along::kOnce;
  }

 private:
  template <class... R>
  static constexpr std::array<bool, sizeof...(R)> once_results(const std::tuple<R...>* /*type*/) {
    return {Facts<R>::kOncePerRow...};
  }
};

// ---- constants ----------------------------------------------------------------------------------

/// The number of constants in an expression, or in several.
template <class E>
inline constexpr std::size_t kConstants = 0;
template <>
inline constexpr std::size_t kConstants<Constant> = 1;
template <template <class...> class Node, class... A>
inline constexpr std::size_t kConstants<Node<A...>> = (std::size_t{0} + ... + kConstants<A>);

namespace detail {
/// Writes the constants of an expression, in order of appearance.
template <class E, class T>
DYNET_DEVICE_FN constexpr void constants_of(const E& e, T*& to);
template <class Tuple, class T, std::size_t... kI>
DYNET_DEVICE_FN constexpr void constants_of_each(const Tuple& t, T*& to,
                                                 std::index_sequence<kI...>) {
  (constants_of(std::get<kI>(t), to), ...);
}
template <class E, class T>
DYNET_DEVICE_FN constexpr void constants_of(const E& e, T*& to) {
  if constexpr (kConstants<E> == 0) {
    return;
  } else if constexpr (std::is_same_v<E, Constant>) {
    *to++ = static_cast<T>(e.value);
  } else {
    using Args = std::remove_cvref_t<decltype(e.args)>;
    constants_of_each(e.args, to, std::make_index_sequence<std::tuple_size_v<Args>>{});
  }
}
}  // namespace detail

/// The rule as a list of types. Direction calls the rule with symbols and lists its inputs.
template <class Direction, class Op>
struct Numbered {
  using Results = decltype(Direction::expressions(std::declval<const Op&>()));
  static constexpr std::size_t kResults = std::tuple_size_v<Results>;
  static constexpr std::size_t kCount = kConstants<Results>;
  using Values = std::array<double, kCount + 1>;

  /// Writes the kCount values, in order of appearance.
  template <class T>
  static DYNET_DEVICE_FN constexpr void write_values(const Op& op, T* to) {
    const auto all = Direction::expressions(op);
    detail::constants_of_each(all, to, std::make_index_sequence<kResults>{});
  }
  static constexpr Values values(const Op& op) {
    Values v{};
    write_values(op, v.data());
    return v;
  }

 private:
  /// For constant i, the first constant that is equal to it.
  static constexpr auto first_equal() {
    const Values a = values(Direction::template made_up<Op>(0.3)),
                 b = values(Direction::template made_up<Op>(1.9)),
                 c = values(Direction::template made_up<Op>(-0.7));
    std::array<std::size_t, kCount + 1> first{};
    for (std::size_t i = 0; i != kCount; ++i) {
      first[i] = i;
      for (std::size_t j = i; j-- > 0;) {
        first[i] = a[i] == a[j] && b[i] == b[j] && c[i] == c[j] ? first[j] : first[i];
      }
    }
    return first;
  }
  static constexpr auto kFirst = first_equal();

  /// E with its constants replaced, the first of them being constant kAt of the rule.
  template <std::size_t kAt, class E>
  struct Replace {
    using Type = E;
  };
  template <std::size_t kAt>
  struct Replace<kAt, Constant> {
    using Type = typename Direction::template ConstantSymbol<Op, kFirst[kAt]>;
  };
  template <std::size_t kAt, class Done, class... Rest>
  struct Each {
    using Type = Done;
  };
  template <std::size_t kAt, class... Done, class E, class... Rest>
  struct Each<kAt, Types<Done...>, E, Rest...>
      : Each<kAt + kConstants<E>, Types<Done..., typename Replace<kAt, E>::Type>, Rest...> {};
  template <std::size_t kAt, template <class...> class Node, class... A>
  struct Replace<kAt, Node<A...>> {
    template <class... B>
    static Node<B...> with(Types<B...>);
    using Type = decltype(with(typename Each<kAt, Types<>, A...>::Type()));
  };
  template <class... E>
  static typename Each<0, Types<>, E...>::Type replace_all(const std::tuple<E...>*);

  template <std::size_t... kI>
  static constexpr std::array<Along, sizeof...(kI)> inputs(std::index_sequence<kI...>) {
    return {Direction::template along<Op>(kI)...};
  }
  template <class... E, std::size_t... kJ>
  static constexpr std::array<bool, kResults> once(Types<E...>, std::index_sequence<kJ...>) {
    return {Direction::template writes_once<Op, E>(kJ)...};
  }

 public:
  static constexpr std::size_t kInputs = Direction::template kInputs<Op>;
  static constexpr std::array<Along, kInputs> kAlong = inputs(std::make_index_sequence<kInputs>{});
  using Expressions = decltype(replace_all(static_cast<const Results*>(nullptr)));
  /// Which results are written once per row.
  static constexpr std::array<bool, kResults> kWritesOnce =
      once(Expressions(), std::make_index_sequence<kResults>{});

  /// Whether the numbers are right for the attributes of this operation.
  static constexpr bool holds(const Op& op) {
    const Values v = values(op);
    bool all = true;
    for (std::size_t i = 0; i != kCount; ++i) {
      all = all && (v[i] == v[kFirst[i]] || v[i] != v[i]);
    }
    return all;
  }
};

}  // namespace dynet::rule
