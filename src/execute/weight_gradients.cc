#include "execute/weight_gradients.h"

namespace dynet::execute {

ext::ProductSink& WeightGradients::sink(std::uint32_t slot) {
  if (slot >= sinks_.size()) {
    sinks_.resize(slot + 1);
  }
  if (sinks_[slot] == nullptr) {
    sinks_[slot] = std::make_unique<Sink>();
  }
  Sink& sink = *sinks_[slot];
  if (sink.pass != pass_) {
    sink.pass = pass_;
    sink.clear();
  }
  return sink;
}

/// The blocks of an operand go on as columns, `columns_each` of an example.
void WeightGradients::Columns::append(const ext::Operand& o, std::int64_t columns_each) {
  all.dim = {o.dim.rows()};
  all.examples += o.examples * columns_each;
  for (std::int64_t b = 0; b < o.block_count; ++b) {
    blocks.push_back({o.blocks[b].data, o.blocks[b].examples * columns_each, false});
  }
}

void WeightGradients::Columns::clear() {
  all = {};
  blocks.clear();
}

const ext::Operand& WeightGradients::Columns::operand() {
  all.blocks = blocks.data();
  all.block_count = static_cast<std::int64_t>(blocks.size());
  return all;
}

void WeightGradients::Sink::push(const ext::Operand& dy_more, const ext::Operand& x_more) {
  const std::int64_t rows = dy_more.dim.rows();
  const std::int64_t columns_each = rows == 0 ? 0 : dy_more.size() / rows;
  dy.append(dy_more, columns_each);
  x.append(x_more, columns_each);
}

std::optional<double> WeightGradients::add(const ext::Kernels& kernels, std::uint32_t slot,
                                           const ext::Operand& destination) {
  Sink& sink = *sinks_[slot];
  return kernels.product_with_norm(sink.dy.operand(), sink.x.operand(), destination);
}

}  // namespace dynet::execute
