#include "execute/products.h"

namespace dynet::execute {

ext::ProductSink& Products::sink(NodeId weight, bool is_computed) {
  std::uint32_t place = place_[weight];
  if (place == 0) {
    weights_.push_back(weight);
    place = static_cast<std::uint32_t>(weights_.size());
    if (place > sinks_.size()) {
      sinks_.push_back(std::make_unique<Sink>());
    }
    sinks_[place - 1]->clear();
    place_.set(weight, place);
    has_computed_ = has_computed_ || is_computed;
  }
  return *sinks_[place - 1];
}

/// The blocks of an operand go on as columns, `columns_each` of an example.
void Products::Columns::append(const ext::Operand& o, std::int64_t columns_each) {
  all.dim.d[0] = o.dim.rows();
  all.dim.nd = 1;
  all.examples += o.examples * columns_each;
  for (std::int64_t b = 0; b < o.block_count; ++b) {
    blocks.push_back({o.blocks[b].data, o.blocks[b].examples * columns_each, false});
  }
}

void Products::Columns::clear() {
  all = {};
  blocks.clear();
}

const ext::Operand& Products::Columns::operand() {
  all.blocks = blocks.data();
  all.block_count = static_cast<std::int64_t>(blocks.size());
  return all;
}

void Products::Sink::push(const ext::Operand& dy_more, const ext::Operand& x_more) {
  const std::int64_t rows = dy_more.dim.rows();
  const std::int64_t columns_each = rows == 0 ? 0 : dy_more.size() / rows;
  dy.append(dy_more, columns_each);
  x.append(x_more, columns_each);
}

std::optional<double> Products::add(const ext::Kernels& kernels, NodeId weight,
                                    const ext::Operand& destination) {
  Sink& sink = *sinks_[place_[weight] - 1];
  return kernels.product_with_norm(sink.dy.operand(), sink.x.operand(), destination);
}

}  // namespace dynet::execute
