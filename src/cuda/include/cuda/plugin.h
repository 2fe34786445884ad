#pragma once

// The table by which a library of devices (libdynet_cuda) tells libdynet about its devices.
//
// libdynet opens such a library when a program first names a GPU, and asks its one C function for
// the table. Both libraries are of one build of the same release, so classes of dynet/ext cross as
// they are, and exceptions too. The library of devices uses symbols of libdynet; libdynet uses
// none of the library's but the one function.
//
// Example: `auto table = find(); if (table->layout != cuda::kTableLayout) ...; if (table->error
// != nullptr) ...; const auto opened = table->open(0);`.

#include <cstdint>

namespace dynet {

namespace ext {
class Kernels;
class Memory;
}  // namespace ext

namespace cuda {

/// The members of DeviceTable, by number: read it before all else. A change of a member is a new
/// number.
inline constexpr std::uint32_t kTableLayout = 1;
/// The name of the function: `extern "C" const dynet::cuda::DeviceTable* dynet_cuda_devices()`.
inline constexpr const char* kTableFunction = "dynet_cuda_devices";

/// A GPU that the library sees. The texts live as long as the process.
struct DeviceEntry {
  std::int32_t id;             ///< CUDA's number: the device is called GPU:<id>
  const char* name;            ///< "NVIDIA H100"
  std::uint64_t memory_bytes;  ///< all of it
  const char* error;           ///< null: usable; otherwise the reason, for a DeviceError
};
/// The two halves of a device, which live as long as the process.
struct OpenedDevice {
  const ext::Kernels* kernels;
  ext::Memory* memory;
};
/// The devices, in the order of their ids.
struct DeviceTable {
  std::uint32_t layout;  ///< kTableLayout of the library
  const char* release;   ///< DYNET_PLUGIN_RELEASE of the library: "VERSION 1f0c22d4"
  const char* error;     ///< null: CUDA works; otherwise the reason why there is no device
  std::uint32_t device_count;
  const DeviceEntry* devices;
  /// Begins to use device `index` of the list; a second call for it gives the same halves. Throws
  /// cuda_exception or out_of_memory.
  OpenedDevice (*open)(std::uint32_t index);
  /// Bytes that are free on device `index` now. Throws cuda_exception.
  std::uint64_t (*free_bytes)(std::uint32_t index);
};
/// Makes the table at the first call and returns it at each. Never throws. Thread rule: any number
/// of threads.
using FindDevices = const DeviceTable* (*)();

/// The error of a child process, after the name of a GPU.
inline constexpr const char* kOpenedByParent =
    " was opened by the parent process; start workers before the first use of a GPU, or give them "
    "devices of their own";

}  // namespace cuda
}  // namespace dynet
