// Scalar rules on vectors, compiled once per target.
//
// In:  the expression types that a rule of ext/rule.h yields for the symbols In<0>, In<1>, ...
// Out: loops with the signature ext::RuleLoop, for install_loops() to put in ext::rule_loops.
//
// The expression is evaluated vector by vector, each result on its own; a value shared by several
// results is one value again after inlining. The rest after whole vectors is padded and goes
// through the same code, so that an element's result does not depend on its place. A product whose
// only use is a sum is fused with the sum: a * b + c is one multiply-add. All code that is not
// arithmetic is in simd_elements-inl.h.

#if defined(DYNET_KERNELS_SIMD_RULE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_RULE_INL_H
#undef DYNET_KERNELS_SIMD_RULE_INL_H
#else
#define DYNET_KERNELS_SIMD_RULE_INL_H
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "dynet/ext/op.h"

#include "hwy/highway.h"
#include "kernels/simd_elements-inl.h"
#include "kernels/simd_functions-inl.h"
#include "kernels/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

// ---- functions of the vocabulary
// ------------------------------------------------------------------

using V = FloatVector;
using D = FloatTag;

HWY_INLINE V call(rule::Add, D, V a, V b) { return hn::Add(a, b); }
HWY_INLINE V call(rule::Sub, D, V a, V b) { return hn::Sub(a, b); }
HWY_INLINE V call(rule::Mul, D, V a, V b) { return hn::Mul(a, b); }
HWY_INLINE V call(rule::Div, D, V a, V b) { return hn::Div(a, b); }
HWY_INLINE V call(rule::Neg, D, V a) { return hn::Neg(a); }
HWY_INLINE auto call(rule::Less, D, V a, V b) { return hn::Lt(a, b); }
HWY_INLINE auto call(rule::LessEqual, D, V a, V b) { return hn::Le(a, b); }
HWY_INLINE auto call(rule::Equal, D, V a, V b) { return hn::Eq(a, b); }
template <class Mask>
HWY_INLINE V call(rule::Select, D, Mask mask, V a, V b) {
  return hn::IfThenElse(mask, a, b);
}
HWY_INLINE V call(rule::Exp, D d, V a) { return exp(d, a); }
HWY_INLINE V call(rule::Log, D d, V a) { return log(d, a); }
HWY_INLINE V call(rule::Log1p, D d, V a) { return log1p(d, a); }
HWY_INLINE V call(rule::Expm1, D d, V a) { return expm1(d, a); }
HWY_INLINE V call(rule::Tanh, D d, V a) { return tanh(d, a); }
HWY_INLINE V call(rule::Logistic, D d, V a) { return logistic(d, a); }
HWY_INLINE V call(rule::Sqrt, D, V a) { return hn::Sqrt(a); }
HWY_INLINE V call(rule::Abs, D, V a) { return hn::Abs(a); }
HWY_INLINE V call(rule::Erf, D d, V a) { return erf(d, a); }
HWY_INLINE V call(rule::Floor, D, V a) { return hn::Floor(a); }
HWY_INLINE V call(rule::Sin, D d, V a) { return sin(d, a); }
HWY_INLINE V call(rule::Cos, D d, V a) { return cos(d, a); }
HWY_INLINE V call(rule::Tan, D d, V a) { return tan(d, a); }
HWY_INLINE V call(rule::Asin, D d, V a) { return asin(d, a); }
HWY_INLINE V call(rule::Acos, D d, V a) { return acos(d, a); }
HWY_INLINE V call(rule::Atan, D d, V a) { return atan(d, a); }
HWY_INLINE V call(rule::LogGamma, D d, V a) { return log_gamma(d, a); }
HWY_INLINE V call(rule::DiGamma, D d, V a) { return digamma(d, a); }
HWY_INLINE V call(rule::Pow, D d, V a, V b) { return pow(d, a, b); }
HWY_INLINE V call(rule::CopySign, D, V a, V b) { return hn::CopySign(a, b); }
HWY_INLINE V call(rule::Power, D d, V a, V n) { return power(d, a, n); }
// In this order NaN in `a` stays, as in the scalar functions.
HWY_INLINE V call(rule::Max, D, V a, V b) { return greater(b, a); }
HWY_INLINE V call(rule::Min, D, V a, V b) { return lesser(b, a); }

// ---- expressions
// ------------------------------------------------------------------------------------

/// Value of an expression: a vector, or a mask for comparisons. `x` are the inputs.
template <class Expression>
struct Evaluate;

template <class Expression>
HWY_INLINE auto evaluate(D d, const Expression& e, const V* x) {
  return Evaluate<Expression>::run(d, e, x);
}

