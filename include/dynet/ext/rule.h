#pragma once

// Scalar rules: the value and the slope of an elementwise operation, written once as plain
// arithmetic over `auto x`.
//
// The same lines are instantiated three ways. With `double` or `float` they compute (the oracle,
// the plain loop for operations from outside the tree, and, under nvcc, the CUDA kernel). With the
// symbols `In<0>, In<1>, ...` they yield a type that *is* the expression, attributes inside, which
// the CPU kernels evaluate on SIMD vectors (src/kernels). This header knows no SIMD library.
//
// A rule may use + - * /, comparisons inside `select(condition, a, b)` (never ?:), and the
// functions below. A rule with several results returns `each(a, b, ...)`. Rules that look along a
// row have more words: over.h.
//
// A function of one number, such as erf, is one entry in the list at the end of this file, which
// serves double, float and CUDA, and one `call` in src/kernels/include/kernels/simd_rule-inl.h for
// vectors.

#include <cmath>
#include <concepts>
#include <tuple>
#include <type_traits>

#include "dynet/ext/gamma.h"

namespace dynet::rule {

/// The i-th input of a rule, as a symbol.
template <int kI>
struct In {};
/// An attribute or a literal; its value is known when the loop starts.
struct Constant {
  double value;
};
/// Function F applied to arguments.
template <class F, class... A>
struct Apply {
  std::tuple<A...> args;
};

// Functions of two or three arguments. `of` is their value for numbers.
#define DYNET_RULE_OF_TWO(Tag, value)                    \
  struct Tag {                                           \
    template <class T>                                   \
    DYNET_DEVICE_FN static constexpr auto of(T a, T b) { \
      return value;                                      \
    }                                                    \
  };
DYNET_RULE_OF_TWO(Add, a + b)
DYNET_RULE_OF_TWO(Sub, a - b)
DYNET_RULE_OF_TWO(Mul, a* b)
DYNET_RULE_OF_TWO(Div, a / b)
DYNET_RULE_OF_TWO(Less, a < b)
DYNET_RULE_OF_TWO(LessEqual, a <= b)
DYNET_RULE_OF_TWO(Equal, a == b)
DYNET_RULE_OF_TWO(Max, a < b ? b : a)
DYNET_RULE_OF_TWO(Min, b < a ? b : a)
#undef DYNET_RULE_OF_TWO
struct Neg {
  template <class T>
  DYNET_DEVICE_FN static constexpr T of(T a) {
    return -a;
  }
};
struct Select {
  template <class T>
  DYNET_DEVICE_FN static constexpr T of(bool c, T a, T b) {
    return c ? a : b;
  }
};

namespace detail {
template <class T>
inline constexpr bool kIsSymbol = false;
template <int kI>
inline constexpr bool kIsSymbol<In<kI>> = true;
template <>
inline constexpr bool kIsSymbol<Constant> = true;
template <class F, class... A>
inline constexpr bool kIsSymbol<Apply<F, A...>> = true;
}  // namespace detail

template <class T>
concept Symbol = detail::kIsSymbol<T>;
template <class T>
concept Number = std::is_arithmetic_v<T>;
template <class T>
concept Operand = Symbol<T> || Number<T>;

constexpr Constant lift(Number auto v) { return {static_cast<double>(v)}; }
constexpr auto lift(Symbol auto s) { return s; }
template <class F>
constexpr auto apply(Operand auto... a) {
  return Apply<F, decltype(lift(a))...>{{lift(a)...}};
}

template <Operand A, Operand B>
  requires(Symbol<A> || Symbol<B>)
constexpr auto operator+(A a, B b) {
  return apply<Add>(a, b);
}
template <Operand A, Operand B>
  requires(Symbol<A> || Symbol<B>)
constexpr auto operator-(A a, B b) {
  return apply<Sub>(a, b);
}
template <Operand A, Operand B>
  requires(Symbol<A> || Symbol<B>)
constexpr auto operator*(A a, B b) {
  return apply<Mul>(a, b);
}
template <Operand A, Operand B>
  requires(Symbol<A> || Symbol<B>)
constexpr auto operator/(A a, B b) {
  return apply<Div>(a, b);
}
template <Operand A, Operand B>
  requires(Symbol<A> || Symbol<B>)
constexpr auto operator<(A a, B b) {
  return apply<Less>(a, b);
}
template <Operand A, Operand B>
  requires(Symbol<A> || Symbol<B>)
constexpr auto operator>(A a, B b) {
  return apply<Less>(b, a);
}
template <Operand A, Operand B>
  requires(Symbol<A> || Symbol<B>)
constexpr auto operator<=(A a, B b) {
  return apply<LessEqual>(a, b);
}
template <Operand A, Operand B>
  requires(Symbol<A> || Symbol<B>)
constexpr auto operator>=(A a, B b) {
  return apply<LessEqual>(b, a);
}
template <Operand A, Operand B>
  requires(Symbol<A> || Symbol<B>)
constexpr auto operator==(A a, B b) {
  return apply<Equal>(a, b);
}
constexpr auto operator-(Symbol auto a) { return apply<Neg>(a); }

template <Operand A, Operand B>
  requires(Symbol<A> || Symbol<B>)
constexpr auto max(A a, B b) {
  return apply<Max>(a, b);
}
template <Operand A, Operand B>
  requires(Symbol<A> || Symbol<B>)
constexpr auto min(A a, B b) {
  return apply<Min>(a, b);
}
template <Symbol C, Operand A, Operand B>
constexpr auto select(C c, A a, B b) {
  return apply<Select>(c, a, b);
}

/// Stands in a cell's rule for an absent argument (kOptional). A product or a function of it is
/// absent too; a sum is the sum of its other terms.
struct Absent {};
/// `e` if `x` is there, else absent.
template <Operand X, class E>
DYNET_DEVICE_FN constexpr E given(X /*x*/, E e) {
  return e;
}
template <class E>
DYNET_DEVICE_FN constexpr Absent given(Absent /*x*/, E /*e*/) {
  return {};
}
DYNET_DEVICE_FN constexpr Absent operator*(Absent a, Operand auto /*b*/) { return a; }
DYNET_DEVICE_FN constexpr Absent operator*(Operand auto /*a*/, Absent b) { return b; }
DYNET_DEVICE_FN constexpr Absent operator*(Absent a, Absent /*b*/) { return a; }
DYNET_DEVICE_FN constexpr Absent operator/(Absent a, Operand auto /*b*/) { return a; }
DYNET_DEVICE_FN constexpr auto operator+(Absent /*a*/, Operand auto b) { return b; }
DYNET_DEVICE_FN constexpr auto operator+(Operand auto a, Absent /*b*/) { return a; }
DYNET_DEVICE_FN constexpr Absent operator+(Absent a, Absent /*b*/) { return a; }
DYNET_DEVICE_FN constexpr auto operator-(Absent /*a*/, Operand auto b) { return -b; }
DYNET_DEVICE_FN constexpr auto operator-(Operand auto a, Absent /*b*/) { return a; }
DYNET_DEVICE_FN constexpr Absent operator-(Absent a) { return a; }

// Functions of one number: the tag in the type of an expression, the name in rules, and the value
// for a number `a` of type T, which is float or double. Of an absent argument it is absent.
#define DYNET_RULE_FUNCTION(Tag, name, value)                   \
  struct Tag {                                                  \
    template <std::floating_point T>                            \
    DYNET_DEVICE_FN static T of(T a) {                          \
      return value;                                             \
    }                                                           \
  };                                                            \
  constexpr auto name(Symbol auto a) { return apply<Tag>(a); }  \
  DYNET_DEVICE_FN constexpr Absent name(Absent a) { return a; } \
  template <std::floating_point T>                              \
  DYNET_DEVICE_FN T name(T a) {                                 \
    return Tag::of(a);                                          \
  }
/// x to the power of n, a whole number of at least 0 that is the same for all elements; power(x, 0)
/// is 1.
struct Power {
  template <std::floating_point T>
  DYNET_DEVICE_FN static T of(T a, T n) {
    return std::pow(a, n);
  }
};
template <Symbol A, Operand B>
constexpr auto power(A a, B n) {
  return apply<Power>(a, n);
}
/// x to the power of y, and the size of x with the sign of y.
struct Pow {
  template <std::floating_point T>
  DYNET_DEVICE_FN static T of(T a, T b) {
    return std::pow(a, b);
  }
};
struct CopySign {
  template <std::floating_point T>
  DYNET_DEVICE_FN static T of(T a, T b) {
    return std::copysign(a, b);
  }
};
template <Operand A, Operand B>
  requires(Symbol<A> || Symbol<B>)
constexpr auto pow(A a, B b) {
  return apply<Pow>(a, b);
}
template <Operand A, Operand B>
  requires(Symbol<A> || Symbol<B>)
constexpr auto copysign(A a, B b) {
  return apply<CopySign>(a, b);
}
DYNET_RULE_FUNCTION(Exp, exp, std::exp(a))
DYNET_RULE_FUNCTION(Log, log, std::log(a))
DYNET_RULE_FUNCTION(Log1p, log1p, std::log1p(a))
DYNET_RULE_FUNCTION(Expm1, expm1, std::expm1(a))
DYNET_RULE_FUNCTION(Tanh, tanh, std::tanh(a))
DYNET_RULE_FUNCTION(Logistic, logistic, T{1} / (T{1} + std::exp(-a)))
DYNET_RULE_FUNCTION(Sqrt, sqrt, std::sqrt(a))
DYNET_RULE_FUNCTION(Abs, abs, std::fabs(a))
DYNET_RULE_FUNCTION(Floor, floor, std::floor(a))
DYNET_RULE_FUNCTION(Erf, erf, std::erf(a))
DYNET_RULE_FUNCTION(Sin, sin, std::sin(a))
DYNET_RULE_FUNCTION(Cos, cos, std::cos(a))
DYNET_RULE_FUNCTION(Tan, tan, std::tan(a))
DYNET_RULE_FUNCTION(Asin, asin, std::asin(a))
DYNET_RULE_FUNCTION(Acos, acos, std::acos(a))
DYNET_RULE_FUNCTION(Atan, atan, std::atan(a))
DYNET_RULE_FUNCTION(LogGamma, lgamma, log_gamma(a))
DYNET_RULE_FUNCTION(DiGamma, digamma, derivative_of_log_gamma(a))
#undef DYNET_RULE_FUNCTION

// The functions of several arguments for numbers, of mixed types.
template <Number A, Number B>
DYNET_DEVICE_FN auto max(A a, B b) {
  using T = std::common_type_t<A, B>;
  return T(a) < T(b) ? T(b) : T(a);
}
template <Number A, Number B>
DYNET_DEVICE_FN auto min(A a, B b) {
  using T = std::common_type_t<A, B>;
  return T(b) < T(a) ? T(b) : T(a);
}
template <Number A, Number B>
DYNET_DEVICE_FN auto pow(A a, B b) {
  using T = std::common_type_t<A, B>;
  return Pow::of(T(a), T(b));
}
template <Number A, Number B>
DYNET_DEVICE_FN auto copysign(A a, B b) {
  using T = std::common_type_t<A, B>;
  return CopySign::of(T(a), T(b));
}
template <Number A, Number B>
DYNET_DEVICE_FN auto select(bool c, A a, B b) {
  using T = std::common_type_t<A, B>;
  return c ? T(a) : T(b);
}

/// Several results of one rule.
template <class... T>
DYNET_DEVICE_FN constexpr std::tuple<T...> each(T... t) {
  return {t...};
}

}  // namespace dynet::rule
