// Gives every test program the far devices and the GPUs of DYNET_TEST_GPUS, and makes the one that
// DYNET_TEST_DEVICE names the default device: the same tests, on another device.

#include <gtest/gtest.h>

#include <cstdlib>

#include "dynet/globals.h"

#include "support/far_device.h"
#include "support/gpu_devices.h"

namespace dynet::testing {
namespace {

const char* chosen() { return std::getenv("DYNET_TEST_DEVICE"); }

class FarEnvironment final : public ::testing::Environment {
 public:
  void SetUp() override {
    add_far_devices();
    add_gpu_devices();
    default_device = test_device(default_device->name);
  }
};

// Owned by the test framework, which runs it before the first test.
[[maybe_unused]] const ::testing::Environment* const far_environment =
    ::testing::AddGlobalTestEnvironment(new FarEnvironment);

}  // namespace

Device* test_device(const std::string& name) {
  add_far_devices();
  add_gpu_devices();
  if (chosen() == nullptr || !name.starts_with("CPU")) {
    return get_device_manager()->get_global_device(name);
  }
  return get_device_manager()->get_global_device(chosen() + name.substr(3));
}

}  // namespace dynet::testing