template <rule::Number T>
struct Evaluate<T> {
  static HWY_INLINE V run(D d, T value, const V*) { return hn::Set(d, static_cast<float>(value)); }
};
template <>
struct Evaluate<rule::Constant> {
  static HWY_INLINE V run(D d, rule::Constant c, const V*) {
    return hn::Set(d, static_cast<float>(c.value));
  }
};
template <int kI>
struct Evaluate<rule::In<kI>> {
  static HWY_INLINE V run(D, rule::In<kI>, const V* x) { return x[kI]; }
};
template <class F, class... A>
struct Evaluate<rule::Apply<F, A...>> {
  static HWY_INLINE auto run(D d, const rule::Apply<F, A...>& e, const V* x) {
    return run_parts(d, e, x, std::index_sequence_for<A...>());
  }
  template <std::size_t... kI>
  static HWY_INLINE auto run_parts(D d, const rule::Apply<F, A...>& e, const V* x,
                                   std::index_sequence<kI...>) {
    return call(F(), d, evaluate(d, std::get<kI>(e.args), x)...);
  }
};

template <class A, class B>
using Product = rule::Apply<rule::Mul, A, B>;
template <class E>
inline constexpr bool kIsProduct = false;
template <class A, class B>
inline constexpr bool kIsProduct<Product<A, B>> = true;

template <class A, class B>
HWY_INLINE V left_factor(D d, const Product<A, B>& p, const V* x) {
  return evaluate(d, std::get<0>(p.args), x);
}
template <class A, class B>
HWY_INLINE V right_factor(D d, const Product<A, B>& p, const V* x) {
  return evaluate(d, std::get<1>(p.args), x);
}
template <class A, class B>
struct Evaluate<rule::Apply<rule::Add, A, B>> {
  static HWY_INLINE V run(D d, const rule::Apply<rule::Add, A, B>& e, const V* x) {
    const auto& [a, b] = e.args;
    if constexpr (kIsProduct<A>) {
      return hn::MulAdd(left_factor(d, a, x), right_factor(d, a, x), evaluate(d, b, x));
    } else if constexpr (kIsProduct<B>) {
      return hn::MulAdd(left_factor(d, b, x), right_factor(d, b, x), evaluate(d, a, x));
    } else {
      return hn::Add(evaluate(d, a, x), evaluate(d, b, x));
    }
  }
};
template <class A, class B>
struct Evaluate<rule::Apply<rule::Sub, A, B>> {
  static HWY_INLINE V run(D d, const rule::Apply<rule::Sub, A, B>& e, const V* x) {
    const auto& [a, b] = e.args;
    if constexpr (kIsProduct<B>) {
      return hn::NegMulAdd(left_factor(d, b, x), right_factor(d, b, x), evaluate(d, a, x));
    } else if constexpr (kIsProduct<A>) {
      return hn::MulSub(left_factor(d, a, x), right_factor(d, a, x), evaluate(d, b, x));
    } else {
      return hn::Sub(evaluate(d, a, x), evaluate(d, b, x));
    }
  }
};

// ---- the loop
// -----------------------------------------------------------------------------------------

template <class Number, std::size_t... kK>
HWY_INLINE void load_lines(D d, const Line<Number>* lines, std::size_t i, V* x,
                           std::index_sequence<kK...>) {
  ((x[kK] = hn::LoadU(d, lines[kK].data + (i & lines[kK].mask))), ...);
}
template <class Rules, std::size_t... kJ>
HWY_INLINE void rule_step(D d, const Rules& rules, const V* x, const Line<const float>* base,
                          const Line<float>* to, std::size_t i, std::index_sequence<kJ...>) {
  // All results before the first is written: shared terms are computed once.
  const V results[] = {evaluate(d, std::get<kJ>(rules), x)...};
  // One after the other: several may add to the same memory.
  (hn::StoreU(hn::Add(hn::LoadU(d, base[kJ].data + (i & base[kJ].mask)), results[kJ]), d,
              to[kJ].data + (i & to[kJ].mask)),
   ...);
}
/// The lines of a call as variables of the loop, so that no write of the loop can change them.
template <class Number, std::size_t kSize>
struct Lines {
  Line<Number> line[kSize];
  HWY_INLINE explicit Lines(const Line<Number>* lines) {
    for (std::size_t k = 0; k < kSize; ++k) {
      line[k] = {read_alone(lines[k].data), read_alone(lines[k].mask)};
    }
  }
};
template <std::size_t kInputs, class Rules>
HWY_INLINE void rule_loop(const Rules& rules, const Elements& elements) {
  constexpr std::size_t kResults = std::tuple_size_v<Rules>;
  static_assert(kInputs <= kMaxRuleInputs && kResults <= kMaxRuleResults);
  const Lines<const float, kInputs> from(elements.from);
  const Lines<const float, kResults> base(elements.base);
  const Lines<float, kResults> to(elements.to);
  const D d;
  V x[kInputs];
  const std::size_t n = elements.count;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    load_lines(d, from.line, i, x, std::make_index_sequence<kInputs>());
    rule_step(d, rules, x, base.line, to.line, i, std::make_index_sequence<kResults>());
  }
}

