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
  gradients_.begin_write();
  const Gradients::Target to = gradients_.target(n);
  finish_into(n, to.data, to.fresh);
}

void ComputedWeights::finish_into(NodeId n, void* data, bool fresh) {
  const std::uint32_t place = place_[n];
  const Context& context = gradients_.context();
  const ext::Block block{data, 1, fresh};
  products_.add(context.kernels(n), place - 1,
                {.dim = context.graph.dim(n), .examples = 1, .blocks = &block, .block_count = 1});
  products_.drop(place - 1);
}

bool ComputedWeights::finish_times(NodeId n, const ext::Operand& factor, const ext::Block& to) {
  const std::uint32_t place = place_[n];
  const Context& context = gradients_.context();
  const bool is_done = products_.add_times(
      context.kernels(n), place - 1, factor,
      {.dim = context.graph.dim(n), .examples = 1, .blocks = &to, .block_count = 1});
  if (is_done) {
    products_.drop(place - 1);
  }
  return is_done;
}

void ComputedWeights::finish_all() {
  for (const NodeId n : nodes_) {
    if (n != kLeft) {
      finish(n);
    }
  }
}

}  // namespace dynet::execute
