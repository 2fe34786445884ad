#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "execute/assembly.h"
#include "execute/gradients.h"

namespace dynet::execute {

/// With DYNET_PARANOID: what the members of a call give when each is computed alone, with the same
/// inputs and random numbers, against what they give together; values and gradients. Finds
/// operations that mix what they should not, and loops that depend on where an element lies. An
/// executor has one or none. Where the host does not see the device's memory it does nothing. Not
/// thread-safe.
class Alone {
 public:
  Alone(const Context& context, const Values& values, Assembly& assembly, OperandArena& arena,
        CallMemory& memory)
      : context_(context), values_(values), assembly_(assembly), arena_(arena), memory_(memory) {}
  /// One with DYNET_PARANOID, else null.
  static std::unique_ptr<Alone> if_paranoid(const Context& context, const Values& values,
                                            Assembly& assembly, OperandArena& arena,
                                            CallMemory& memory);
  /// Before the call of a segment: computes its members one by one and remembers the results, and
  /// sums that are saved. What lay in their place lies there again afterwards.
  void compute(const SegmentView& segment);
  /// After it: GraphError that names operation, group and node where a result is another one.
  void compare(const SegmentView& segment) const;

  /// Remembers the gradients of a pass whose calls had one member each.
  void remember(const Gradients& gradients);
  /// GraphError where a pass with calls of many members gave another gradient.
  void compare(const Gradients& gradients) const;

 private:
  [[nodiscard]] bool is_of_use(const SegmentView& segment) const;
  [[nodiscard]] std::string difference(NodeId n, std::int64_t elements, const std::byte* together,
                                       const std::byte* alone) const;
  [[nodiscard]] std::string readers_of(NodeId n) const;
  template <class F>
  void for_each_result(const SegmentView& segment, F f) const;

  const Context& context_;
  const Values& values_;
  Assembly& assembly_;
  OperandArena& arena_;
  CallMemory& memory_;
  std::vector<std::byte> before_, alone_;  ///< the results of all members, one after the other
  struct Gradient {
    NodeId node;
    std::size_t at;  ///< in gradients_
  };
  std::vector<Gradient> nodes_;
  std::vector<std::byte> gradients_;
};

}  // namespace dynet::execute
