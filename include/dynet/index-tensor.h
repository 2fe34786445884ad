#pragma once

// `IndexTensor`: positions in tensors, the results of TensorTools::argmax and its relatives.

#include <cstddef>
#include <memory>
#include <vector>

#include "dynet/devices.h"
#include "dynet/dim.h"

namespace Eigen {  // NOLINT(readability-identifier-naming): its name
/// The type of an index in programs of DyNet 2.1; the same type in the real Eigen.
using DenseIndex = std::ptrdiff_t;
}  // namespace Eigen

namespace dynet {

/// Indices in the memory of the host, laid out like the numbers of a Tensor. Copies share them.
/// Thread rule: a value that is read.
struct IndexTensor {
  IndexTensor() = default;
  /// A view of `indices`, which it does not own.
  IndexTensor(const Dim& dim, Eigen::DenseIndex* indices, Device* dev, DeviceMempool pool)
      : d(dim), v(indices), device(dev), mem_pool(pool) {}

  Dim d;
  Eigen::DenseIndex* v = nullptr;
  Device* device = nullptr;  ///< null: host memory
  DeviceMempool mem_pool = DeviceMempool::NONE;
  std::shared_ptr<void> memory;  ///< the memory of `v`; null: the program's own
};

/// All indices in memory order, the batch included.
[[nodiscard]] std::vector<Eigen::DenseIndex> as_vector(const IndexTensor& v);

}  // namespace dynet
