#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "execute/context.h"
#include "execute/gradients.h"
#include "execute/operand_arena.h"
#include "execute/values.h"

namespace dynet::execute {

/// Runs the nodes that copy their argument to another device (graph/to_device.h): forward from the
/// argument's device to the node's, backward from the node's to the argument's. The numbers are
/// converted where the devices have different types. What lies side by side on both devices goes in
/// one copy.
///
/// This is the only place where one device waits for another: ext::Memory::copy_to waits for what
/// was queued on the device that is read, and what is queued on the other one keeps its order. Not
/// thread-safe.
class DeviceCopies {
 public:
  DeviceCopies(const Context& context, const Values& values, Gradients& gradients,
               CallMemory& memory)
      : context_(context), values_(values), gradients_(gradients), memory_(memory) {}

  /// The values of nodes, of one group.
  void forward(std::span<const NodeId> members);
  /// Stores or adds the gradients of their arguments; those of the nodes were written.
  void backward(std::span<const NodeId> active);

 private:
  /// Numbers side by side, on both devices.
  struct Run {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::int64_t elements = 0;
    bool fresh = true;
  };
  /// Joins runs of one call and copies them.
  class Joiner;
  void copy(const Device& from, const void* data, const Device& to, void* out,
            std::int64_t elements);
  void add(const Device& from, const void* data, const Device& to, void* out,
           std::int64_t elements);

  const Context& context_;
  const Values& values_;
  Gradients& gradients_;
  CallMemory& memory_;
  std::vector<std::byte> read_;       ///< from the one device, on its way through the host
  std::vector<std::byte> converted_;  ///< to the numbers of the other
};

}  // namespace dynet::execute
