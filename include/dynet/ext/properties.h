#pragma once

// An operation's optional members, all `static constexpr` but functions and lists. Members of one
// value stand below with their defaults; the others are:
//
//   std::array kRoles{...}          Role of each argument (default stacked); variadic: the repeated
//                                   pattern
//   std::array kOptional{...}       a group of each argument: 0 is always there; arguments of group
//                                   1 or 2 are there or absent together. A cell's rule gets
//                                   rule::Absent for their parts, forward and backward an absent
//                                   operand, a shape rule asks in.has(i). In C++ an absent argument
//                                   is an empty Expression, in Python None, in an example absent()
//   std::array kParts{...}, kOutParts{...}, kSavedParts{...}
//                                   pieces of a cell's operands
//   std::array kSavedAs{...}        SavedAs of each saved output: numbers (default) or indices
//   std::array kAlong{...}          rule::Along of each argument of a rule over rows; with
//   std::uint32_t row_axes() const  bit d: dimension d of the elements lies along the row;
//                                   ext::kWholeExample: an example is one row
//   Steps                           a list of rules over rows that forward and backward run as
//                                   steps (dynet/ops/steps.h), so that devices have their loops
//   gradient(to)                    the gradients, in operations (gradient.h): for gradients of
//                                   gradients, and run in place of a backward (gradient_run.h); a
//                                   rule has it by its slopes
//   Dim shape(in) const             the result's shape, a function of `in` and the members alone:
//                                   asked for each new signature, and for other shapes too, to find
//                                   the lengths of lists; an exception is an answer then
//   bool by_columns(i, x) const     whether column j of the result needs column j alone of argument
//                                   i, whose shape is x; of other arguments it needs all. A column
//                                   is an element of the last dimension, or of the last ones. Then
//                                   nodes with columns in different numbers run together. Rules
//                                   have it by themselves
//   bool is_trainable()             whether the storage is trained through this node
//   unsigned index_limit(in)        exclusive bound of the indices in the payload

#include <array>
#include <cstddef>
#include <string_view>

#include "dynet/ext/info.h"

namespace dynet::ext {

namespace detail {
template <std::size_t kN>
constexpr std::size_t count_names(const std::array<std::string_view, kN>& names) {
  std::size_t n = 0;
  while (n < kN && !names[n].empty()) {
    ++n;
  }
  return n;
}
#define DYNET_PROPERTY(type, name, member, otherwise) \
  template <class Op>                                 \
  constexpr type name() {                             \
    if constexpr (requires { Op::member; }) {         \
      return Op::member;                              \
    } else {                                          \
      return otherwise;                               \
    }                                                 \
  }

// ---- arguments and results

// Any number of arguments >= 1.
DYNET_PROPERTY(bool, is_variadic, kVariadic, false)
// Result k is argument k plus terms of this many arguments each, weights and their factors. Forward
// and backward may be called with some of the terms, with or without the arguments before them
// (Call::part); without, forward adds, as the blocks of `out` say. Example: affine_transform({b, W,
// x, V, h}) has terms of two arguments, and W x may be computed before h is known.
DYNET_PROPERTY(unsigned, term_args, kTermArgs, 0)
// The number of sums of such an operation, if the sums are saved outputs and not results; saved
// outputs stay from one call to the other. Sum k begins with argument k. The call with the other
// terms stores the results.
DYNET_PROPERTY(unsigned, head_args, kHeadArgs, 0)
// The number of next arguments that are the state, with which results are made of the sums: no
// first part has them. Bit i of the mask: state argument i is no weight. Backward of the first part
// runs after backward of the rest, and reads the numbers that the rest left in the saved outputs.
DYNET_PROPERTY(unsigned, state_args, kStateArgs, 0)
DYNET_PROPERTY(std::uint32_t, state_vectors, kStateVectors, 0)
// The value is the sum of the arguments, element by element: if each has one example, a call may
// get them as the examples of one operand, in `in` and in `d_in`.
DYNET_PROPERTY(bool, adds_arguments, kAddsArguments, false)
// The number of results. Beyond 1: std::array<Dim, kOutputs> shapes(in) instead of shape(in).
DYNET_PROPERTY(unsigned, outputs_of, kOutputs, 1)
// The number of saved outputs; with std::array<Dim, kSaved> saved(in).
DYNET_PROPERTY(unsigned, saved_of, kSaved, 0)
// A rule whose values are summed over an example: y is {1}.
DYNET_PROPERTY(bool, is_summed, kSummed, false)
// The value may be -inf by definition, as for a masked element: find_nan passes over such values,
// and over -inf that follows from them.
DYNET_PROPERTY(bool, gives_minus_infinity, kMinusInfinity, false)
// Forward adds to a result whose blocks are not fresh, as the loops of kernels.h do unless they are
// told to store. A gradient(to) that ends in such an operation needs no scratch memory. Rules do.
DYNET_PROPERTY(bool, forward_adds, kForwardAdds, false)
// The value is the argument's memory (reshape).
DYNET_PROPERTY(bool, is_alias, kAliases, false)

// ---- payload

// kIndices or kValues per node: never part of the identity, only their count. Any number of either:
// shape() checks in.payload().
DYNET_PROPERTY(Payload, payload_of, kPayload, Payload::kNone)
// kExample: each example of the result has index_count() indices (a function; default 1), given
// once for all or once per example, so that a longer list makes a batch. kNode: one list of any
// length, whatever the batch.
DYNET_PROPERTY(IndicesPer, indices_per, kIndicesPer, IndicesPer::kExample)
// The value is the payload (kValues): the library writes it.
DYNET_PROPERTY(bool, payload_is_value, kPayloadIsValue, false)

// ---- gradients

// Nothing flows back (nobackprop).
DYNET_PROPERTY(bool, stops_gradient, kStopsGradient, false)
// The gradient is no derivative of the value on purpose (a step whose gradient goes straight
// through): tests do not compare it with differences.
DYNET_PROPERTY(bool, has_surrogate_gradient, kSurrogateGradient, false)
// Backward adds to parts of its gradients: they are given as zeros.
DYNET_PROPERTY(bool, is_partial, kPartialGradient, false)
// The receiver of the gradient: the arguments, none, the storage, the rows that were read.
DYNET_PROPERTY(GradientTo, gradient_goes_to, kGradientGoesTo, GradientTo::kArguments)

// ---- where and how it runs

// Reads Call::random.
DYNET_PROPERTY(bool, is_random, kRandom, false)
// For training alone, as dropout and noise: within an Evaluating scope (evaluating.h) the result is
// the first argument itself, whose shape it has, and no node is made.
DYNET_PROPERTY(bool, is_for_training, kForTraining, false)
// The value is a parameter's storage, or rows of it.
DYNET_PROPERTY(Storage, reads_storage, kReadsStorage, Storage::kNone)
// Forward and backward touch numbers themselves, beside the loops of kernels.h: on a device whose
// memory the host cannot touch they get copies, which is slow, and the kernels of the CPU.
DYNET_PROPERTY(bool, computes_on_host, kOnHost, false)
#undef DYNET_PROPERTY
}  // namespace detail

template <class Op>
inline constexpr std::size_t kArgCount = detail::count_names(Op::kInfo.args);

}  // namespace dynet::ext
