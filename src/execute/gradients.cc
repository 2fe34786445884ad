// What a backward pass leaves behind: gradients of parameters added to their storages, and the
// gradients of nodes that users ask for.
#include <algorithm>
#include <optional>
#include <string>

#include "execute/deferred.h"
#include "execute/executor.h"
#include "kernels/float_mode.h"
#include "params/gradient.h"

namespace dynet::execute {
namespace {

std::int64_t columns(const ext::Operand& o) {
  const std::int64_t rows = o.dim.rows();
  return rows == 0 ? 0 : o.size() / rows;
}

}  // namespace

Executor::Executor(graph::Graph& graph, const Device& device) : graph_(graph) {
  set_device(device);
}
Executor::~Executor() = default;

/// Notes the operands as columns: {m} and {k}, one an example and column.
void Executor::Deferred::push(const ext::Operand& dy, const ext::Operand& x) {
  Executor& e = executor;
  const std::int64_t columns_each = columns(dy);
  const auto keep = [&](const ext::Operand& o) {
    auto* blocks = static_cast<ext::Block*>(
        e.product_blocks_.allocate(sizeof(ext::Block) * static_cast<std::size_t>(o.block_count)));
    for (std::int64_t b = 0; b < o.block_count; ++b) {
      blocks[b] = {o.blocks[b].data, o.blocks[b].examples * columns_each, false};
    }
    return ext::Operand{.dim = {o.dim.rows()},
                        .examples = o.examples * columns_each,
                        .blocks = blocks,
                        .block_count = o.block_count};
  };
  e.products_.push_back({keep(dy), keep(x), 0});
  const auto index = static_cast<std::uint32_t>(e.products_.size());
  if (last == 0) {
    first = index;
  } else {
    e.products_[last - 1].next = index;
  }
  last = index;
  was_pushed = true;
}

/// Adds all noted products of a parameter to `destination` as one product. Returns the squared norm
/// of the result if that came with it.
std::optional<double> Executor::add_products(std::uint32_t slot, const ext::Operand& destination) {
  std::size_t dy_count = 0;
  std::size_t x_count = 0;
  for (std::uint32_t i = deferred_[slot]->first; i != 0; i = products_[i - 1].next) {
    dy_count += static_cast<std::size_t>(products_[i - 1].dy.block_count);
    x_count += static_cast<std::size_t>(products_[i - 1].x.block_count);
  }
  flush_blocks_.resize(dy_count + x_count);
  const Product& head = products_[deferred_[slot]->first - 1];
  ext::Operand dy{.dim = head.dy.dim, .blocks = flush_blocks_.data()};
  ext::Operand x{.dim = head.x.dim, .blocks = flush_blocks_.data() + dy_count};
  const auto append = [](ext::Operand& to, const ext::Operand& from) {
    auto* blocks = const_cast<ext::Block*>(to.blocks);  // they are this function's own
    std::copy_n(from.blocks, from.block_count, blocks + to.block_count);
    to.block_count += from.block_count;
    to.examples += from.examples;
  };
  for (std::uint32_t i = deferred_[slot]->first; i != 0; i = products_[i - 1].next) {
    append(dy, products_[i - 1].dy);
    append(x, products_[i - 1].x);
  }
  return kernels().product_with_norm(dy, x, destination);
}

void Executor::flush() {
  const kernels::FlushDenormals float_mode;
  for (std::uint32_t slot = 0; slot < graph_.storages().size(); ++slot) {
    flush_parameter(slot);
  }
  // In the order of the nodes, whatever the schedule was: sums do not depend on it.
  std::sort(lookups_.begin(), lookups_.end());
  for (const NodeId n : lookups_) {
    if (is_trained(n)) {
      flush_lookup(n);
    }
  }
}

void Executor::flush_parameter(std::uint32_t slot) {
  const graph::StorageUse& use = graph_.storages()[slot];
  if (use.first >= flags_.size() || graph_[use.first].record().leaf != ext::Leaf::kParameter) {
    return;
  }
  if (!is_trained(use.first)) {
    return;
  }  // its gradient was asked for, as that of any node
  const bool direct = (flags_[use.first] & kWritten) != 0;
  const bool products = deferred_[slot]->first != 0;
  if (!direct && !products) {
    return;
  }
  params::GradientLock lock(params::storage_base(use.storage.get()));
  bool fresh = lock.fresh();
  if (direct) {
    kernels().add_scaled(1.0, gradients_[use.first], lock.data(), graph_.elements(use.first),
                         fresh);
    fresh = false;
  }
  std::optional<double> squared_norm;
  if (products) {
    const ext::Block block{lock.data(), 1, fresh};
    squared_norm = add_products(
        slot, {.dim = graph_.dim(use.first), .examples = 1, .blocks = &block, .block_count = 1});
  }
  lock.written(squared_norm);
}

void Executor::flush_lookup(NodeId n) {
  params::LookupGradientLock lock(params::lookup_storage(graph_[n].payload->storage));
  const std::int64_t row_bytes = example_bytes(n);
  const auto* gradient = static_cast<const std::byte*>(gradients_[n]);
  for (const unsigned index : graph_.indices(n)) {
    lock.add_row(index, gradient);
    gradient += row_bytes;
  }
}

const Tensor& Executor::gradient(NodeId n) {
  if (!has_gradients_) {
    throw GraphError("gradient: no backward was run since the graph was last computed\n  " +
                     graph_.describe(n));
  }
  if (n > last_root_) {
    throw GraphError("gradient: the node was made after the one that backward started from (node " +
                     std::to_string(last_root_) + ")\n  " + graph_.describe(n));
  }
  if (graph_[n].record().leaf == ext::Leaf::kParameter) {
    finish_parameter_gradient(n);
  }
  if ((flags_[n] & kWritten) == 0) {
    if (gradients_[n] == nullptr) {
      gradients_[n] = gradients_pool_.allocate(bytes(graph_.elements(n)));
    }
    kernels().fill(gradients_[n], 0.0, graph_.elements(n));
    flags_[n] |= kWritten;
  }
  return gradient_views_.view(n, tensor(n, gradients_[n]));
}

/// Makes real what was deferred for a parameter's node. One of several nodes of one parameter has
/// had no gradient of its own so far: a second pass, which adds nothing to the storages, computes
/// all of them.
void Executor::finish_parameter_gradient(NodeId n) {
  const std::uint32_t slot = graph_[n].payload->storage_slot;
  if (pass_ == Pass::kInspect) {
    return;
  }
  if (graph_.storages()[slot].nodes > 1) {
    run_backward(last_root_, last_full_, Pass::kInspect);
    return;
  }
  if (deferred_[slot]->first == 0) {
    return;
  }
  const ext::Block block{ensure_gradient(n), 1, (flags_[n] & kWritten) == 0};
  add_products(slot, {.dim = graph_.dim(n), .examples = 1, .blocks = &block, .block_count = 1});
  flags_[n] |= kWritten;
  deferred_[slot]->clear();
}

}  // namespace dynet::execute
