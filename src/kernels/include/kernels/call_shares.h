#pragma once

// Calls of elementwise rules on several threads, by examples: for calls of many short runs, such as
// the parts of a cell. A call of few long runs is cut by the device's loops.

#include <cstdint>

#include "dynet/ext/info.h"

namespace dynet::ext {

/// Into how many shares a call over a box of so many elements may be cut; 1 unless each result has
/// an example for each example of the call, in a place of its own.
[[nodiscard]] unsigned shares_of_call(const Call& call, bool is_forward, std::int64_t elements);

namespace detail {
using RunPart = void (*)(const void* context, const Call& part);
void run_call_in_shares(unsigned shares, const Call& call, RunPart run, const void* context);
}  // namespace detail

/// Calls f(part) for each share; the parts have the operands of their examples.
template <class F>
void run_call_in_shares(unsigned shares, const Call& call, const F& f) {
  detail::run_call_in_shares(
      shares, call,
      [](const void* context, const Call& part) { (*static_cast<const F*>(context))(part); }, &f);
}

}  // namespace dynet::ext
