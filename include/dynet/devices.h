#pragma once

// Devices: memory for numbers, and loops that compute with them.
//
// A device is a name, a number type, memory with a queue (ext/memory.h) and kernels
// (ext/kernels.h). The library holds and reads all numbers through these two: a new device
// implements both, and `DeviceManager::add` makes it known. Example: "CPU:double" has the memory of
// "CPU" and plain loops in double.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dynet {

namespace ext {
class Kernels;
class Memory;
enum class Number : std::uint8_t;
}  // namespace ext

enum class DeviceType { CPU, GPU };
/// The use of a tensor's memory: values and gradients of nodes, parameters, scratch.
enum class DeviceMempool { FXS = 0, DEDFS = 1, PS = 2, SCS = 3, NONE = 4 };

/// A device and its number type. "CPU" computes in float; "CPU:double" is the plain scalar device
/// in double that checks it.
///
/// C++: On "CPU:double" `Tensor::v` points at doubles, and only the functions of tensor.h may read
/// it; the same holds for memory that is not the host's. Devices live as long as the process.
/// Thread rule: immutable, any number of threads.
class Device {
 public:
  Device(int id, DeviceType device_type, std::string device_name,
         const ext::Kernels& device_kernels, ext::Memory& device_memory);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device();

  int device_id;
  DeviceType type;
  const ext::Kernels* kernels;  ///< the loops of the device; never null
  ext::Memory* memory;          ///< where its numbers lie, and its queue; never null
  std::string name;

  [[nodiscard]] ext::Number number() const;
  [[nodiscard]] bool is_double() const;
  /// Whether `Tensor::v` is memory that the host may read and write.
  [[nodiscard]] bool is_host_visible() const;
  /// Bytes of one number.
  [[nodiscard]] std::int64_t number_bytes() const { return is_double() ? 8 : 4; }
};

/// The devices of the process, not owned. Thread rule: changes from one thread, before others
/// compute; reading is free.
class DeviceManager final {
 public:
  /// Forgets the devices that were added.
  void clear();
  void add(Device* d);
  /// IndexError when out of range.
  [[nodiscard]] Device* get(std::size_t i) const;
  [[nodiscard]] std::size_t num_devices() const { return devices_.size(); }
  /// GPUs first, the CPU last.
  [[nodiscard]] const std::vector<Device*>& get_devices() const { return devices_; }
  /// By name; "" is the default device. "CPU" and "CPU:double" always exist. DeviceError otherwise.
  [[nodiscard]] Device* get_global_device(const std::string& name) const;

 private:
  friend DeviceManager* get_device_manager();
  DeviceManager();
  std::vector<Device*> devices_;
};

/// The one device manager.
[[nodiscard]] DeviceManager* get_device_manager();

}  // namespace dynet
