#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dynet/ext/info.h"

#include "graph/seen.h"
#include "schedule/plan.h"

namespace dynet::execute {

using graph::NodeId;

/// A segment of a plan with its members at hand: what one kernel call computes.
struct SegmentView {
  std::span<const NodeId> members;
  std::uint64_t shared = 0;                 ///< bit a: argument a is one storage for all members
  std::uint64_t args = schedule::kAllArgs;  ///< bit a: argument a is read
  schedule::Part part = schedule::Part::kWhole;

  [[nodiscard]] bool is_shared(std::uint32_t arg) const {
    return arg < schedule::kMaxMaskedArgs && ((shared >> arg) & 1) != 0;
  }
  [[nodiscard]] bool reads(std::uint32_t arg) const { return schedule::is_read(args, arg); }
};

/// Whether `holds` is true for one of the nodes. Most lists have one node, or begin with such a
/// node: std::any_of, which looks at four nodes at a time, costs more.
template <class Holds>
[[nodiscard]] bool has_any(std::span<const NodeId> nodes, Holds holds) {
  for (const NodeId n : nodes) {
    if (holds(n)) {
      return true;
    }
  }
  return false;
}

/// Whether a kernel call computes a node: not where it shows its argument's memory, is copied from
/// another device, or is a number of the program that the host can write.
[[nodiscard]] inline bool needs_call(const graph::Node& node) {
  const ext::Record& record = node.record();
  return !record.aliases && node.signature->from == nullptr &&
         !(record.payload_is_value && node.device().is_host_visible());
}

/// What a call reads as one operand.
struct Argument {
  std::uint32_t index = 0;        ///< among the arguments that the nodes list
  std::span<const NodeId> nodes;  ///< that its operand is made of; none: it is absent
};

/// A call with its operands, and the nodes they are made of.
struct Assembled {
  ext::Call call;
  std::span<const Argument> arguments;  ///< one for each operand of `call.in`
  // Payload where the host reads it; what the call itself points to is the device's.
  const std::byte* indices = nullptr;
  const std::byte* values = nullptr;

  [[nodiscard]] const unsigned* host_indices() const {
    return reinterpret_cast<const unsigned*>(indices);
  }
};

}  // namespace dynet::execute
