#include "support/second_device.h"

#include "dynet/ext/memory.h"

#include "kernels/kernels.h"
#include "params/host_memory.h"

namespace dynet::testing {
namespace {

/// The host's memory under another name.
class SecondMemory final : public ext::Memory {
 public:
  SecondMemory() : Memory(true) {}
  void* allocate(std::size_t bytes, ext::Contents contents) override {
    return host_.allocate(bytes, contents);
  }
  void free(void* data, std::size_t bytes) noexcept override { host_.free(data, bytes); }
  void copy_in(const void* from, void* to, std::size_t bytes) override {
    host_.copy_in(from, to, bytes);
  }
  void copy_out(const void* from, void* to, std::size_t bytes) override {
    host_.copy_out(from, to, bytes);
  }
  void copy_to(const void* from, ext::Memory& other, void* to, std::size_t bytes) override {
    host_.copy_to(from, other, to, bytes);
  }
  void wait() override {}

 private:
  ext::Memory& host_ = params::host_memory();
};

}  // namespace

Device& second_device() {
  static auto& memory = *new SecondMemory;  // as devices are, never destroyed
  static Device& device =
      *new Device(103, DeviceType::CPU, "CPU:double:1", kernels::double_kernels(), memory);
  return device;
}

}  // namespace dynet::testing
