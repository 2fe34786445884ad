#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "dynet/tensor.h"

#include "graph/graph.h"

namespace dynet::execute {

/// The Tensor objects behind references handed to users: one for each node that was asked for, at a
/// stable address until `clear`. Memory is kept.
class Views {
 public:
  const Tensor& view(graph::NodeId n, const Tensor& tensor) {
    Tensor& t = tensor_of(n);
    t = tensor;
    return t;
  }
  /// Takes no time: what was handed out is told from what is handed out later by its generation.
  void clear() {
    ++generation_;
    count_ = 0;
  }

 private:
  static constexpr std::size_t kChunk = 64;
  using Chunk = std::array<Tensor, kChunk>;
  struct Slot {
    std::uint64_t generation = 0;
    graph::NodeId node = 0;
    std::uint32_t index = 0;
  };

  Tensor& tensor_of(graph::NodeId n) {
    if ((count_ + 1) * 2 > table_.size()) {
      grow();
    }
    Slot& slot = find(table_, n);
    if (slot.generation != generation_) {
      if (count_ / kChunk == chunks_.size()) {
        chunks_.push_back(std::make_unique<Chunk>());
      }
      slot = {generation_, n, static_cast<std::uint32_t>(count_++)};
    }
    return (*chunks_[slot.index / kChunk])[slot.index % kChunk];
  }
  /// The slot of `n`, or the one to be its own. Slots of other generations are empty.
  Slot& find(std::vector<Slot>& table, graph::NodeId n) const {
    const std::size_t mask = table.size() - 1;
    std::size_t i = n * std::size_t{0x9E3779B97F4A7C15} >> 20 & mask;
    while (table[i].generation == generation_ && table[i].node != n) {
      i = (i + 1) & mask;
    }
    return table[i];
  }
  void grow() {
    std::vector<Slot> larger(table_.empty() ? 64 : 2 * table_.size());
    for (const Slot& slot : table_) {
      if (slot.generation == generation_) {
        find(larger, slot.node) = slot;
      }
    }
    table_.swap(larger);
  }

  std::vector<Slot> table_;  ///< open addressing, by node
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::size_t count_ = 0;
  std::uint64_t generation_ = 1;
};

}  // namespace dynet::execute
