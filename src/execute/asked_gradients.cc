// Gradients that users ask for after a backward pass. Products that the pass left are done first,
// or a second pass computes gradients that the first one never had.
#include <string>

#include "dynet/except.h"

#include "execute/backward.h"

namespace dynet::execute {

const Tensor& Backward::gradient(NodeId n) {
  const graph::Graph& graph = context_.graph;
  if (!request_.is_valid) {
    throw errors::GraphError("gradient: no backward was run since the graph was last computed\n  " +
                             graph.describe(n));
  }
  if (n > request_.root) {
    throw errors::GraphError(
        "gradient: the node was made after the one that backward started from (node " +
        std::to_string(request_.root) + ")\n  " + graph.describe(n));
  }
  if (request_.done == Pass::kNone) {
    inspect();
  } else if (graph[n].record().gradient_goes_to == ext::GradientTo::kStorage) {
    finish_gradient_of_parameter(n);
  }
  return views_.view(n, context_.tensor(n, gradients_.ensure_true(n)));
}

/// A pass that adds nothing to the storages and computes every node's own gradient.
void Backward::inspect() {
  request_.done = Pass::kNone;
  const memory::Pools::Mark before = gradients_.pools().mark();
  const Hooks::Request request(hooks_, true);
  try {
    walk(request_.root, request_.full, Pass::kInspect);
  } catch (...) {  // another one may be tried
    gradients_.pools().release(before);
    throw;
  }
  request_.done = Pass::kInspect;
}

/// Does the products that were left for the end of the pass. One of several nodes of a parameter
/// has had no gradient of its own so far.
void Backward::finish_gradient_of_parameter(NodeId n) {
  const std::uint32_t slot = context_.graph[n].payload->storage_slot;
  if (request_.done == Pass::kInspect) {
    return;
  }
  if (context_.graph.storages()[slot].nodes > 1) {
    inspect();
    return;
  }
  if (!products_.has(n)) {
    return;
  }
  const ext::Block block{gradients_.ensure(n), 1, !gradients_.is_written(n)};
  products_.add(context_.kernels(n), n,
                {.dim = context_.graph.dim(n), .examples = 1, .blocks = &block, .block_count = 1});
  gradients_.set_written(n);
  products_.drop(n);
}

}  // namespace dynet::execute
