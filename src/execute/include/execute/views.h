#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "dynet/tensor.h"

#include "graph/graph.h"
#include "util/index_table.h"
#include "util/reserve.h"

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
  void clear() {
    table_.clear();
    nodes_.clear();
  }

 private:
  static constexpr std::size_t kChunk = 64;
  using Chunk = std::array<Tensor, kChunk>;

  Tensor& tensor_of(graph::NodeId n) {
    const std::uint64_t hash = n * std::uint64_t{0x9E3779B97F4A7C15} >> 20;
    std::uint32_t index = table_.find(hash, [&](std::uint32_t i) { return nodes_[i] == n; });
    if (index == util::IndexTable::kNone) {
      index = static_cast<std::uint32_t>(nodes_.size());
      if (index / kChunk == chunks_.size()) {
        chunks_.push_back(std::make_unique<Chunk>());
      }
      util::reserve_more(nodes_, 1);
      table_.insert(hash, index);
      nodes_.push_back(n);
    }
    return (*chunks_[index / kChunk])[index % kChunk];
  }

  util::IndexTable table_;            ///< by node
  std::vector<graph::NodeId> nodes_;  ///< that were asked for
  std::vector<std::unique_ptr<Chunk>> chunks_;
};

}  // namespace dynet::execute
