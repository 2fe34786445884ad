#include "dynet/devices.h"

#include <atomic>
#include <random>

#include "dynet/except.h"
#include "dynet/ext/kernels.h"
#include "dynet/globals.h"
#include "dynet/timing.h"

#include "kernels/kernels.h"
#include "params/gpus.h"
#include "params/host_memory.h"

namespace dynet {
namespace {

// Made before main() with the globals below, and never destroyed: parameters may outlive main().
Device& cpu() {
  static Device& device =
      *new Device(0, DeviceType::CPU, "CPU", kernels::cpu_kernels(), params::host_memory());
  return device;
}
Device& cpu_double() {
  static Device& device = *new Device(1, DeviceType::CPU, "CPU:double", kernels::double_kernels(),
                                      params::host_memory());
  return device;
}

}  // namespace

std::mt19937* rndeng = new std::mt19937;
Device* default_device = &cpu();
int autobatch_flag = 1;
int profiling_flag = 0;
float default_weight_decay_lambda = 0.0F;
NamedTimer timer;

Device::Device(int id, DeviceType device_type, std::string device_name,
               const ext::Kernels& device_kernels, ext::Memory& device_memory)
    : device_id(id),
      type(device_type),
      kernels(&device_kernels),
      memory(&device_memory),
      name(std::move(device_name)) {}
Device::~Device() = default;
ext::Number Device::number() const { return kernels->number(); }
bool Device::is_double() const { return kernels->number() == ext::Number::kDouble; }
bool Device::is_host_visible() const { return memory->is_host_visible(); }

DeviceManager::DeviceManager() { devices_.push_back(&cpu()); }
void DeviceManager::clear() { devices_.assign(1, &cpu()); }
void DeviceManager::add(Device* d) {
  if (d == nullptr) {
    throw errors::ValueError("DeviceManager::add: the device is null");
  }
  devices_.insert(devices_.end() - 1, d);  // the CPU stays last
}
Device* DeviceManager::get(std::size_t i) const {
  if (i >= devices_.size()) {
    throw errors::IndexError("DeviceManager::get(" + std::to_string(i) + "): there are " +
                             std::to_string(devices_.size()) + " devices");
  }
  return devices_[i];
}
Device* DeviceManager::get_global_device(const std::string& name) const {
  if (name.empty()) {
    return default_device;
  }
  for (Device* device : devices_) {
    if (device->name == name) {
      return device;
    }
  }
  if (name == cpu_double().name) {
    return &cpu_double();
  }
  throw errors::DeviceError("Invalid device name: " + name +
                            (params::gpu_number(name)
                                 ? "; GPUs are asked for at the start, as --dynet-devices " + name
                                 : ""));
}
DeviceManager* get_device_manager() {
  static auto* manager = new DeviceManager;  // never destroyed, as its devices
  return manager;
}

}  // namespace dynet
