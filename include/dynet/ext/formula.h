#pragma once

// A rule as data: the formulas of its gradients, step by step, to be read at run time.
//
// For the compiler a rule is a type that is the formula (rule.h, over.h), so loops know all of it.
// A gradient made of nodes is not compiled: the code that adds nodes walks the steps of a Formula,
// in which equal steps are stored once, arguments before their users. Example: in the
// slope 1 - y * y of tanh the step y is stored once.

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/ext/numbered.h"
#include "dynet/ext/optional.h"
#include "dynet/ext/over.h"
#include "dynet/ext/properties.h"
#include "dynet/ext/rows.h"
#include "dynet/ext/rule.h"
#include "dynet/ext/rule_loop.h"

namespace dynet::ext {

/// The kind of a step of a formula: a leaf, or a word of rule.h or over.h with its arguments.
enum class Word : std::uint8_t {
  kNone,
  kInput,     ///< number `input` of the rule
  kConstant,  ///< `value`
  kPosition,
  kCount,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kNeg,
  kLess,
  kLessEqual,
  kEqual,
  kSelect,
  kMax,
  kMin,
  kPower,
  kPow,
  kCopySign,
  kExp,
  kLog,
  kLog1p,
  kExpm1,
  kTanh,
  kLogistic,
  kSqrt,
  kAbs,
  kFloor,
  kErf,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kLogGamma,
  kSumOf,
  kMaxOf,
  kIndexOfMax,
  kValueAt,
  kOnlyAt,
};

/// The word of a function; kNone if no operation of the library computes it.
template <class F>
inline constexpr Word kWordOf = Word::kNone;
#define DYNET_WORD(Tag, word) \
  template <>                 \
  inline constexpr Word kWordOf<rule::Tag> = Word::word;
DYNET_WORD(Add, kAdd)
DYNET_WORD(Sub, kSub)
DYNET_WORD(Mul, kMul)
DYNET_WORD(Div, kDiv)
DYNET_WORD(Neg, kNeg)
DYNET_WORD(Less, kLess)
DYNET_WORD(LessEqual, kLessEqual)
DYNET_WORD(Equal, kEqual)
DYNET_WORD(Select, kSelect)
DYNET_WORD(Max, kMax)
DYNET_WORD(Min, kMin)
DYNET_WORD(Power, kPower)
DYNET_WORD(Pow, kPow)
DYNET_WORD(CopySign, kCopySign)
DYNET_WORD(Exp, kExp)
DYNET_WORD(Log, kLog)
DYNET_WORD(Log1p, kLog1p)
DYNET_WORD(Expm1, kExpm1)
DYNET_WORD(Tanh, kTanh)
DYNET_WORD(Logistic, kLogistic)
DYNET_WORD(Sqrt, kSqrt)
DYNET_WORD(Abs, kAbs)
DYNET_WORD(Floor, kFloor)
DYNET_WORD(Erf, kErf)
DYNET_WORD(Sin, kSin)
DYNET_WORD(Cos, kCos)
DYNET_WORD(Tan, kTan)
DYNET_WORD(Asin, kAsin)
DYNET_WORD(Acos, kAcos)
DYNET_WORD(Atan, kAtan)
DYNET_WORD(LogGamma, kLogGamma)
DYNET_WORD(SumOf, kSumOf)
DYNET_WORD(MaxOf, kMaxOf)
DYNET_WORD(IndexOfMaxOf, kIndexOfMax)
DYNET_WORD(ValueAt, kValueAt)
DYNET_WORD(OnlyAt, kOnlyAt)
#undef DYNET_WORD

/// The gradients of a rule, and the saved outputs of its forward.
class Formula {
 public:
  struct Step {
    Word word = Word::kNone;
    std::uint8_t count = 0;               ///< of the arguments
    std::array<std::uint16_t, 3> args{};  ///< numbers of earlier steps
    std::uint16_t input = 0;
    double value = 0.0;
    friend bool operator==(const Step&, const Step&) = default;
  };

  /// The number of a step, which is added unless an equal step exists.
  std::uint16_t add(const Step& step);

