#pragma once

#include "dynet/ext/memory.h"
#include "dynet/ext/op.h"

namespace dynet::kernels {

/// Whether the start of a loop costs more than a walk over blocks: on devices that the host does
/// not see. There, operations take a list in one call, and pack no operands.
[[nodiscard]] inline bool starts_cost(const ext::Call& call) {
  return call.memory != nullptr && !call.memory->memory().is_host_visible();
}

}  // namespace dynet::kernels
