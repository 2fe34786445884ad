#include "support/gpu_devices.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "dynet/devices.h"
#include "dynet/errors.h"

#include "../../src/cuda/include/cuda/plugin.h"
#include "support/far_device.h"

namespace dynet::testing {
namespace {

constexpr int kFirstId = 200;

[[noreturn]] void fail(const std::string& reason) {
  throw errors::DeviceError("the GPUs of DYNET_TEST_GPUS: " + reason);
}

/// The table of the library of DYNET_TEST_GPUS; null without one. Throws DeviceError, with which
/// the test framework ends the program before the first test.
const cuda::DeviceTable* find_table() {
  const char* const path = std::getenv("DYNET_TEST_GPUS");
  if (path == nullptr) {
    return nullptr;
  }
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fail(dlerror());
  }
  void* const function = dlsym(library, cuda::kTableFunction);
  if (function == nullptr) {
    fail(dlerror());
  }
  const cuda::DeviceTable* const table = reinterpret_cast<cuda::FindDevices>(function)();
  if (table->layout != cuda::kTableLayout) {
    fail("the table has another layout");
  }
  if (table->error != nullptr) {
    fail(table->error);
  }
  return table;
}

}  // namespace

void add_gpu_devices() {
  static const bool known = [] {
    const cuda::DeviceTable* const table = find_table();
    if (table == nullptr) {
      return false;
    }
    DeviceManager& manager = *get_device_manager();
    for (std::uint32_t k = 0; k < table->device_count; ++k) {
      const cuda::OpenedDevice gpu = table->open(k);
      manager.add(new Device(kFirstId + static_cast<int>(k), DeviceType::GPU,
                             "GPU:" + std::to_string(table->devices[k].id), *gpu.kernels,
                             *gpu.memory));
    }
    const Device* const far = manager.get_global_device("FAR:0:double");
    manager.add(
        new Device(kFirstId - 1, DeviceType::GPU, "GPU:0:double", *far->kernels, *far->memory));
    return true;
  }();
  static_cast<void>(known);
}

}  // namespace dynet::testing
