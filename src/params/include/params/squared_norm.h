#pragma once

#include <cstdint>
#include <vector>

#include "dynet/devices.h"
#include "dynet/ext/kernels.h"

#include "params/buffer.h"

namespace dynet::params {

/// A sum of squares of numbers that lie on any devices. Each device adds up its own numbers; only
/// value() waits, once per device. Not thread-safe.
class SquaredNorm {
 public:
  void add(const Device& device, const void* x, std::int64_t n) {
    device.kernels->add_squared_norm(x, n, device.is_host_visible() ? &known_ : &sum_on(device));
  }
  /// Adds a sum that the caller knows already.
  void add(double known) { known_ += known; }
  [[nodiscard]] double value() const;

 private:
  struct Part {
    const Device* device;
    Buffer sum;  ///< one double
  };
  double& sum_on(const Device& device);

  double known_ = 0.0;
  std::vector<Part> parts_;  ///< of devices that the host does not see
};

}  // namespace dynet::params
