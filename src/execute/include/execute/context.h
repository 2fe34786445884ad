#pragma once

#include <cstdint>

#include "dynet/devices.h"
#include "dynet/ext/kernels.h"
#include "dynet/tensor.h"

#include "graph/graph.h"

namespace dynet::execute {

using graph::NodeId;

/// What all parts of an executor look at: the graph, and the device that computes it. One object,
/// owned by the executor; the parts keep a reference.
class Context {
 public:
  Context(const graph::Graph& of, const Device& on) : graph(of) { set_device(on); }
  void set_device(const Device& on) {
    device_ = &on;
    number_bytes_ = ext::bytes_of(on.number());
  }
  [[nodiscard]] const Device& device() const { return *device_; }
  [[nodiscard]] const ext::Kernels& kernels() const { return *device_->kernels; }
  [[nodiscard]] ext::Number number() const { return kernels().number(); }
  [[nodiscard]] std::int64_t bytes(std::int64_t elements) const { return elements * number_bytes_; }
  /// Bytes of one example of a node's value.
  [[nodiscard]] std::int64_t example_bytes(NodeId n) const { return bytes(graph.example_size(n)); }
  /// What users see of a node's value or gradient at `data`.
  [[nodiscard]] Tensor tensor(NodeId n, void* data) const {
    return Tensor(graph.dim(n), static_cast<float*>(data), const_cast<Device*>(device_),
                  DeviceMempool::FXS);
  }

  const graph::Graph& graph;

 private:
  const Device* device_ = nullptr;
  std::int64_t number_bytes_ = 0;
};

}  // namespace dynet::execute
