#pragma once

#include <string>

#include "dynet/globals.h"

namespace dynet::testing {

/// Makes a device the default one for as long as it lives.
class DefaultDevice {
 public:
  explicit DefaultDevice(Device* device) : before_(default_device) { default_device = device; }
  DefaultDevice(const DefaultDevice&) = delete;
  DefaultDevice& operator=(const DefaultDevice&) = delete;
  ~DefaultDevice() { default_device = before_; }

 private:
  Device* before_;
};

/// The device of that name.
inline Device* device(const std::string& name) {
  return get_device_manager()->get_global_device(name);
}

}  // namespace dynet::testing
