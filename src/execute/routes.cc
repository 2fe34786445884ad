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
  const graph::Signature& signature = *graph[segment.members[0]].signature;
  // A weight may be shared by all members, so it is not cut into columns.
  if (argument.index >= schedule::kMaxMaskedArgs ||
      ((signature.may_share >> argument.index) & 1) == 0) {
    return false;
  }
  const NodeId n = argument.nodes[0];
  if (graph[n].record().gradient_goes_to == ext::GradientTo::kStorage) {
    return segment.is_shared(argument.index);
  }
  return !signature.record->has_whole && argument.nodes.size() == 1 &&
         signature.role(argument.index) == ext::Role::kEither && graph[n].examples == 1 &&
         graph.dim(n).nd == 2;
}

}  // namespace dynet::execute
