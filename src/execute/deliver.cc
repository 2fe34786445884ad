// The gradients of a backward pass are added to the storages of parameters.
#include <optional>

#include "execute/backward.h"
#include "kernels/float_mode.h"
#include "params/gradient.h"
#include "util/timeline.h"

namespace dynet::execute {

/// All memory of the graph is taken before the first storage is changed. A product may still need
/// more scratch memory than its thread has had so far; if the system refuses that, some storages
/// have their gradients and others do not.
void Backward::deliver() {
  const util::Slice slice("gradients of parameters");
  const kernels::FlushDenormals float_mode;
  prepare_rows();
  for (const NodeId n : path_.parameters()) {
    deliver_parameter(n);
  }
  // In the order of the nodes, whatever the schedule was: sums do not depend on it.
  for_each_lookup([this](NodeId n) { deliver_lookup(n); });
  long_rows_.for_each([this](NodeId lookup, unsigned row, const void* gradient) {
    params::LookupGradientLock(params::lookup_storage(context_.graph[lookup].payload->storage))
        .add_row(row, gradient);
  });
  row_lists_.deliver();
}

/// Calls f for lookups with a gradient, on devices that the host sees.
template <class F>
void Backward::for_each_lookup(F f) const {
  for (const NodeId n : path_.lookups()) {
    if (gradients_.is_written(n) && context_.device(n).is_host_visible()) {
      f(n);
    }
  }
}

void Backward::prepare_rows() {
  row_lists_.begin();
  for (const NodeId n : path_.lookups()) {
    if (gradients_.is_written(n) && !context_.device(n).is_host_visible()) {
      const auto* gradient = static_cast<const std::byte*>(gradients_.ensure(n));
      for (const unsigned row : rows_of(n)) {
        row_lists_.add(n, row, gradient);
        gradient += context_.graph.example_bytes(n);
      }
    }
  }
  row_lists_.prepare();
  long_rows_.begin();
  for_each_lookup([this](NodeId n) {
    long_rows_.expect(static_cast<std::size_t>(context_.graph.examples(n)));
  });
  if (long_rows_.has_many_reads()) {
    for_each_lookup([this](NodeId n) { long_rows_.count(n, rows_of(n)); });
    for_each_lookup([this](NodeId n) { long_rows_.prepare(n, rows_of(n)); });
  }
}

void Backward::deliver_parameter(NodeId n) {
  const graph::Node& node = context_.graph[n];
  const bool has_products = products_.has(n);
  if (!gradients_.is_written(n) && !has_products) {
    return;
  }
  params::GradientLock lock(params::storage_base(node.payload->storage));
  bool fresh = lock.fresh();
  if (gradients_.is_written(n)) {  // before the products, which also say the norm of all
    context_.kernels(n).add_scaled(1.0, gradients_.ensure(n), lock.data(),
                                   context_.graph.elements(n), fresh);
    fresh = false;
  }
  std::optional<double> squared_norm;
  if (has_products) {
    const ext::Block block{lock.data(), 1, fresh};
    squared_norm = products_.add(
        context_.kernels(n), n,
        {.dim = context_.graph.dim(n), .examples = 1, .blocks = &block, .block_count = 1});
  }
  lock.written(squared_norm);
}

void Backward::deliver_lookup(NodeId n) {
  params::LookupGradientLock lock(params::lookup_storage(context_.graph[n].payload->storage));
  const std::int64_t row_bytes = context_.graph.example_bytes(n);
  const auto* gradient = static_cast<const std::byte*>(gradients_.ensure(n));
  for (const unsigned row : rows_of(n)) {
    LongRows::Sums* const sums = long_rows_.has_any() ? long_rows_.find(n, row) : nullptr;
    if (sums != nullptr) {
      sums->add(gradient);
    } else {
      lock.add_row(row, gradient);
    }
    gradient += row_bytes;
  }
}

/// The rows that forward read: the group of a lookup is one call. A call that was not kept read the
/// graph's own copy.
std::span<const unsigned> Backward::rows_of(NodeId lookup) const {
  const Assembled* call = history_.call(history_.group(values_.group_of(lookup)).begin);
  const unsigned* rows = call != nullptr ? call->host_indices() + values_.offset(lookup)
                                         : context_.graph.indices(lookup).data();
  return {rows, static_cast<std::size_t>(context_.graph.examples(lookup))};
}

}  // namespace dynet::execute
