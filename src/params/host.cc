#include "params/host.h"

#include <algorithm>

namespace dynet::params {

std::size_t HostNumbers::bytes() const {
  return static_cast<std::size_t>(tensor_.d.elements() * tensor_.device->number_bytes());
}

void HostNumbers::copy_from_device(Use use) {
  copy_ = std::make_unique<std::byte[]>(bytes());
  data_ = copy_.get();
  if (use != Use::kOverwrite) {
    tensor_.device->memory->copy_out(tensor_.v, data_, bytes());
  }
}

void HostNumbers::copy_to_device() {
  tensor_.device->memory->copy_in(copy_.get(), tensor_.v, bytes());
}

void copy_in(const Device& device, const float* from, void* to, std::int64_t n) {
  const auto count = static_cast<std::size_t>(n);
  if (!device.is_double()) {
    device.memory->copy_in(from, to, count * sizeof(float));
  } else if (device.is_host_visible()) {
    std::copy_n(from, count, static_cast<double*>(to));
  } else {
    const auto numbers = std::make_unique<double[]>(count);
    std::copy_n(from, count, numbers.get());
    device.memory->copy_in(numbers.get(), to, count * sizeof(double));
  }
}

}  // namespace dynet::params
