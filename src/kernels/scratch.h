#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace dynet::kernels {

/// Memory of one thread for copies inside one call, 64-byte aligned. Grows, never shrinks, so that
/// a repeated step allocates nothing. Not thread-safe: declare it thread_local.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::free(data_); }

  /// Room for n floats; what stood there before is lost. std::bad_alloc leaves the old memory.
  [[nodiscard]] float* get(std::size_t n) {
    if (n > capacity_) {
      const std::size_t bytes = (n * sizeof(float) + 4095) / 4096 * 4096;
      void* fresh = std::aligned_alloc(64, bytes);
      if (fresh == nullptr) {
        throw std::bad_alloc();
      }
      std::free(data_);
      data_ = static_cast<float*>(fresh);
      capacity_ = bytes / sizeof(float);
    }
    return data_;
  }

 private:
  float* data_ = nullptr;
  std::size_t capacity_ = 0;
};

/// For the packed panels of a product's operands.
[[nodiscard]] Scratch& left_panel();
[[nodiscard]] Scratch& right_panel();

}  // namespace dynet::kernels
