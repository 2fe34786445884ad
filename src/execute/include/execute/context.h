#pragma once

#include "dynet/devices.h"
#include "dynet/ext/kernels.h"
#include "dynet/tensor.h"

#include "graph/graph.h"

namespace dynet::execute {

using graph::NodeId;

/// What all parts of an executor look at: the graph, and where its nodes are. One object, owned by
/// the executor; the parts keep a reference.
class Context {
 public:
  explicit Context(const graph::Graph& of) : graph(of) {}
  [[nodiscard]] const Device& device(NodeId n) const { return graph[n].device(); }
  [[nodiscard]] const ext::Kernels& kernels(NodeId n) const { return *device(n).kernels; }
  [[nodiscard]] ext::Memory& memory(NodeId n) const { return *device(n).memory; }
  /// What users see of a node's value or gradient at `data`.
  [[nodiscard]] Tensor tensor(NodeId n, void* data) const {
    return Tensor(graph.dim(n), static_cast<float*>(data), const_cast<Device*>(&device(n)),
                  DeviceMempool::FXS);
  }

  const graph::Graph& graph;
};

}  // namespace dynet::execute
