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
    return {static_cast<unsigned>(first.example_elements() / rule.parts[0])};
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
template <ext::Direction kDirection, class Streams>
void list_streams(Streams& to, const ext::RuleInfo& rule, const ext::Call& call) {
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    to.read(call.in[i], rule.parts[i]);
  }
  if (rule.has_scalar) {
    to.read(call.values, 1);
  }
  const auto add_result = [&](const ext::Operand& o, unsigned parts) {
    if constexpr (kDirection == ext::Direction::kForward) {
      to.write(o, parts);
    } else {
      to.read(o, parts);
    }
  };
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    add_result(call.out[i], rule.out_parts[i]);
  }
  for (std::size_t i = 0; i < call.saved.size(); ++i) {
    add_result(call.saved[i], rule.saved_parts[i]);
  }
  if constexpr (kDirection == ext::Direction::kBackward) {
    for (std::size_t i = 0; i < call.d_out.size(); ++i) {
      to.read(call.d_out[i], rule.out_parts[i]);
    }
    for (std::size_t i = 0; i < call.d_in.size(); ++i) {
      to.write(call.d_in[i], rule.parts[i]);
    }
  }
}

}  // namespace dynet::kernels
