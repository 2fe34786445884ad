#pragma once

// An operation's optional members, all `static constexpr` but functions and lists. Those of one
// value stand below with what they are where they are missing; the others are:
//
//   std::array kRoles{...}          Role of each argument (default stacked); variadic: the repeated
//                                   pattern
//   std::array kOptional{...}       a group of each argument: 0 is always there; those of group 1,
//                                   2 are there or absent together. A cell's rule gets rule::Absent
//                                   for their parts, forward and backward an absent operand, a
//                                   shape rule asks in.has(i). In C++ an absent argument is an
//                                   empty Expression, in Python None, in an example absent()
//   std::array kParts{...}, kOutParts{...}, kSavedParts{...}
//                                   pieces of a cell's operands
//   std::array kSavedAs{...}        SavedAs of each saved output: numbers (default) or indices
//   std::array kAlong{...}          rule::Along of each argument of a rule over rows; with
//   std::uint32_t row_axes() const  bit d: dimension d of the elements lies along the row;
//                                   ext::kWholeExample: an example is one row
//   Steps                           a list of rules over rows that forward and backward run as
//                                   steps (dynet/ops/steps.h), so that devices have their loops
//   gradient(to)                    backward in operations, for gradients of gradients
//                                   (gradient.h); that of a rule follows from its slopes
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
// Result k is argument k plus terms of this many arguments each, weights and what they multiply:
// forward and backward may be called with some of the terms, with or without the arguments before
// them (Call::part); without, forward adds, as the blocks of `out` say.
DYNET_PROPERTY(unsigned, term_args, kTermArgs, 0)
// Of such an operation, how many sums there are, where they are no results but the first saved
// outputs, which stay from one call to the other; sum k begins with argument k. Results are stored
// in the call that has the other terms.
DYNET_PROPERTY(unsigned, head_args, kHeadArgs, 0)
// Then the next arguments, so many, are the state that makes results of the sums: they are in no
// first part. Bit i of the mask: state argument i is no weight. Backward of the first part comes
// after that of the rest, and finds in the saved outputs what that left there.
DYNET_PROPERTY(unsigned, state_args, kStateArgs, 0)
DYNET_PROPERTY(std::uint32_t, state_vectors, kStateVectors, 0)
// The value is the sum of the arguments, element by element: if each has one example, a call may
// get them as the examples of one operand, in `in` and in `d_in`.
DYNET_PROPERTY(bool, adds_arguments, kAddsArguments, false)
// Results. Beyond 1: std::array<Dim, kOutputs> shapes(in) instead of shape(in).
DYNET_PROPERTY(unsigned, outputs_of, kOutputs, 1)
// Saved outputs; with std::array<Dim, kSaved> saved(in).
DYNET_PROPERTY(unsigned, saved_of, kSaved, 0)
// A rule whose values are summed over an example: y is {1}.
DYNET_PROPERTY(bool, is_summed, kSummed, false)
// The value may be -inf by definition, for example if something is left out: who looks for numbers
// that are wrong passes over it, and over -inf that comes from it.
DYNET_PROPERTY(bool, gives_minus_infinity, kMinusInfinity, false)
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
// What flows back is meant to be no derivative of the value (a step whose gradient goes straight
// through): tests compare it with nothing.
DYNET_PROPERTY(bool, has_surrogate_gradient, kSurrogateGradient, false)
// Backward adds to parts of its gradients: they are given as zeros.
DYNET_PROPERTY(bool, is_partial, kPartialGradient, false)
// Where the gradient goes: to the arguments, nowhere, to the storage, to the rows that were read.
DYNET_PROPERTY(GradientTo, gradient_goes_to, kGradientGoesTo, GradientTo::kArguments)

// ---- where and how it runs

// Reads Call::random.
DYNET_PROPERTY(bool, is_random, kRandom, false)
// The value is that of a parameter's storage, or rows of it.
DYNET_PROPERTY(Storage, reads_storage, kReadsStorage, Storage::kNone)
// Forward and backward touch numbers themselves, beside the loops of kernels.h: on a device whose
// memory the host cannot touch they get copies, which is slow, and the kernels of the CPU.
DYNET_PROPERTY(bool, computes_on_host, kOnHost, false)
#undef DYNET_PROPERTY
}  // namespace detail

template <class Op>
inline constexpr std::size_t kArgCount = detail::count_names(Op::kInfo.args);

}  // namespace dynet::ext
