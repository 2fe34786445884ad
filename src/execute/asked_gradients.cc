// Gradients that users ask for after a backward pass. What the pass left for its end is made true
// first, or a second pass computes what the first one never had.
#include <string>

#include "execute/executor.h"
#include "execute/reading.h"

namespace dynet::execute {

const Tensor& Executor::gradient(NodeId n) {
  const graph::Graph& graph = context_.graph;
  if (!request_.is_valid) {
    throw GraphError("gradient: no backward was run since the graph was last computed\n  " +
                     graph.describe(n));
  }
  if (n > request_.root) {
    throw GraphError("gradient: the node was made after the one that backward started from (node " +
                     std::to_string(request_.root) + ")\n  " + graph.describe(n));
  }
  if (request_.done == Pass::kNone) {
    inspect();
  } else if (graph[n].record().gradient_goes_to == ext::GradientTo::kStorage) {
    finish_gradient_of_parameter(n);
  }
  return gradient_views_.view(n, context_.tensor(n, gradients_.ensure_true(n)));
}

void Executor::refuse_old(NodeId root, std::span<const NodeId> path) {
  const Reading reading(context_.graph);
  values_.grow();
  changes_.begin_backward(root);
  for (std::size_t i = 0; changes_.has_any() && i < path.size(); ++i) {
    changes_.refuse_old(path[i], "gradient");
  }
}

/// A pass that adds nothing to the storages and computes every node's own gradient.
void Executor::inspect() {
  request_.done = Pass::kNone;
  const memory::Pools::Mark before = gradients_.pools().mark();
  const Hooks::Request request(hooks_, true);
  try {
    run_backward(request_.root, request_.full, Pass::kInspect);
  } catch (...) {  // another one may be tried
    gradients_.pools().release(before);
    give_back_unused();
    throw;
  }
  request_.done = Pass::kInspect;
}

/// Makes true what was left for the end of the pass. One of several nodes of a parameter has had no
/// gradient of its own so far.
void Executor::finish_gradient_of_parameter(NodeId n) {
  const std::uint32_t slot = context_.graph[n].payload->storage_slot;
  if (request_.done == Pass::kInspect) {
    return;
  }
  if (context_.graph.storages()[slot].nodes > 1) {
    inspect();
    return;
  }
  if (!weights_.has(slot)) {
    return;
  }
  const ext::Block block{gradients_.ensure(n), 1, !gradients_.is_written(n)};
  weights_.add(context_.kernels(n), slot,
               {.dim = context_.graph.dim(n), .examples = 1, .blocks = &block, .block_count = 1});
  gradients_.set_written(n);
  weights_.drop(slot);
}

}  // namespace dynet::execute
