#include "execute/gradients.h"

#include <algorithm>

#include "memory/layout.h"

namespace dynet::execute {

void Gradients::begin(bool keeps_memory) {
  if (!keeps_memory) {
    pool_.reset();
  }
  waste_bytes_ = 0;  // a pass that failed may have given its memory back
  constexpr std::uint32_t kManyStamps = std::uint32_t{1} << 31;
  if (current_ > ~std::uint32_t{0} - 2 * kPassStep || next_stamp_ > kManyStamps) {
    entries_.clear();  // counted to the end: starts again
    current_ = 0;
    next_stamp_ = call_ = 0;
  }
  current_ += kPassStep;
  entries_.resize(std::max<std::size_t>(entries_.size(), context_.graph.size()));
}

void* Gradients::waste(std::int64_t bytes) {
  if (bytes > waste_bytes_) {
    waste_ = pool_.allocate(bytes);
    waste_bytes_ = bytes;
  }
  return waste_;
}

void* Gradients::make(NodeId n) {
  const std::uint32_t g = values_.group_of(n);
  if (g == Values::kNoGroup) {  // a parameter
    return entries_[n].data = pool_.allocate(context_.bytes(context_.graph.elements(n)));
  }
  const std::span<const NodeId> members = history_.members(g);
  const std::uint32_t output = context_.graph[n].output;
  auto* at = static_cast<std::byte*>(
      memory::place_output(context_.graph, members, output, context_.number(), pool_));
  const std::int64_t stride = context_.example_bytes(n);
  Entry* const entries = entries_.data();
  const graph::Node* const nodes = &context_.graph[0];
  for (const NodeId m : members) {
    if (!is_noted(m + output)) {
      note(m + output, false, false);
    }
    entries[m + output].data = at;
    at += stride * nodes[m + output].examples;
  }
  return entries_[n].data;
}

void* Gradients::zero(NodeId n) {
  void* data = target(n).data;
  context_.kernels().fill(data, 0.0, context_.graph.elements(n));
  return data;
}

}  // namespace dynet::execute
