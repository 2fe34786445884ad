#pragma once

// The operands of a rule's call, in the order of its streams.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dynet/dim.h"
#include "dynet/ext/op.h"
#include "dynet/ext/operand.h"

namespace dynet::kernels {

/// The elements of the rule's loop: the arguments' common shape, or one part of a cell.
inline Dim box_of(const ext::RuleInfo& rule, const ext::Call& call) {
  const Dim& first = call.in[0].dim;
  const std::size_t n = call.in.size();
  const bool has_parts = std::any_of(rule.parts, rule.parts + n, [](auto p) { return p > 1; });
  if (has_parts) {
    std::int64_t elements = 1;
    for (unsigned k = 0; k < first.nd; ++k) {
      elements *= first.d[k];
    }
    return {static_cast<unsigned>(elements / rule.parts[0])};
  }
  Dim box = first;
  for (std::size_t i = 1; i < n; ++i) {
    const Dim& d = call.in[i].dim;
    box.nd = std::max(box.nd, d.nd);
    for (unsigned k = 0; k < d.nd; ++k) {
      if (box.d[k] == 1) {
        box.d[k] = d.d[k];
      }
    }
  }
  return box;
}

/// Calls to.read(operand, parts) and to.write(operand, parts), all inputs first.
template <class Streams>
void list_arguments(Streams& to, const ext::RuleInfo& rule, const ext::Call& call) {
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    to.read(call.in[i], rule.parts[i]);
  }
  if (rule.has_scalar) {
    to.read(call.values, 1);
  }
}
template <class Streams>
void list_forward(Streams& to, const ext::RuleInfo& rule, const ext::Call& call) {
  list_arguments(to, rule, call);
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    to.write(call.out[i], rule.out_parts[i]);
  }
  for (std::size_t i = 0; i < call.saved.size(); ++i) {
    to.write(call.saved[i], rule.saved_parts[i]);
  }
}
template <class Streams>
void list_backward(Streams& to, const ext::RuleInfo& rule, const ext::Call& call) {
  list_arguments(to, rule, call);
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    to.read(call.out[i], rule.out_parts[i]);
  }
  for (std::size_t i = 0; i < call.saved.size(); ++i) {
    to.read(call.saved[i], rule.saved_parts[i]);
  }
  for (std::size_t i = 0; i < call.d_out.size(); ++i) {
    to.read(call.d_out[i], rule.out_parts[i]);
  }
  for (std::size_t i = 0; i < call.d_in.size(); ++i) {
    to.write(call.d_in[i], rule.parts[i]);
  }
}

template <ext::Direction kDirection, class Streams>
void list_streams(Streams& to, const ext::RuleInfo& rule, const ext::Call& call) {
  if constexpr (kDirection == ext::Direction::kForward) {
    list_forward(to, rule, call);
  } else {
    list_backward(to, rule, call);
  }
}

}  // namespace dynet::kernels
