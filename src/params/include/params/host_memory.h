#pragma once

#include <cstddef>
#include <cstring>

#include "dynet/ext/memory.h"

namespace dynet::params {

/// Base of memories that the host sees: copies are made at once.
class HostVisibleMemory : public ext::Memory {
 public:
  HostVisibleMemory() : Memory(true) {}
  void copy_in(const void* from, void* to, std::size_t bytes) override { copy(from, to, bytes); }
  void copy_out(const void* from, void* to, std::size_t bytes) override { copy(from, to, bytes); }
  void copy_to(const void* from, ext::Memory& other, void* to, std::size_t bytes) override {
    other.copy_in(from, to, bytes);
  }
  void wait() override {}

 private:
  static void copy(const void* from, void* to, std::size_t bytes) {
    if (bytes != 0) {
      std::memcpy(to, from, bytes);
    }
  }
};

/// The memory of the CPU devices. Large pieces of zeros cost no pages until they are written.
/// Lives as long as the process.
[[nodiscard]] ext::Memory& host_memory();

}  // namespace dynet::params
