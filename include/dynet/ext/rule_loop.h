#pragma once

// Scalar rules as loops: value and slope of an operation (rule.h) become loops over numbers.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dynet/ext/compiled.h"
#include "dynet/ext/info.h"
#include "dynet/ext/optional.h"
#include "dynet/ext/properties.h"
#include "dynet/ext/rule.h"

namespace dynet::ext {

/// One operand of a rule's loop: a run of n numbers, or one number repeated.
struct Stream {
  enum Mode : std::uint8_t {
    kRun,
    kRepeat,  ///< inputs; kRepeat reads data[0] for every element
    kStore,
    kAdd,
    kSum,
    kSkip,  ///< results; kSum adds the sum of all n to data[0]; kSkip: not wanted
  };
  void* data;
  Mode mode;
};
/// Runs a rule over n elements. `op` is the operation, `in` and `out` its streams in contract
/// order: forward reads parts of the arguments (and the scalar payload) and writes outputs and
/// saved outputs; backward reads arguments, payload, outputs, saved, gradients of the outputs, and
/// writes the gradients of the arguments. Elements are processed in order; results of one element
/// in order.
using RuleLoop = void (*)(const void* op, const Stream* in, const Stream* out, std::int64_t n);

/// A rule's loops and the pieces of its operands. For operations of the library, the loops of the
/// best SIMD target replace the float loops (src/ops).
struct RuleLoops {
  RuleLoop forward_float, backward_float, forward_double, backward_double;
};
struct RuleInfo {
  RuleLoops* loops;
  std::uint16_t op_bytes;  ///< size of the operation's struct
  struct {
    std::uint8_t in, out;
  } streams[2];                  ///< numbers of streams read and written, by Direction
  std::uint8_t parts[kMaxArgs];  ///< pieces of each argument; 1 if broadcasting applies
  std::uint8_t out_parts[kMaxOutputs];
  std::uint8_t saved_parts[kMaxSaved];
  bool has_scalar;  ///< reads Call::values
  bool summed;
};

/// A rule over rows (over.h) is never called with numbers.
template <class Op>
concept CalledWithNumbers = !requires { Op::kAlong; };
template <class Op>
concept UnaryRule = CalledWithNumbers<Op> && requires(const Op op) {
  op.value(1.0);
  op.slope(1.0, 1.0);
};
template <class Op>
concept ScalarRule = CalledWithNumbers<Op> && requires(const Op op) {
  op.value(1.0, 1.0);
  op.slope(1.0, 1.0, 1.0);
};
template <class Op>
concept BinaryRule = CalledWithNumbers<Op> && requires(const Op op) {
  op.value(1.0, 1.0);
  op.slopes(1.0, 1.0, 1.0);
};
template <class Op>
concept CellRule = requires {
  Op::kParts;
  Op::kOutParts;
};
template <class Op>
concept Rule = UnaryRule<Op> || ScalarRule<Op> || BinaryRule<Op> || CellRule<Op>;

namespace detail {
template <class Op>
constexpr std::size_t saved_streams() {
  if constexpr (requires { Op::kSavedParts; }) {
    return sum_of(Op::kSavedParts);
  } else {
    return 0;
  }
}
}  // namespace detail

/// Numbers of streams of a rule: inputs and results of forward, inputs and results of backward.
template <class Op>
struct RuleArity {
  static constexpr std::size_t inputs() {
    if constexpr (CellRule<Op>) {
      return detail::sum_of(Op::kParts);
    } else {
      return UnaryRule<Op> ? 1 : 2;
    }
  }
  static constexpr std::size_t outputs() {
    if constexpr (CellRule<Op>) {
      return detail::sum_of(Op::kOutParts);
    } else {
      return 1;
    }
  }
  static constexpr std::size_t results() { return outputs() + detail::saved_streams<Op>(); }
  static constexpr std::size_t gradients() {
    if constexpr (CellRule<Op>) {
      return detail::sum_of(Op::kParts);
    } else {
      return BinaryRule<Op> ? 2 : 1;
    }
  }
  static constexpr std::size_t backward_inputs() { return inputs() + results() + outputs(); }
};

/// Evaluates the forward rule: a tuple of outputs and saved outputs.
template <class Op, class... X>
DYNET_DEVICE_FN constexpr auto forward_rule(const Op& op, X... x) {
  if constexpr (CellRule<Op>) {
    return op.value(x...);
  } else {
    return rule::each(op.value(x...));
  }
}
/// Evaluates the backward rule on (inputs..., outputs..., saved..., gradients of outputs...): a
/// tuple of the gradients of the inputs.
template <class Op, class... X>
DYNET_DEVICE_FN constexpr auto backward_rule(const Op& op, X... x) {
  if constexpr (CellRule<Op>) {
    return op.pull(x...);
  } else if constexpr (UnaryRule<Op>) {
    return [&](auto a, auto y, auto dy) { return rule::each(dy * op.slope(a, y)); }(x...);
  } else if constexpr (ScalarRule<Op>) {
    return
        [&](auto a, auto s, auto y, auto dy) { return rule::each(dy * op.slope(a, s, y)); }(x...);
  } else {
    return [&](auto a, auto b, auto y, auto dy) {
      const auto [da, db] = op.slopes(a, b, y);
      return rule::each(dy * da, dy * db);
    }(x...);
  }
}

namespace detail {
/// The plain loop: one element after the other, in T.
template <class T, std::size_t kIn, class Evaluate>
void plain_loop(const Stream* in, const Stream* out, std::int64_t n, Evaluate evaluate) {
  [&]<std::size_t... kI>(std::index_sequence<kI...>) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto results =
          evaluate(static_cast<const T*>(in[kI].data)[in[kI].mode == Stream::kRepeat ? 0 : i]...);
      const auto put = [&](const Stream& s, T value) {
        T* y = static_cast<T*>(s.data);
        if (s.mode == Stream::kStore) {
          y[i] = value;
        } else if (s.mode == Stream::kAdd) {
          y[i] += value;
        } else if (s.mode == Stream::kSum) {
          *y += value;
        }
      };
      [&]<std::size_t... kJ>(std::index_sequence<kJ...>) {
        (put(out[kJ], static_cast<T>(std::get<kJ>(results))), ...);
      }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(results)>>>{});
    }
  }(std::make_index_sequence<kIn>{});
}
template <class Op, class T>
void plain_forward(const void* op, const Stream* in, const Stream* out, std::int64_t n) {
  plain_loop<T, RuleArity<Op>::inputs()>(
      in, out, n, [rule = rule_at<Op>(op)](auto... x) { return forward_rule(rule, x...); });
}
template <class Op, class T>
void plain_backward(const void* op, const Stream* in, const Stream* out, std::int64_t n) {
  plain_loop<T, RuleArity<Op>::backward_inputs()>(
      in, out, n, [rule = rule_at<Op>(op)](auto... x) { return backward_rule(rule, x...); });
}
/// Without kFloat, there are float loops for SIMD targets alone.
template <class Op, bool kFloat = true>
constexpr RuleLoops plain_loops() {
  RuleLoops loops{nullptr, nullptr, plain_forward<Op, double>, plain_backward<Op, double>};
  if constexpr (kFloat) {
    loops.forward_float = plain_forward<Op, float>;
    loops.backward_float = plain_backward<Op, float>;
  }
  return loops;
}
}  // namespace detail

