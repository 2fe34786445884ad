#include "execute/weight_gradients.h"

#include <algorithm>

namespace dynet::execute {

void WeightGradients::begin() {
  ++pass_;
  products_.clear();
  blocks_.reset();
  block_count_ = 0;
}

ext::ProductSink& WeightGradients::sink(std::uint32_t slot) {
  if (slot >= sinks_.size()) {
    sinks_.resize(slot + 1);
  }
  if (sinks_[slot] == nullptr) {
    sinks_[slot] = std::make_unique<Sink>(*this);
  }
  Sink& sink = *sinks_[slot];
  if (sink.pass != pass_) {
    sink.pass = pass_;
    sink.first = sink.last = 0;
  }
  return sink;
}

void WeightGradients::drop(std::uint32_t slot) { sinks_[slot]->first = sinks_[slot]->last = 0; }

/// The blocks of an operand as columns: {rows}, one for each example and column.
ext::Operand WeightGradients::keep(const ext::Operand& o, std::int64_t columns_each) {
  auto* blocks = static_cast<ext::Block*>(
      blocks_.allocate(sizeof(ext::Block) * static_cast<std::size_t>(o.block_count)));
  for (std::int64_t b = 0; b < o.block_count; ++b) {
    blocks[b] = {o.blocks[b].data, o.blocks[b].examples * columns_each, false};
  }
  return {.dim = {o.dim.rows()},
          .examples = o.examples * columns_each,
          .blocks = blocks,
          .block_count = o.block_count};
}

void WeightGradients::push(Sink& sink, const ext::Operand& dy, const ext::Operand& x) {
  const std::int64_t rows = dy.dim.rows();
  const std::int64_t columns_each = rows == 0 ? 0 : dy.size() / rows;
  products_.push_back({keep(dy, columns_each), keep(x, columns_each), 0});
  block_count_ += static_cast<std::size_t>(dy.block_count + x.block_count);
  const auto index = static_cast<std::uint32_t>(products_.size());
  if (sink.last == 0) {
    sink.first = index;
  } else {
    products_[sink.last - 1].next = index;
  }
  sink.last = index;
}

void WeightGradients::prepare() { joined_.resize(std::max(joined_.size(), block_count_)); }

std::optional<double> WeightGradients::add(const ext::Kernels& kernels, std::uint32_t slot,
                                           const ext::Operand& destination) {
  std::size_t dy_count = 0;
  for (std::uint32_t i = sinks_[slot]->first; i != 0; i = products_[i - 1].next) {
    dy_count += static_cast<std::size_t>(products_[i - 1].dy.block_count);
  }
  const Product& head = products_[sinks_[slot]->first - 1];
  ext::Operand dy{.dim = head.dy.dim, .blocks = joined_.data()};
  ext::Operand x{.dim = head.x.dim, .blocks = joined_.data() + dy_count};
  const auto append = [](ext::Operand& to, const ext::Operand& from) {
    auto* blocks = const_cast<ext::Block*>(to.blocks);  // they are this function's own
    std::copy_n(from.blocks, from.block_count, blocks + to.block_count);
    to.block_count += from.block_count;
    to.examples += from.examples;
  };
  for (std::uint32_t i = sinks_[slot]->first; i != 0; i = products_[i - 1].next) {
    append(dy, products_[i - 1].dy);
    append(x, products_[i - 1].x);
  }
  return kernels.product_with_norm(dy, x, destination);
}

}  // namespace dynet::execute
