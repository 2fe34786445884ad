#include "execute/routes.h"

#include <unordered_map>

namespace dynet::execute {

Route::Done products_done(const graph::Graph& graph, NodeId n) {
  const ext::Record& record = graph[n].record();
  if (record.gradient_goes_to == ext::GradientTo::kStorage) {
    return Route::Done::kAtDelivery;
  }
  return record.is_leaf() ? Route::Done::kAtEnd : Route::Done::kAtNode;
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
         signature.role(argument.index) == ext::Role::kEither && graph[n].examples == 1 &&
         graph.dim(n).nd == 2;
}

std::vector<Route> routes(const graph::Graph& graph, const History& history,
                          std::span<const NodeId> nodes, const Gradients& gradients) {
  std::unordered_map<NodeId, bool> has_products;
  for (std::uint32_t g = 0; g < history.size(); ++g) {
    const schedule::Group& group = history.group(g);
    for (std::uint32_t s = group.begin; s < group.begin + group.count; ++s) {
      const SegmentView segment = history.segment(group, s);
      for (std::uint32_t a = 0; a < graph[segment.members[0]].arity; ++a) {
        std::vector<NodeId> of_members;
        for (const NodeId m : segment.members) {
          of_members.push_back(graph.args(m)[a]);
        }
        const std::size_t count = segment.is_shared(a) ? 1 : of_members.size();
        const Argument argument{a, {of_members.data(), count}};
        if (segment.reads(a) && leaves_products(graph, segment, argument)) {
          has_products[gradients.owner(of_members[0])] = true;
        }
      }
    }
  }
  std::vector<Route> all;
  for (const NodeId n : nodes) {
    Route route{n, gradients.owner(n), Route::Through::kMemory, Route::Done::kByCalls,
                graph[n].record().gradient_goes_to};
    if (!gradients.needs(n)) {
      route.through = Route::Through::kNothing;
    } else if (has_products.contains(route.to)) {
      route.through = Route::Through::kProducts;
      route.done = products_done(graph, n);
    }
    all.push_back(route);
  }
  return all;
}

}  // namespace dynet::execute
