// The far devices for programs in Python: loading this library tells the device manager of them
// (python/tests/conftest.py).

#include "support/far_device.h"

namespace {

[[maybe_unused]] const bool known = [] {
  dynet::testing::add_far_devices();
  return true;
}();

}  // namespace
