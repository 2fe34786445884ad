// A library of GPUs for tests: its devices have the memory and the kernels of the far devices. The
// variable DYNET_TEST_MACHINE names the machine that the library pretends to have.

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "dynet/except.h"

#include "cuda/plugin.h"
#include "cuda/reasons.h"
#include "support/far_device.h"

namespace {

using dynet::cuda::DeviceEntry;
using dynet::cuda::DeviceTable;
using dynet::cuda::OpenedDevice;

constexpr int kRuntime = 13000;
constexpr std::uint64_t kGibi = std::uint64_t{1} << 30U;

/// A machine: its GPUs, or the reason why CUDA does not work there.
struct Machine {
  std::vector<DeviceEntry> gpus;
  std::string error;
};

const std::string& reason(const std::string& text) {
  return *new std::string(text);  // as long as the process
}

Machine machine_of(const std::string& name) {
  const std::vector<DeviceEntry> two{{0, "Test GPU", 2 * kGibi, nullptr},
                                     {1, "Test GPU", 4 * kGibi, nullptr}};
  if (name == "three") {
    return {{two[0],
             {1, "Old GPU", kGibi, reason(dynet::cuda::no_code_for(6, 1)).c_str()},
             {2, "Test GPU", 4 * kGibi, nullptr}},
            ""};
  }
  const std::map<std::string, Machine> others{
      {"none", {}},
      {"no driver", {{}, dynet::cuda::reason_of(35, "cudaErrorInsufficientDriver", 0, kRuntime)}},
      {"stub driver", {{}, dynet::cuda::reason_of(34, "cudaErrorStubLibrary", 0, kRuntime)}},
      {"old driver",
       {{}, dynet::cuda::reason_of(35, "cudaErrorInsufficientDriver", 12020, kRuntime)}},
      {"no device", {{}, dynet::cuda::reason_of(100, "cudaErrorNoDevice", kRuntime, kRuntime)}},
      {"broken", {{}, dynet::cuda::reason_of(999, "cudaErrorUnknown", 13000, kRuntime)}},
  };
  const auto found = others.find(name);
  return found == others.end() ? Machine{two, ""} : found->second;
}

const std::string& machine_name() {
  static const std::string& name = *new std::string([] {
    const char* const text = std::getenv("DYNET_TEST_MACHINE");
    return text == nullptr ? "" : text;
  }());
  return name;
}

OpenedDevice open(std::uint32_t index) {
  if (machine_name() == "does not start") {
    throw dynet::cuda_exception("GPU:" + std::to_string(index) +
                                ": cudaStreamCreate: out of streams");
  }
  // The far devices 0 and 1 compute in float.
  const dynet::Device& far = dynet::testing::far_device(index == 0 ? 0 : 1);
  return {far.kernels, far.memory};
}

/// The second GPU has more.
std::uint64_t free_bytes(std::uint32_t index) { return (index + 1) * kGibi; }

}  // namespace

extern "C" const DeviceTable* dynet_cuda_devices() {
  const std::string& name = machine_name();
  static const Machine& machine = *new Machine(machine_of(name));
  static const DeviceTable table{name == "other layout" ? 99 : dynet::cuda::kTableLayout,
                                 name == "other release" ? "2.9.0 abcdefgh" : DYNET_PLUGIN_RELEASE,
                                 machine.error.empty() ? nullptr : machine.error.c_str(),
                                 static_cast<std::uint32_t>(machine.gpus.size()),
                                 machine.gpus.data(),
                                 &open,
                                 &free_bytes};
  return &table;
}
