#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "dynet/tensor.h"

#include "graph/graph.h"

namespace dynet::execute {

/// The Tensor objects behind references handed to users: one a node, at a stable address until
/// `clear`. Memory is kept.
class Views {
 public:
  const Tensor& view(graph::NodeId n, const Tensor& tensor) {
    if (n >= slots_.size()) {
      slots_.resize(n + 1, 0);
    }
    if (slots_[n] == 0) {
      if (count_ / kChunk == tensors_.size()) {
        tensors_.push_back(std::make_unique<Chunk>());
      }
      slots_[n] = static_cast<std::uint32_t>(++count_);
    }
    const std::size_t index = slots_[n] - 1;
    Tensor& t = (*tensors_[index / kChunk])[index % kChunk];
    t = tensor;
    return t;
  }
  void clear() {
    slots_.clear();
    count_ = 0;
  }

 private:
  static constexpr std::size_t kChunk = 64;
  using Chunk = std::array<Tensor, kChunk>;
  std::vector<std::uint32_t> slots_;  ///< node -> index + 1
  std::vector<std::unique_ptr<Chunk>> tensors_;
  std::size_t count_ = 0;
};

}  // namespace dynet::execute
