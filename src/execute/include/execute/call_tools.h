#pragma once

#include "execute/assembly.h"
#include "execute/context.h"
#include "execute/operand_arena.h"
#include "execute/payload.h"
#include "execute/upload.h"
#include "execute/values.h"

namespace dynet::execute {

/// The parts that make calls, of which forward and backward use the same ones. Owns the memory of
/// calls. Not thread-safe.
struct CallTools {
  CallTools(const Context& context, const Values& values)
      : payload(context, arena, upload),
        memory(*context.graph.device().memory),
        assembly(context, values, arena, payload, memory) {}
  CallTools(const CallTools&) = delete;
  CallTools& operator=(const CallTools&) = delete;
  ~CallTools() = default;

  OperandArena arena;
  Upload upload;
  CallPayload payload;
  CallMemory memory;
  Assembly assembly;
};

}  // namespace dynet::execute
