// The gradients of a backward pass are added to the storages of parameters.
#include <optional>

#include "execute/backward.h"
#include "kernels/float_mode.h"
#include "params/gradient.h"
#include "util/timeline.h"

namespace dynet::execute {

/// Nothing may throw once the first storage was changed: all memory is taken before.
void Backward::deliver() {
  const util::Slice slice("gradients of parameters");
  const kernels::FlushDenormals float_mode;
  for (const NodeId n : path_.parameters()) {
    deliver_parameter(n);
  }
  // In the order of the nodes, whatever the schedule was: sums do not depend on it.
  for (const NodeId n : path_.lookups()) {
    if (gradients_.is_written(n)) {
      deliver_lookup(n);
    }
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
  // The rows that forward read: the group of a lookup is one call. A call that was not kept read
  // the graph's own copy.
  const Assembled* call = history_.call(history_.group(values_.group_of(n)).begin);
  const unsigned* rows =
      call != nullptr ? call->host_indices() + values_.offset(n) : context_.graph.indices(n).data();
  for (std::int64_t e = 0; e < context_.graph.examples(n); ++e) {
    lock.add_row(rows[e], gradient);
    gradient += row_bytes;
  }
}

}  // namespace dynet::execute
