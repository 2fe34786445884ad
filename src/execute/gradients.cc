#include "execute/gradients.h"

#include <algorithm>

#include "memory/layout.h"

namespace dynet::execute {

void Gradients::begin(bool keeps_memory) {
  if (!keeps_memory) {
    pools_.reset();
  }
  wastes_.clear();  // a pass that failed may have given its memory back
  constexpr std::uint32_t kManyStamps = std::uint32_t{1} << 31;
  if (current_ > ~std::uint32_t{0} - 2 * kPassStep || next_stamp_ > kManyStamps) {
    entries_.clear();  // counted to the end: starts again
    current_ = 0;
    next_stamp_ = call_ = 0;
  }
  current_ += kPassStep;
  entries_.resize(std::max<std::size_t>(entries_.size(), context_.graph.size()));
}

void* Gradients::waste(NodeId n) {
  ext::Memory& memory = context_.memory(n);
  const std::int64_t bytes = context_.graph.bytes(n);
  auto waste = std::find_if(wastes_.begin(), wastes_.end(),
                            [&](const Waste& w) { return w.memory == &memory; });
  if (waste == wastes_.end()) {
    wastes_.push_back({&memory, nullptr, -1});
    waste = wastes_.end() - 1;
  }
  if (bytes > waste->bytes) {
    waste->data = pools_.of(memory).allocate(bytes);
    waste->bytes = bytes;
  }
  return waste->data;
}

void* Gradients::make(NodeId n) {
  memory::Pool& pool = pools_.of(context_.memory(n));
  const std::uint32_t g = values_.group_of(n);
  if (g == Values::kNoGroup) {  // a parameter
    return entries_[n].data = pool.allocate(context_.graph.bytes(n));
  }
  const std::span<const NodeId> members = history_.members(g);
  const std::uint32_t output = context_.graph[n].output;
  auto* at = static_cast<std::byte*>(memory::place_output(context_.graph, members, output, pool));
  const std::int64_t stride = context_.graph.example_bytes(n);
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
  context_.kernels(n).fill(data, 0.0, context_.graph.elements(n));
  return data;
}

}  // namespace dynet::execute
