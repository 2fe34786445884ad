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
// functions below. A rule with several results returns `each(a, b, ...)`.

#include <cmath>
#include <tuple>
#include <type_traits>

#ifdef __CUDACC__
#define DYNET_DEVICE_FN __host__ __device__
#else
#define DYNET_DEVICE_FN
#endif

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

struct Add {};
struct Sub {};
struct Mul {};
struct Div {};
struct Neg {};
struct Less {};
struct LessEqual {};
struct Equal {};
struct Select {};
struct Exp {};
struct Log {};
struct Log1p {};
struct Expm1 {};
struct Tanh {};
struct Logistic {};
struct Sqrt {};
struct Abs {};
struct Max {};
struct Min {};

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

constexpr auto exp(Symbol auto a) { return apply<Exp>(a); }
constexpr auto log(Symbol auto a) { return apply<Log>(a); }
constexpr auto log1p(Symbol auto a) { return apply<Log1p>(a); }
constexpr auto expm1(Symbol auto a) { return apply<Expm1>(a); }
constexpr auto tanh(Symbol auto a) { return apply<Tanh>(a); }
constexpr auto logistic(Symbol auto a) { return apply<Logistic>(a); }
constexpr auto sqrt(Symbol auto a) { return apply<Sqrt>(a); }
constexpr auto abs(Symbol auto a) { return apply<Abs>(a); }
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

// The same vocabulary for numbers. `T` is float or double.
template <std::floating_point T>
DYNET_DEVICE_FN T exp(T a) {
  return std::exp(a);
}
template <std::floating_point T>
DYNET_DEVICE_FN T log(T a) {
  return std::log(a);
}
template <std::floating_point T>
DYNET_DEVICE_FN T log1p(T a) {
  return std::log1p(a);
}
template <std::floating_point T>
DYNET_DEVICE_FN T expm1(T a) {
  return std::expm1(a);
}
template <std::floating_point T>
DYNET_DEVICE_FN T tanh(T a) {
  return std::tanh(a);
}
template <std::floating_point T>
DYNET_DEVICE_FN T logistic(T a) {
  return T{1} / (T{1} + std::exp(-a));
}
template <std::floating_point T>
DYNET_DEVICE_FN T sqrt(T a) {
  return std::sqrt(a);
}
template <std::floating_point T>
DYNET_DEVICE_FN T abs(T a) {
  return std::fabs(a);
}
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
