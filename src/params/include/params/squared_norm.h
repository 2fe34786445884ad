#pragma once

#include <cstdint>
#include <vector>

#include "dynet/devices.h"
#include "dynet/ext/kernels.h"

namespace dynet::params {

/// A sum of squares of numbers that lie on any devices. Each device adds up its own numbers; only
/// value() waits, once per device. Not thread-safe.
class SquaredNorm {
 public:
  /// The numbers stay as they are until value(): a device that the host does not see gets them in
  /// one call.
  void add(const Device& device, const void* x, std::int64_t n) {
    if (device.is_host_visible()) {
      device.kernels->add_squared_norm(x, n, &known_);
    } else {
      part_of(device).runs.push_back({x, n});
    }
  }
  /// Adds a sum that the caller knows already.
  void add(double known) { known_ += known; }
  [[nodiscard]] double value();

 private:
  struct Part {
    const Device* device;
    std::vector<ext::NumberRun> runs;  ///< yet to be added
  };
  Part& part_of(const Device& device);

  double known_ = 0.0;
  std::vector<Part> parts_;  ///< of devices that the host does not see
};

}  // namespace dynet::params