  std::vector<Step> steps;
  std::vector<std::uint16_t> results;    ///< outputs and saved outputs; empty if none are saved
  std::vector<std::uint16_t> gradients;  ///< of each input that has one
};

namespace detail {
/// Whether all words of an expression, or of a tuple of them, have operations.
template <class E>
inline constexpr bool kIsSaid = true;
template <class F, class... A>
inline constexpr bool kIsSaid<rule::Apply<F, A...>> =
    kWordOf<F> != Word::kNone && (kIsSaid<A> && ...);
template <class F, class... A>
inline constexpr bool kIsSaid<rule::Reduce<F, A...>> =
    kWordOf<F> != Word::kNone && (kIsSaid<A> && ...);
template <class E>
inline constexpr bool kIsSaid<rule::Kept<E>> = kIsSaid<E>;
template <class... E>
inline constexpr bool kIsSaid<std::tuple<E...>> = (kIsSaid<E> && ...);

/// Adds the steps of an expression; `of` gives the number of its own.
template <class E>
struct StepOf;
template <class E>
std::uint16_t step_of(const E& e, Formula& to) {
  return StepOf<E>::of(e, to);
}
template <int kI>
struct StepOf<rule::In<kI>> {
  static std::uint16_t of(rule::In<kI> /*e*/, Formula& to) {
    return to.add({.word = Word::kInput, .input = kI});
  }
};
template <int kI>
struct StepOf<rule::RowIn<kI>> {
  static std::uint16_t of(rule::RowIn<kI> /*e*/, Formula& to) {
    return to.add({.word = Word::kInput, .input = kI});
  }
};
template <>
struct StepOf<rule::Constant> {
  static std::uint16_t of(rule::Constant e, Formula& to) {
    return to.add({.word = Word::kConstant, .value = e.value});
  }
};
template <rule::Number T>
struct StepOf<T> {
  static std::uint16_t of(T e, Formula& to) { return step_of(rule::lift(e), to); }
};
template <>
struct StepOf<rule::Position> {
  static std::uint16_t of(rule::Position /*e*/, Formula& to) {
    return to.add({.word = Word::kPosition});
  }
};
template <>
struct StepOf<rule::Count> {
  static std::uint16_t of(rule::Count /*e*/, Formula& to) { return to.add({.word = Word::kCount}); }
};
template <class E>
struct StepOf<rule::Kept<E>> {
  static std::uint16_t of(const rule::Kept<E>& e, Formula& to) {
    return step_of(std::get<0>(e.args), to);
  }
};
template <Word kWord, class... A>
struct StepOfWord {
  static std::uint16_t of(const auto& e, Formula& to) {
    Formula::Step step{.word = kWord, .count = sizeof...(A)};
    [&]<std::size_t... kI>(std::index_sequence<kI...>) {
      ((step.args[kI] = step_of(std::get<kI>(e.args), to)), ...);
    }(std::index_sequence_for<A...>{});
    return to.add(step);
  }
};
template <class F, class... A>
struct StepOf<rule::Apply<F, A...>> : StepOfWord<kWordOf<F>, A...> {};
template <class F, class... A>
struct StepOf<rule::Reduce<F, A...>> : StepOfWord<kWordOf<F>, A...> {};
template <class... E>
std::vector<std::uint16_t> steps_of(const std::tuple<E...>& all, Formula& to) {
  return std::apply(
      [&to](const auto&... e) { return std::vector<std::uint16_t>{step_of(e, to)...}; }, all);
}

/// The expressions of a rule, called with symbols.
template <class Form>
struct Said {
  template <std::size_t... kI>
  static auto forward(const Form& op, std::index_sequence<kI...> /*inputs*/) {
    return forward_rule(op, rule::In<static_cast<int>(kI)>{}...);
  }
  template <std::size_t... kI>
  static auto backward(const Form& op, std::index_sequence<kI...> /*inputs*/) {
    return backward_rule(op, rule::In<static_cast<int>(kI)>{}...);
  }
  static auto values(const Form& op) {
    return forward(op, std::make_index_sequence<RuleArity<Form>::inputs()>{});
  }
  static auto gradients(const Form& op) {
    return backward(op, std::make_index_sequence<RuleArity<Form>::backward_inputs()>{});
  }
  static constexpr bool kSaves = RuleArity<Form>::results() > RuleArity<Form>::outputs();
};
template <RowOperation Op>
struct Said<Op> {
  static auto values(const Op& op) { return rule::ForwardRule::expressions(op); }
  static auto gradients(const Op& op) { return rule::BackwardRule::expressions(op); }
  static constexpr bool kSaves = saved_of<Op>() != 0;
};
template <class Form>
constexpr bool can_say() {
  using Gradients = decltype(Said<Form>::gradients(std::declval<const Form&>()));
  if constexpr (!kIsSaid<Gradients>) {
    return false;
  } else if constexpr (Said<Form>::kSaves) {
    return kIsSaid<decltype(Said<Form>::values(std::declval<const Form&>()))>;
  } else {
    return true;
  }
}
}  // namespace detail

/// The formula of an elementwise rule, of a form of one (optional.h), or of a rule over rows.
template <class Form>
Formula formula_of(const Form& op) {
  Formula f;
  f.gradients = detail::steps_of(detail::Said<Form>::gradients(op), f);
  if constexpr (detail::Said<Form>::kSaves) {
    f.results = detail::steps_of(detail::Said<Form>::values(op), f);
  }
  return f;
}

}  // namespace dynet::ext
