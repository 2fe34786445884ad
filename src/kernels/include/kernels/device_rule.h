#pragma once

// Rules in float, for kernels of a device.
//
// A rule called with floats would compute in double, as attributes and literals are doubles. So the
// rule is called with symbols, as for SIMD loops, and its expression is evaluated as a type, with
// the numbers that stand in it in an array beside it, in float. The host writes the array.

#include <cmath>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dynet/ext/rule.h"

namespace dynet::kernels {

/// How many numbers stand in an expression; a result may be a number and nothing else.
template <class E>
inline constexpr std::size_t kNumbersIn = std::is_arithmetic_v<E> ? 1 : 0;
template <>
inline constexpr std::size_t kNumbersIn<rule::Constant> = 1;
template <class F, class... A>
inline constexpr std::size_t kNumbersIn<rule::Apply<F, A...>> =
    (std::size_t{0} + ... + kNumbersIn<A>);
template <class... E>
inline constexpr std::size_t kNumbersIn<std::tuple<E...>> = (std::size_t{0} + ... + kNumbersIn<E>);

/// How many of them stand before expression i of a list.
template <class... E>
constexpr std::size_t numbers_before(std::size_t i) {
  const std::size_t counts[] = {kNumbersIn<E>..., 0};
  std::size_t sum = 0;
  for (std::size_t k = 0; k < i; ++k) {
    sum += counts[k];
  }
  return sum;
}

/// Writes the numbers of an expression, or of a tuple of expressions, in order of appearance.
template <class E>
void write_numbers(const E& e, float*& to) {
  const auto write_each = [&to](const auto&... all) { (write_numbers(all, to), ...); };
  if constexpr (std::is_arithmetic_v<E>) {
    *to++ = static_cast<float>(e);
  } else if constexpr (std::is_same_v<E, rule::Constant>) {
    *to++ = static_cast<float>(e.value);
  } else if constexpr (requires { e.args; }) {
    std::apply(write_each, e.args);
  } else if constexpr (requires { std::tuple_size<E>::value; }) {
    std::apply(write_each, e);
  }
}

/// A function of the vocabulary, in float alone.
template <class F>
struct InFloat : F {};
template <>
struct InFloat<rule::DiGamma> {
  DYNET_DEVICE_FN static float of(float x) { return rule::derivative_of_log_gamma<float>(x); }
};

/// The value of an expression whose first number is number kAt of the rule. `x` are the inputs.
template <class E, std::size_t kAt>
struct Evaluate {
  static_assert(std::is_arithmetic_v<E> || std::is_same_v<E, rule::Constant>);
  DYNET_DEVICE_FN static float of(const float* numbers, const float* /*x*/) { return numbers[kAt]; }
};
template <int kI, std::size_t kAt>
struct Evaluate<rule::In<kI>, kAt> {
  DYNET_DEVICE_FN static float of(const float* /*numbers*/, const float* x) { return x[kI]; }
};
template <class F, class... A, std::size_t kAt>
struct Evaluate<rule::Apply<F, A...>, kAt> {
  DYNET_DEVICE_FN static auto of(const float* numbers, const float* x) {
    return of_parts(numbers, x, std::index_sequence_for<A...>());
  }
  template <std::size_t... kI>
  DYNET_DEVICE_FN static auto of_parts(const float* numbers, const float* x,
                                       std::index_sequence<kI...> /*every*/) {
    return InFloat<F>::of(Evaluate<A, kAt + numbers_before<A...>(kI)>::of(numbers, x)...);
  }
};

}  // namespace dynet::kernels
