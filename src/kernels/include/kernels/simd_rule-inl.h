// Scalar rules on vectors, compiled once per target.
//
// In:  the expression types that a rule of ext/rule.h yields for the symbols In<0>, In<1>, ...
// Out: loops with the signature ext::RuleLoop, for install_loops() to put in ext::rule_loops.
//
// The expression is evaluated vector by vector, each result on its own; what several results share
// is one value again after inlining. What remains after whole vectors is padded and goes through
// the same code, so that an element's result does not depend on its place. A product whose only use
// is a sum is fused with it.

#if defined(DYNET_KERNELS_SIMD_RULE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_RULE_INL_H
#undef DYNET_KERNELS_SIMD_RULE_INL_H
#else
#define DYNET_KERNELS_SIMD_RULE_INL_H
#endif

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "dynet/ext/op.h"

#include "hwy/highway.h"
#include "kernels/simd_functions-inl.h"
#include "kernels/simd_math-inl.h"
#include "kernels/simd_memory-inl.h"

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
HWY_INLINE V call(rule::Max, D, V a, V b) { return hn::Max(b, a); }
HWY_INLINE V call(rule::Min, D, V a, V b) { return hn::Min(b, a); }

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

/// The inputs of one call. A repeated number is a vector in memory that is loaded again and again.
template <std::size_t kInputs>
struct Sources {
  alignas(64) float repeated[kInputs][kMaxLanes];
  const float* from[kInputs];
  std::size_t step[kInputs];  ///< all bits set, or none

  explicit Sources(const ext::Stream* in) {
    for (std::size_t k = 0; k < kInputs; ++k) {
      from[k] = static_cast<const float*>(in[k].data);
      step[k] = ~std::size_t{0};
      if (in[k].mode == ext::Stream::kRepeat) {
        hn::Store(hn::Set(D(), *from[k]), D(), repeated[k]);
        from[k] = repeated[k];
        step[k] = 0;
      }
    }
  }
  /// The last `part` elements, from element i on.
  void pad(D d, std::size_t i, std::size_t part) {
    for (std::size_t k = 0; k < kInputs; ++k) {
      if (step[k] != 0) {
        hn::Store(load_part(d, from[k] + i, part), d, repeated[k]);
        from[k] = repeated[k];
        step[k] = 0;
      }
    }
  }
};

template <bool kPart, std::size_t kInputs, std::size_t... kI>
HWY_INLINE void load_inputs(D d, const Sources<kInputs>& s, std::size_t i, std::size_t part, V* x,
                            std::index_sequence<kI...>) {
  if constexpr (kPart) {
    ((x[kI] = s.step[kI] == 0 ? hn::Load(d, s.repeated[kI]) : load_part(d, s.from[kI] + i, part)),
     ...);
  } else {
    ((x[kI] = hn::LoadU(d, s.from[kI] + (i & s.step[kI]))), ...);
  }
}

template <bool kPart>
HWY_INLINE void put_result(D d, V value, const ext::Stream& out, std::size_t i, std::size_t part,
                           V& sum) {
  float* to = static_cast<float*>(out.data) + i;
  if (out.mode == ext::Stream::kSum) {
    sum = hn::Add(sum, kPart ? hn::IfThenElseZero(hn::FirstN(d, part), value) : value);
  } else if (out.mode != ext::Stream::kSkip) {
    const bool store = out.mode == ext::Stream::kStore;
    if constexpr (kPart) {
      put_part(value, d, to, part, store);
    } else {
      put(value, d, to, store);
    }
  }
}

/// Computes and writes `part` elements of the results that are wanted.
template <bool kPart, class Rules, std::size_t... kJ>
HWY_INLINE void rule_step(D d, const Rules& rules, const V* x, const ext::Stream* out,
                          std::size_t i, std::size_t part, V* sums, std::index_sequence<kJ...>) {
  ((out[kJ].mode == ext::Stream::kSkip
        ? void()
        : put_result<kPart>(d, evaluate(d, std::get<kJ>(rules), x), out[kJ], i, part, sums[kJ])),
   ...);
}

template <class Rules, std::size_t... kJ>
HWY_INLINE void store_results(D d, const Rules& rules, const V* x, const ext::Stream* out,
                              std::size_t i, std::index_sequence<kJ...>) {
  const V results[] = {evaluate(d, std::get<kJ>(rules), x)...};
  (hn::StoreU(results[kJ], d, static_cast<float*>(out[kJ].data) + i), ...);
}

/// One or two results: the code is short, so that there may be a copy of it for each case.
template <std::size_t kInputs, class Rules>
HWY_INLINE void short_loop(const Rules& rules, const ext::Stream* in, const ext::Stream* out,
                           std::size_t n, V* sums) {
  const auto inputs = std::make_index_sequence<kInputs>();
  const auto results = std::make_index_sequence<std::tuple_size_v<Rules>>();
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const Sources<kInputs> sources(in);
  V x[kInputs];
  bool all_stored = true;
  for (std::size_t j = 0; j < std::tuple_size_v<Rules>; ++j) {
    all_stored = all_stored && out[j].mode == ext::Stream::kStore;
  }
  std::size_t i = 0;
  if (all_stored) {
    for (; i + lanes <= n; i += lanes) {
      load_inputs<false>(d, sources, i, lanes, x, inputs);
      store_results(d, rules, x, out, i, results);
    }
  } else {
    for (; i + lanes <= n; i += lanes) {
      load_inputs<false>(d, sources, i, lanes, x, inputs);
      rule_step<false>(d, rules, x, out, i, lanes, sums, results);
    }
  }
  if (i < n) {
    load_inputs<true>(d, sources, i, n - i, x, inputs);
    rule_step<true>(d, rules, x, out, i, n - i, sums, results);
  }
}

