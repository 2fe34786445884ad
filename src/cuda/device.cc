// The table of devices (cuda/plugin.h).

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/plugin.h"
#include "cuda/reasons.h"
#include "kernels.h"
#include "memory.h"

namespace dynet::cuda {
namespace {

/// A GPU that is in use. Never destroyed: parameters may outlive main().
struct InUse {
  InUse(int device, int count) : memory(device, count), kernels(memory) {}
  CudaMemory memory;
  CudaKernels kernels;
};
/// The devices of the process. Thread rule: any number of threads.
class Devices {
 public:
  Devices() {
    int count = 0;
    if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      error_ = why_none(error);
      return;
    }
    names_.resize(static_cast<std::size_t>(count));
    reasons_.resize(names_.size());
    for (int k = 0; k < count; ++k) {
      cudaDeviceProp properties{};
      std::string& name = names_[static_cast<std::size_t>(k)];
      std::string& reason = reasons_[static_cast<std::size_t>(k)];
      if (const cudaError_t error = cudaGetDeviceProperties(&properties, k); error != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        reason = cudaGetErrorString(error);
      } else if (!has_code_for(DYNET_CUDA_ARCHITECTURES, properties.major, properties.minor)) {
        reason = no_code_for(properties.major, properties.minor);
      }
      name = static_cast<const char*>(properties.name);
      entries_.push_back(
          {k, name.c_str(), properties.totalGlobalMem, reason.empty() ? nullptr : reason.c_str()});
    }
    in_use_.resize(entries_.size());
  }

  [[nodiscard]] DeviceTable table() const {
    return {kTableLayout,
            DYNET_PLUGIN_RELEASE,
            error_.empty() ? nullptr : error_.c_str(),
            static_cast<std::uint32_t>(entries_.size()),
            entries_.data(),
            [](std::uint32_t index) -> OpenedDevice {
              InUse& d = get().open(index);
              return {&d.kernels, &d.memory};
            },
            [](std::uint32_t index) { return get().open(index).memory.bytes().free; }};
  }
  static Devices& get() {
    static auto& devices = *new Devices;
    return devices;
  }

 private:
  static std::string why_none(cudaError_t error) {
    int driver = 0;
    int runtime = 0;
    static_cast<void>(cudaDriverGetVersion(&driver));
    static_cast<void>(cudaRuntimeGetVersion(&runtime));
    return reason_of(error, cudaGetErrorName(error), driver, runtime);
  }
  InUse& open(std::uint32_t index) {
    const std::lock_guard lock(mutex_);
    auto& device = in_use_.at(index);
    if (device == nullptr) {
      device = std::make_unique<InUse>(entries_[index].id, static_cast<int>(entries_.size()));
    }
    return *device;
  }

  std::string error_;
  std::vector<std::string> names_;
  std::vector<std::string> reasons_;  ///< why a device cannot be used; empty: it can
  std::vector<DeviceEntry> entries_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<InUse>> in_use_;
};

}  // namespace
}  // namespace dynet::cuda

extern "C" __attribute__((visibility("default"))) const dynet::cuda::DeviceTable*
dynet_cuda_devices() {
  static const dynet::cuda::DeviceTable table = dynet::cuda::Devices::get().table();
  return &table;
}