namespace detail {
template <class Op>
inline constinit RuleLoops own_rule_loops = plain_loops<Op>();
}  // namespace detail

DYNET_DEFINED_ELSEWHERE_BEGIN
/// The loops of one rule, shared by all of the program. Written once, before the first graph.
template <Rule Op>
constexpr RuleLoops& rule_loops() {
  if constexpr (kIsCompiled<Op>) {
    return Compiled<Op>::rule_loops;
  } else {
    return detail::own_rule_loops<Op>;
  }
}
DYNET_DEFINED_ELSEWHERE_END

namespace detail {
template <class Op>
constexpr RuleInfo make_rule_info() {
  RuleInfo r{};
  r.loops = &rule_loops<Op>();
  r.op_bytes = sizeof(Op);
  using Arity = RuleArity<Op>;
  r.streams[0] = {Arity::inputs(), Arity::results()};
  r.streams[1] = {Arity::backward_inputs(), Arity::gradients()};
  for (auto& p : r.parts) {
    p = 1;
  }
  for (auto& p : r.out_parts) {
    p = 1;
  }
  for (auto& p : r.saved_parts) {
    p = 1;
  }
  if constexpr (CellRule<Op>) {
    for (std::size_t i = 0; i < Op::kParts.size(); ++i) {
      r.parts[i] = static_cast<std::uint8_t>(Op::kParts[i]);
    }
    for (std::size_t i = 0; i < Op::kOutParts.size(); ++i) {
      r.out_parts[i] = static_cast<std::uint8_t>(Op::kOutParts[i]);
    }
    if constexpr (requires { Op::kSavedParts; }) {
      for (std::size_t i = 0; i < Op::kSavedParts.size(); ++i) {
        r.saved_parts[i] = static_cast<std::uint8_t>(Op::kSavedParts[i]);
      }
    }
  }
  r.has_scalar = ScalarRule<Op>;
  r.summed = is_summed<Op>();
  return r;
}
/// The operands of the whole rule; absent operands have no pieces.
template <class Form>
constexpr RuleInfo make_form_info() {
  using Op = typename Form::Whole;
  RuleInfo r = make_rule_info<Op>();
  r.loops = &rule_loops<Form>();
  using Arity = RuleArity<Form>;
  r.streams[0] = {Arity::inputs(), Arity::results()};
  r.streams[1] = {Arity::backward_inputs(), Arity::gradients()};
  std::size_t at = 0;
  for (std::size_t a = 0; a < Op::kParts.size(); at += static_cast<std::size_t>(Op::kParts[a++])) {
    r.parts[a] = Form::kThere[at] ? r.parts[a] : std::uint8_t{0};
  }
  for (std::size_t k = 0; k < saved_of<Op>(); ++k) {
    r.saved_parts[k] = static_cast<std::uint8_t>(Form::saved_parts(k));
  }
  return r;
}
}  // namespace detail
/// The record of a rule, or of one of its forms without some arguments.
template <Rule Op>
inline constexpr RuleInfo kRuleInfo = [] {
  if constexpr (requires { typename Op::Whole; }) {
    return detail::make_form_info<Op>();
  } else {
    return detail::make_rule_info<Op>();
  }
}();
/// The forms of a rule, by which groups of arguments are absent.
template <Rule Op>
inline constexpr auto kForms = [] {
  return []<std::size_t... kI>(std::index_sequence<kI...>) {
    return std::array<const RuleInfo*, sizeof...(kI) + 1>{&kRuleInfo<Op>,
                                                          &kRuleInfo<Without<Op, kI + 1>>...};
  }(std::make_index_sequence<(std::size_t{1} << detail::optional_groups<Op>()) - 1>{});
}();

/// For operations with a forward and a backward of their own: the values of an elementwise rule, on
/// the device of `call`. `out` is stored or added to, as its blocks say.
template <Rule Op, std::same_as<Operand>... In>
void apply_rule(const Op& op, const Call& call, const Operand& out, const In&... in) {
  const Operand inputs[] = {in...};
  Call part(call.kernels);
  part.examples = call.examples;
  part.in = inputs;
  part.out = {&out, 1};
  call.kernels.run_call(kRuleInfo<Op>, Direction::kForward, &op, part);
}

}  // namespace dynet::ext
