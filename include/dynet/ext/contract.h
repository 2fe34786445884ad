#pragma once

// Compile-time checks of an operation.
//
// Each clause of the contract (op.h) is a class template here, so that the compiler names the
// clause and the operation beside the error: "in instantiation of contract::Arity<my::Softplus>: a
// rule takes ...". The checks compare members of an operation with each other; a contradiction
// would make the program compute wrong numbers silently. tests/not_compile has one operation for
// each line.

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/dim.h"
#include "dynet/ext/attributes.h"
#include "dynet/ext/gradient.h"
#include "dynet/ext/info.h"
#include "dynet/ext/properties.h"
#include "dynet/ext/rows.h"
#include "dynet/ext/rule_loop.h"

namespace dynet::ext {

template <class Op>
struct Example;

template <class Op>
concept HasInfo = requires {
  { Op::kInfo } -> std::convertible_to<const Info&>;
};
template <class Op>
concept HasBackward = requires(const Op op, Call& call) { op.backward(call); };
/// Without `backward`, gradient(to) is run (gradient_run.h).
template <class Op>
concept HasForwardBackward =
    requires(const Op op, Call& call) { op.forward(call); } && (HasBackward<Op> || HasGradient<Op>);
template <class Op>
concept HasExamples = requires {
  { Op::examples() } -> std::same_as<std::vector<Example<Op>>>;
};

namespace contract {

// ---- questions of the clauses
// ---------------------------------------------------------------------------------------

/// Whether `op.value` takes kN numbers.
template <class Op, std::size_t... kI>
constexpr bool value_takes(std::index_sequence<kI...> /*all*/) {
  return requires(const Op op) { op.value((static_cast<void>(kI), 1.0)...); };
}
template <class Op, std::size_t... kI>
constexpr bool pull_takes(std::index_sequence<kI...> /*all*/) {
  return requires(const Op op) { op.pull((static_cast<void>(kI), 1.0)...); };
}
template <class Op, std::size_t... kI>
auto value_of(std::index_sequence<kI...> /*all*/)
    -> decltype(std::declval<const Op&>().value((static_cast<void>(kI), 1.0)...));
template <class Op, std::size_t... kI>
auto pull_of(std::index_sequence<kI...> /*all*/)
    -> decltype(std::declval<const Op&>().pull((static_cast<void>(kI), 1.0)...));

template <class T>
inline constexpr std::size_t kResults = 0;  ///< of a function that returns each(...)
template <class... T>
inline constexpr std::size_t kResults<std::tuple<T...>> = sizeof...(T);

template <class Array>
constexpr bool all_positive(const Array& parts) {
  for (const auto n : parts) {
    if (n < 1) {
      return false;
    }
  }
  return true;
}

// ---- the clauses
// ------------------------------------------------------------------------------------------------

/// The operation is a struct of plain members, each with a name.
template <class Op>
struct Members {
  static_assert(std::is_aggregate_v<Op>, "an operation is an aggregate: members, no constructor");
  static_assert(std::is_trivially_copyable_v<Op>,
                "an attribute is a plain value; what varies per node is payload or an argument");
  static_assert(detail::AllAttributes<decltype(attributes(std::declval<Op&>()))>::value,
                "an attribute is a plain value; what varies per node is payload or an argument");
  static_assert(detail::count_names(Op::kInfo.attrs) == kAttrCount<Op>,
                "kInfo.attrs must name every member, and no more");
  static_assert(detail::packed_bytes<Op>() <= kMaxAttrs * sizeof(Dim),
                "the attributes take too many bytes");
  static_assert(HasExamples<Op>, "the operation has no examples()");
};

/// Shapes of results and of saved outputs, in the declared numbers.
template <class Op>
struct Results {
  static constexpr unsigned kOutputs = detail::outputs_of<Op>();
  static constexpr unsigned kSaved = detail::saved_of<Op>();
  static_assert(kOutputs >= 1 && kOutputs <= kMaxOutputs, "kOutputs must be from 1 to 4");
  static_assert(kSaved <= kMaxSaved, "kSaved must be at most 6");
  static constexpr bool kHasShape = requires(const Op op, const Shapes& in) {
    { op.shape(in) } -> std::same_as<Dim>;
  };
  static constexpr bool kHasShapes = requires(const Op op, const Shapes& in) {
    { op.shapes(in) } -> std::same_as<std::array<Dim, kOutputs>>;
  };
  static constexpr bool kHasAnyShapes = requires(const Op op, const Shapes& in) { op.shapes(in); };
  static constexpr bool kHasSavedShapes = requires(const Op op, const Shapes& in) {
    { op.saved(in) } -> std::same_as<std::array<Dim, kSaved>>;
  };
  static constexpr bool kHasAnySaved = requires(const Op op, const Shapes& in) { op.saved(in); };
  static_assert(kOutputs > 1 || kHasShape || kHasAnyShapes,
                "the operation has no shape(const Shapes&) (or shapes, with kOutputs > 1)");
  static_assert(kOutputs > 1 || !kHasAnyShapes,
                "shapes() gives several results: kOutputs must say how many");
  static_assert(kOutputs == 1 || kHasShapes,
                "with kOutputs > 1, shapes(const Shapes&) must return std::array<Dim, kOutputs>");
  static_assert(kSaved > 0 || !kHasAnySaved,
                "saved() is given: kSaved must say how many there are");
  static_assert(kSaved == 0 || kHasSavedShapes,
                "with kSaved > 0, saved(const Shapes&) must return std::array<Dim, kSaved>");
};
template <class Op>
struct SavedKinds {
  static_assert(Op::kSavedAs.size() == detail::saved_of<Op>(),
                "kSavedAs must have one entry per saved output");
};

/// Names and roles of the arguments.
template <class Op>
struct Arguments {
  static constexpr bool kVariadic = detail::is_variadic<Op>();
  static_assert(detail::term_args<Op>() == 0 || (kVariadic && HasForwardBackward<Op>),
                "kTermArgs is for variadic operations that have forward and backward");
  static_assert(detail::head_args<Op>() == 0 || detail::term_args<Op>() != 0,
                "kHeadArgs is for sums of terms: kTermArgs must be given");
  static_assert(detail::head_args<Op>() <= detail::saved_of<Op>(),
                "kHeadArgs says how many sums are saved outputs, the first ones: kSaved is less");
  static_assert(detail::state_args<Op>() == 0 || detail::head_args<Op>() != 0,
                "kStateArgs makes results of sums that are saved: kHeadArgs must be given");
  static_assert(detail::state_vectors<Op>() >> detail::state_args<Op>() == 0,
                "kStateVectors has a bit for each of kStateArgs arguments");
  static_assert(detail::state_args<Op>() < 32, "kStateArgs must be less than 32");
  static_assert(!detail::adds_arguments<Op>() || kVariadic,
                "kAddsArguments is for variadic operations");
  static_assert(!kVariadic || kArgCount<Op> > 0, "kInfo.args must name the list of arguments");
};
template <class Op>
struct Roles {
  static_assert(Op::kRoles.size() > 0 && Op::kRoles.size() <= kMaxArgs &&
                    (detail::is_variadic<Op>() || Op::kRoles.size() == kArgCount<Op>),
                "kRoles must have one role per argument");
  static constexpr bool kHasWhole = [] {
    for (const Role role : Op::kRoles) {
      if (role == Role::kWhole) {
        return true;
      }
    }
    return false;
  }();
  static_assert(
      !kHasWhole || detail::payload_of<Op>() != Payload::kIndices ||
          detail::indices_per<Op>() == IndicesPer::kNode,
      "an operation with Role::kWhole has a list of indices per node: kIndicesPer must be "
      "IndicesPer::kNode");
  static_assert(
      !kHasWhole || !Rule<Op>,
      "a rule cannot mix the examples of a batch: Role::kWhole needs forward and backward");
};

template <class Op>
struct Optional {
  static_assert(Op::kOptional.size() == kArgCount<Op> && !detail::is_variadic<Op>(),
                "kOptional must have one group per argument, and their number must be fixed");
  static_assert(Op::kOptional[0] == 0,
                "the first argument is always there: kOptional[0] must be 0");
  static_assert(detail::optional_groups<Op>() >= 1 && detail::optional_groups<Op>() <= 2,
                "kOptional must have one or two groups, 1 and 2");
  static_assert(CellRule<Op> || HasForwardBackward<Op>,
                "kOptional is for cells and for operations with forward and backward");
};

/// Indices and numbers that vary from node to node.
template <class Op>
struct PayloadOf {
  static constexpr Payload kPayload = detail::payload_of<Op>();
  static constexpr bool kHasLimit = requires(const Op op, const Shapes& in) { op.index_limit(in); };
  static constexpr bool kHasCount = requires(const Op op) { op.index_count(); };
  static_assert(kPayload != Payload::kNone || Op::kInfo.payload.empty(),
                "kInfo.payload names a payload: kPayload must say what it is");
  static_assert(kPayload == Payload::kIndices || !kHasLimit,
                "index_limit() is given: kPayload must be Payload::kIndices");
  static_assert(kPayload == Payload::kIndices || !kHasCount,
                "index_count() is given: kPayload must be Payload::kIndices");
  static_assert(
      kPayload == Payload::kIndices || !requires { Op::kIndicesPer; },
      "kIndicesPer is given: kPayload must be Payload::kIndices");
  static_assert(!kHasCount || detail::indices_per<Op>() == IndicesPer::kExample,
                "index_count() is for IndicesPer::kExample; a list per node has any length");
};

/// Exactly one way of computing.
template <class Op>
struct Computing {
  static constexpr Storage kStorage = detail::reads_storage<Op>();
  static constexpr GradientTo kGradient = detail::gradient_goes_to<Op>();
  static constexpr bool kIsLeaf = detail::payload_is_value<Op>() || kStorage != Storage::kNone;
  static_assert(!kIsLeaf || kArgCount<Op> == 0,
                "kPayloadIsValue and kReadsStorage are for operations without arguments");
  static_assert(!kIsLeaf || kGradient != GradientTo::kArguments,
                "there are no arguments: kGradientGoesTo must say where the gradient goes");
  static_assert((kGradient != GradientTo::kStorage || kStorage == Storage::kWhole) &&
                    (kGradient != GradientTo::kRows || kStorage == Storage::kRows),
                "a gradient can go only where kReadsStorage reads");
  static_assert(
      kStorage == Storage::kNone || requires(const Op op) { op.is_trainable(); },
      "with kReadsStorage, is_trainable() must say whether the storage is trained");
  static_assert(
      Rule<Op> || RowOperation<Op> || HasForwardBackward<Op> || kIsLeaf || detail::is_alias<Op>(),
      "the operation has neither value and slope, nor forward and backward (or gradient)");
  static_assert(!(Rule<Op> || RowOperation<Op>) || !HasForwardBackward<Op>,
                "the operation has a rule, and forward and backward too: one of them would never "
                "be called");
  static_assert(!detail::computes_on_host<Op>() || HasForwardBackward<Op>,
                "kOnHost is for forward and backward: a rule runs on every device");
  static_assert(!detail::is_summed<Op>() || (Rule<Op> && !CellRule<Op>),
                "kSummed is for elementwise rules: value with slope or slopes");
};

/// A rule's numbers are the arguments of the operation.
template <class Op>
struct Arity {
  static_assert(!detail::is_variadic<Op>(),
                "a rule takes a fixed number of arguments: a variadic operation has forward and "
                "backward");
  static_assert(!UnaryRule<Op> || CellRule<Op> || kArgCount<Op> == 1,
                "value(x) takes one argument: kInfo.args must name one");
  static_assert(!BinaryRule<Op> || CellRule<Op> || kArgCount<Op> == 2,
                "value(a, b) with slopes takes two arguments: kInfo.args must name two");
  static_assert(!ScalarRule<Op> || CellRule<Op> || detail::payload_of<Op>() == Payload::kValues,
                "value(x, s) with slope(x, s, y) takes a number s per node: kPayload must be "
                "Payload::kValues (or slopes(a, b, y), for two arguments)");
  static_assert(!ScalarRule<Op> || CellRule<Op> || kArgCount<Op> == 1,
                "value(x, s) with slope(x, s, y) takes one argument, and the number as payload: "
                "kInfo.args must name one");
  static_assert(ScalarRule<Op> || detail::payload_of<Op>() != Payload::kValues,
                "kPayload gives a number per node that the rule does not read: value(x, s) and "
                "slope(x, s, y) do");
  static_assert(detail::payload_of<Op>() != Payload::kIndices,
                "rules read no indices: the operation needs forward and backward");
};
/// Not a cell: one result of one element.
template <class Op>
struct Elementwise {
  static_assert(detail::outputs_of<Op>() == 1 && detail::saved_of<Op>() == 0,
                "a rule with several results or saved outputs is a cell: value, pull, kParts, "
                "kOutParts, kSavedParts");
};
template <class Op>
struct Slope {
  static constexpr bool kIsOne = [] {
    if constexpr (UnaryRule<Op>) {
      return requires(const Op op) {
        static_cast<double>(op.value(1.0));
        static_cast<double>(op.slope(1.0, 1.0));
      };
    } else {
      return requires(const Op op) {
        static_cast<double>(op.value(1.0, 1.0));
        static_cast<double>(op.slope(1.0, 1.0, 1.0));
      };
    }
  }();
  static_assert(kIsOne, "value and slope must return one number each");
};
template <class Op>
struct Slopes {
  static_assert(
      requires(const Op op) { static_cast<double>(op.value(1.0, 1.0)); },
      "value must return one number");
  static_assert(kResults<decltype(std::declval<const Op&>().slopes(1.0, 1.0, 1.0))> == 2,
                "slopes(a, b, y) must return each(dy/da, dy/db)");
};
/// How the operands are cut.
template <class Op>
struct Parts {
  static constexpr std::size_t kSavedPartCount = [] {
    if constexpr (requires { Op::kSavedParts; }) {
      return Op::kSavedParts.size();
    } else {
      return std::size_t{0};
    }
  }();
  static_assert(Op::kParts.size() == kArgCount<Op>,
                "kParts must have one number per argument that kInfo.args names");
  static_assert(Op::kOutParts.size() == detail::outputs_of<Op>(),
                "kOutParts must have one number per output (kOutputs)");
  static_assert(kSavedPartCount == detail::saved_of<Op>(),
                "kSavedParts must have one number per saved output (kSaved)");
  static_assert(all_positive(Op::kParts) && all_positive(Op::kOutParts),
                "every operand of a cell has at least one part");
};
/// The results of a cell have the numbers that kParts, kOutParts and kSavedParts add up to.
template <class Op>
struct Cell {
  using A = RuleArity<Op>;
  using In = std::make_index_sequence<A::inputs()>;
  using Back = std::make_index_sequence<A::backward_inputs()>;
  static_assert(value_takes<Op>(In{}), "value must take the parts of all arguments (kParts)");
  static_assert(pull_takes<Op>(Back{}),
                "pull must take the parts of the arguments, of the outputs, of what was saved, and "
                "of the outputs' gradients, in this order");
  static constexpr std::size_t kValues = [] {
    if constexpr (value_takes<Op>(In{})) {
      return kResults<decltype(value_of<Op>(In{}))>;
    } else {
      return A::results();  // said above
    }
  }();
  static constexpr std::size_t kGradients = [] {
    if constexpr (pull_takes<Op>(Back{})) {
      return kResults<decltype(pull_of<Op>(Back{}))>;
    } else {
      return A::gradients();  // said above
    }
  }();
  static_assert(kValues == A::results(),
                "value must return each(...) of the parts of all outputs (kOutParts) and saved "
                "outputs (kSavedParts)");
  static_assert(kGradients == A::gradients(),
                "pull must return each(...) with the gradient of each part of the arguments "
                "(kParts)");
};

// ---- all of them
// ----------------------------------------------------------------------------------------------

template <class Part>
// Makes the compiler look at it. NOLINTNEXTLINE(bugprone-sizeof-expression)
inline constexpr bool kHolds = sizeof(Part) > 0;

/// kHolds of a clause that not every operation has.
template <template <class> class Part, bool kIsThere, class Op>
constexpr bool holds_if() {
  if constexpr (kIsThere) {
    return kHolds<Part<Op>>;
  } else {
    return true;
  }
}

template <class Op>
constexpr bool rule_holds() {
  bool holds = kHolds<Arity<Op>>;
  if constexpr (CellRule<Op>) {
    holds = holds && kHolds<Parts<Op>> && kHolds<Cell<Op>>;
  } else if constexpr (BinaryRule<Op>) {
    holds = holds && kHolds<Elementwise<Op>> && kHolds<Slopes<Op>>;
  } else {
    holds = holds && kHolds<Elementwise<Op>> && kHolds<Slope<Op>>;
  }
  return holds;
}
template <class Op>
constexpr bool holds() {
  static_assert(HasInfo<Op>, "the operation has no kInfo");
  if constexpr (HasInfo<Op>) {
    const bool all = kHolds<Members<Op>> && kHolds<Results<Op>> && kHolds<Arguments<Op>> &&
                     kHolds<PayloadOf<Op>> && kHolds<Computing<Op>> &&
                     holds_if<Roles, requires { Op::kRoles; }, Op>() &&
                     holds_if<Optional, requires { Op::kOptional; }, Op>() &&
                     holds_if<SavedKinds, requires { Op::kSavedAs; }, Op>();
    if constexpr (Rule<Op>) {
      return all && rule_holds<Op>();
    } else {
      return all;
    }
  } else {
    return false;
  }
}

}  // namespace contract
}  // namespace dynet::ext
