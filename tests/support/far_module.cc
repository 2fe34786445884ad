// The far devices for programs in Python: loading this library makes them known to the device
// manager (python/tests/conftest.py).

#include "support/far_device.h"

namespace {

[[maybe_unused]] const bool known = [] {
  dynet::testing::add_far_devices();
  return true;
}();

}  // namespace
