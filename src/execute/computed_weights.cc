#include "execute/computed_weights.h"

namespace dynet::execute {

void ComputedWeights::begin() {
  products_.begin();
  nodes_.clear();
  place_.begin(gradients_.context().graph.size());
}

ext::ProductSink& ComputedWeights::sink(NodeId n) {
  std::uint32_t place = place_[n];
  if (place == 0) {
    nodes_.push_back(n);
    place = static_cast<std::uint32_t>(nodes_.size());
    place_.set(n, place);
  }
  return products_.sink(place - 1);
}

void ComputedWeights::finish(NodeId n) {
  if (!has(n)) {
    return;
  }
  const std::uint32_t place = place_[n];
  const Context& context = gradients_.context();
  const Gradients::Target to = gradients_.target(n);
  const ext::Block block{to.data, 1, to.fresh};
  products_.add(context.kernels(n), place - 1,
                {.dim = context.graph.dim(n), .examples = 1, .blocks = &block, .block_count = 1});
  products_.drop(place - 1);
}

void ComputedWeights::finish_all() {
  for (const NodeId n : nodes_) {
    finish(n);
  }
}

}  // namespace dynet::execute
