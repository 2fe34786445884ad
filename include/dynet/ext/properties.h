#pragma once

// An operation's optional members, with their defaults.

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
DYNET_PROPERTY(bool, is_variadic, kVariadic, false)
DYNET_PROPERTY(Payload, payload_of, kPayload, Payload::kNone)
DYNET_PROPERTY(IndicesPer, indices_per, kIndicesPer, IndicesPer::kExample)
DYNET_PROPERTY(unsigned, outputs_of, kOutputs, 1)
DYNET_PROPERTY(unsigned, saved_of, kSaved, 0)
DYNET_PROPERTY(bool, is_summed, kSummed, false)
DYNET_PROPERTY(bool, is_alias, kAliases, false)
DYNET_PROPERTY(bool, stops_gradient, kStopsGradient, false)
DYNET_PROPERTY(bool, has_surrogate_gradient, kSurrogateGradient, false)
DYNET_PROPERTY(bool, is_partial, kPartialGradient, false)
DYNET_PROPERTY(bool, is_random, kRandom, false)
DYNET_PROPERTY(unsigned, term_args, kTermArgs, 0)
DYNET_PROPERTY(bool, adds_arguments, kAddsArguments, false)
DYNET_PROPERTY(bool, payload_is_value, kPayloadIsValue, false)
DYNET_PROPERTY(bool, computes_on_host, kOnHost, false)
DYNET_PROPERTY(Storage, reads_storage, kReadsStorage, Storage::kNone)
DYNET_PROPERTY(GradientTo, gradient_goes_to, kGradientGoesTo, GradientTo::kArguments)
#undef DYNET_PROPERTY
}  // namespace detail

template <class Op>
inline constexpr std::size_t kArgCount = detail::count_names(Op::kInfo.args);

}  // namespace dynet::ext
