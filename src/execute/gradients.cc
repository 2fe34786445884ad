#include "execute/gradients.h"

#include <algorithm>

#include "memory/layout.h"

namespace dynet::execute {

void Gradients::begin(bool keeps_memory) {
  if (!keeps_memory) {
    pools_.reset();
  }
  wastes_.clear();  // a pass that failed may have given its memory back
  pieces_.clear();
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

/// Zeros, so that it does not matter which of several operands of a call writes to it first.
Gradients::Target Gradients::begin_piece(NodeId n) {
  if (pieces_.empty()) {  // most passes have none, and need no table
    last_piece_.begin(context_.graph.size());
  }
  Entry& e = entries_[n];
  pieces_.push_back({n, e.data, last_piece_[n]});
  last_piece_.set(n, static_cast<std::uint32_t>(pieces_.size()));
  e.data = pools_.of(context_.memory(n)).allocate(context_.graph.bytes(n));
  context_.kernels(n).fill(e.data, 0.0, context_.graph.elements(n));
  e.mark = (e.mark & ~kUses) + kOneUse;
  return {e.data, false};
}

void Gradients::add_up(NodeId n) {
  Entry& e = entries_[n];
  added_up_.assign(1, e.data);
  for (std::uint32_t i = last_piece_[n]; i != 0; i = pieces_[i - 1].previous) {
    added_up_.push_back(pieces_[i - 1].data);
  }
  last_piece_.set(n, 0);
  // In pairs, the later one to the earlier one: the first piece is the memory of the node.
  std::reverse(added_up_.begin(), added_up_.end());
  const ext::Kernels& kernels = context_.kernels(n);
  for (std::size_t step = 1; step < added_up_.size(); step *= 2) {
    for (std::size_t i = 0; i + step < added_up_.size(); i += 2 * step) {
      kernels.add_scaled(1.0, added_up_[i + step], added_up_[i], context_.graph.elements(n), false);
    }
  }
  e.data = added_up_[0];
  e.mark &= ~kUses;
}

void Gradients::settle_all() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    settle(pieces_[i].node);
  }
}

}  // namespace dynet::execute