/// A result's place for one vector: in memory, or, at the end of a run, padded in `last`.
template <std::size_t kResults>
struct Targets {
  alignas(64) float last[kResults][kMaxLanes];
  ext::Stream stream[kResults];

  explicit Targets(const ext::Stream* out) {
    for (std::size_t j = 0; j < kResults; ++j) {  // by field: as a whole it was not written
      stream[j].data = out[j].data;
      stream[j].mode = out[j].mode;
    }
  }
  /// Nothing is added to anything: an element may be computed twice.
  [[nodiscard]] bool only_store() const {
    bool all = true;
    for (std::size_t j = 0; j < kResults; ++j) {
      all = all && (stream[j].mode == ext::Stream::kStore || stream[j].mode == ext::Stream::kSkip);
    }
    return all;
  }
  /// At the end of a run: results go to `last` first.
  void pad() {
    for (std::size_t j = 0; j < kResults; ++j) {
      if (stream[j].mode != ext::Stream::kSkip) {
        stream[j].mode = ext::Stream::kStore;
      }
      stream[j].data = last[j];
    }
  }
  /// Then, one result after the other, to the `part` elements from element i on: results may add to
  /// the same memory.
  void unpad(D d, const ext::Stream* out, std::size_t i, std::size_t part, V* sums) {
    for (std::size_t j = 0; j < kResults; ++j) {
      float* to = static_cast<float*>(out[j].data) + i;
      if (out[j].mode == ext::Stream::kSum) {
        sums[j] = hn::Add(sums[j], load_part(d, last[j], part));
      } else if (out[j].mode == ext::Stream::kAdd) {
        store_part(hn::Add(load_part(d, to, part), hn::Load(d, last[j])), d, to, part);
      } else if (out[j].mode == ext::Stream::kStore) {
        store_part(hn::Load(d, last[j]), d, to, part);
      }
    }
  }
};

template <class Rules, std::size_t... kJ>
HWY_INLINE void evaluate_all(D d, const Rules& rules, const V* x, const ext::Stream* out,
                             std::size_t i, V* sums, std::index_sequence<kJ...>) {
  // All before the first is written: what they share is computed once.
  const V results[] = {evaluate(d, std::get<kJ>(rules), x)...};
  (put_result<false>(d, results[kJ], out[kJ], i, 0, sums[kJ]), ...);
}

/// Many results: one copy of the code, as compilers take long for it. The last vector of a run
/// overlaps the one before it; where that is not possible it is padded, in and out.
template <std::size_t kInputs, class Rules>
HWY_INLINE void long_loop(const Rules& rules, const ext::Stream* in, const ext::Stream* out,
                          std::size_t n, V* sums) {
  constexpr std::size_t kResults = std::tuple_size_v<Rules>;
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  Sources<kInputs> sources(in);
  Targets<kResults> targets(out);
  V x[kInputs];
  const bool overlaps = n >= lanes && targets.only_store();
  std::size_t offset = 0;  // of results: 0 again where they are padded
  for (std::size_t i = 0; i < n; i += lanes, offset += lanes) {
    std::size_t part = HWY_MIN(lanes, n - i);
    if (part < lanes && overlaps) {
      i = offset = n - lanes;
      part = lanes;
    } else if (part < lanes) {
      sources.pad(d, i, part);
      targets.pad();
      offset = 0;
    }
    load_inputs<false>(d, sources, i, lanes, x, std::make_index_sequence<kInputs>());
    evaluate_all(d, rules, x, targets.stream, offset, sums, std::make_index_sequence<kResults>());
    if (part < lanes) {
      targets.unpad(d, out, i, part, sums);
    }
  }
}

template <std::size_t kInputs, class Rules>
HWY_INLINE void rule_loop(const Rules& rules, const ext::Stream* in, const ext::Stream* out,
                          std::int64_t count) {
  constexpr std::size_t kResults = std::tuple_size_v<Rules>;
  const D d;
  V sums[kResults];
  for (std::size_t j = 0; j < kResults; ++j) {
    sums[j] = hn::Zero(d);
  }
  if constexpr (kResults <= 2) {
    short_loop<kInputs>(rules, in, out, static_cast<std::size_t>(count), sums);
  } else {
    long_loop<kInputs>(rules, in, out, static_cast<std::size_t>(count), sums);
  }
  for (std::size_t j = 0; j < kResults; ++j) {
    if (out[j].mode == ext::Stream::kSum) {
      *static_cast<float*>(out[j].data) += hn::GetLane(hn::SumOfLanes(d, sums[j]));
    }
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
void rule_forward(const void* op, const ext::Stream* in, const ext::Stream* out, std::int64_t n) {
  constexpr std::size_t kInputs = ext::RuleArity<Op>::inputs();
  rule_loop<kInputs>(forward_expressions(ext::rule_at<Op>(op), std::make_index_sequence<kInputs>()),
                     in, out, n);
}
template <class Op>
void rule_backward(const void* op, const ext::Stream* in, const ext::Stream* out, std::int64_t n) {
  constexpr std::size_t kInputs = ext::RuleArity<Op>::backward_inputs();
  rule_loop<kInputs>(
      backward_expressions(ext::rule_at<Op>(op), std::make_index_sequence<kInputs>()), in, out, n);
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
/// Makes this target's loops those of all rules in a list of operations.
template <class... Ops>
void install_loops(ext::OpList<Ops...>) {
  (install_loop<Ops>(), ...);
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
