#include "execute/routes.h"

namespace dynet::execute {

ProductsDone products_done(const graph::Graph& graph, NodeId n) {
  const ext::Record& record = graph[n].record();
  if (record.gradient_goes_to == ext::GradientTo::kStorage) {
    return ProductsDone::kAtDelivery;
  }
  return record.is_leaf() ? ProductsDone::kAtEnd : ProductsDone::kAtNode;
}

bool leaves_products(const graph::Graph& graph, const SegmentView& segment,
                     const Argument& argument) {
  const NodeId n = argument.nodes[0];
  if (graph[n].record().gradient_goes_to == ext::GradientTo::kStorage) {
    return segment.is_shared(argument.index);
  }
  const graph::Signature& signature = *graph[segment.members[0]].signature;
  return !signature.record->has_whole && signature.record->has_shared &&
         argument.nodes.size() == 1 && argument.index < schedule::kMaxMaskedArgs &&
         ((signature.cut >> argument.index) & 1) == 0 &&
         signature.role(argument.index) == ext::Role::kEither && graph[n].examples == 1 &&
         graph.dim(n).nd == 2;
}

}  // namespace dynet::execute
