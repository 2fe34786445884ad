#pragma once

#include <span>

#include "execute/context.h"
#include "execute/operand_arena.h"
#include "execute/payload.h"
#include "execute/segment.h"
#include "execute/values.h"

namespace dynet::execute {

/// Makes calls: from the members of a segment to the operands that one kernel call reads and
/// writes, all but gradients. A call lies in the arena and lives until that is released. Not
/// thread-safe.
class Assembly {
 public:
  Assembly(const Context& context, const Values& values, OperandArena& arena, CallPayload& payload,
           CallMemory& memory)
      : context_(context), values_(values), arena_(arena), payload_(payload), memory_(memory) {}

  /// The call of a segment, forward.
  Assembled* call(const SegmentView& segment);
  /// A call of some members of a segment, whose own call was `whole`: for backward.
  Assembled* part(const SegmentView& segment, std::span<const NodeId> active,
                  const Assembled& whole);

 private:
  Assembled* operands(const SegmentView& segment);
  std::span<const Argument> list_arguments(const SegmentView& segment);
  std::span<const Argument> list_optional(const SegmentView& segment);
  std::span<const NodeId> argument_nodes(const SegmentView& segment, std::uint32_t arg);
  ext::Operand stacked(std::span<const NodeId> nodes, bool by_columns);
  ext::Operand output(const SegmentView& segment, std::uint32_t index);
  ext::Operand saved(std::span<const NodeId> members, std::uint32_t index);

  const Context& context_;
  const Values& values_;
  OperandArena& arena_;
  CallPayload& payload_;
  CallMemory& memory_;
};

}  // namespace dynet::execute
