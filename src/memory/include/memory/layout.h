#pragma once

#include <cstdint>
#include <vector>

#include "memory/pool.h"
#include "schedule/plan.h"

namespace dynet::memory {

/// Where the results of one group lie: the first member's. Members follow each other.
struct Placement {
  void* outputs[ext::kMaxOutputs] = {};
  void* saved[ext::kMaxOutputs] = {};
};

/// Places all outputs and saved outputs of one group, whose nodes are no aliases. Throws
/// out_of_memory naming the operation, its shape and the bytes; the pool is then as it was.
Placement place_group(const graph::Graph& graph, std::span<const graph::NodeId> members,
                      ext::Number number, Pool& pool);

/// One block for output `output` of `members` (gradients have the layout of the values).
void* place_output(const graph::Graph& graph, std::span<const graph::NodeId> members,
                   std::uint32_t output, ext::Number number, Pool& pool);

}  // namespace dynet::memory