// ---- an operation's loops
// -------------------------------------------------------------------------------

template <class Op, std::size_t... kI>
HWY_INLINE auto forward_expressions(const Op& op, std::index_sequence<kI...>) {
  return ext::forward_rule(op, rule::In<static_cast<int>(kI)>{}...);
}
template <class Op, std::size_t... kI>
HWY_INLINE auto backward_expressions(const Op& op, std::index_sequence<kI...>) {
  return ext::backward_rule(op, rule::In<static_cast<int>(kI)>{}...);
}

template <class Op>
void forward_loop(const void* op, const Elements& elements) {
  constexpr std::size_t kInputs = ext::RuleArity<Op>::inputs();
  rule_loop<kInputs>(forward_expressions(ext::rule_at<Op>(op), std::make_index_sequence<kInputs>()),
                     elements);
}
template <class Op>
void backward_loop(const void* op, const Elements& elements) {
  constexpr std::size_t kInputs = ext::RuleArity<Op>::backward_inputs();
  rule_loop<kInputs>(
      backward_expressions(ext::rule_at<Op>(op), std::make_index_sequence<kInputs>()), elements);
}

/// The inputs that an expression reads, as bits.
template <class Expression>
inline constexpr std::uint64_t kInputsOf = 0;
template <int kI>
inline constexpr std::uint64_t kInputsOf<rule::In<kI>> = std::uint64_t{1} << kI;
template <class F, class... A>
inline constexpr std::uint64_t kInputsOf<rule::Apply<F, A...>> =
    (std::uint64_t{0} | ... | kInputsOf<A>);

/// For each of so many inputs the results of a tuple that read it, as bits.
template <std::size_t kInputs, class... Results>
constexpr std::array<std::uint16_t, kInputs> readers(const std::tuple<Results...>*) {
  std::array<std::uint16_t, kInputs> of{};
  constexpr std::uint64_t kResultReads[] = {kInputsOf<Results>...};
  for (std::size_t j = 0; j < sizeof...(Results); ++j) {
    for (std::size_t k = 0; k < kInputs; ++k) {
      of[k] = static_cast<std::uint16_t>(of[k] | ((kResultReads[j] >> k & 1) << j));
    }
  }
  return of;
}
template <std::size_t kInputs, class Results>
inline constexpr auto kReaders = readers<kInputs>(static_cast<const Results*>(nullptr));

template <class Op>
void rule_forward(const void* op, const ext::Stream* in, const ext::Stream* out, std::int64_t n) {
  using Arity = ext::RuleArity<Op>;
  constexpr std::size_t kInputs = Arity::inputs();
  using Results =
      decltype(forward_expressions(std::declval<const Op&>(), std::make_index_sequence<kInputs>()));
  walk_rule({forward_loop<Op>, kInputs, Arity::results(), kReaders<kInputs, Results>.data()}, op,
            in, out, n);
}
template <class Op>
void rule_backward(const void* op, const ext::Stream* in, const ext::Stream* out, std::int64_t n) {
  using Arity = ext::RuleArity<Op>;
  constexpr std::size_t kInputs = Arity::backward_inputs();
  using Results = decltype(backward_expressions(std::declval<const Op&>(),
                                                std::make_index_sequence<kInputs>()));
  walk_rule({backward_loop<Op>, kInputs, Arity::gradients(), kReaders<kInputs, Results>.data()}, op,
            in, out, n);
}

template <class Op>
void install_loop() {
  if constexpr (ext::Rule<Op>) {
    ext::for_each_form<Op>([]<class Form>() {
      ext::rule_loops<Form>().forward_float = rule_forward<Form>;
      ext::rule_loops<Form>().backward_float = rule_backward<Form>;
    });
  }
}
/// Installs this target's loops for all rules in a list of operations.
template <class... Ops>
void install_loops(ext::OpList<Ops...>) {
  (install_loop<Ops>(), ...);
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
