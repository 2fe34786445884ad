#pragma once

#include <cstddef>

namespace dynet::util {

/// Memory of one thread for copies inside one call, 64-byte aligned. Grows, never shrinks, so that
/// a repeated step allocates nothing. The end of the thread gives it back.
///
/// Not thread-safe: declare it thread_local. The destructor does nothing, as objects of the program
/// may compute in their destructors when their thread, or the process, ends.
class Scratch {
 public:
  constexpr Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() = default;

  /// Room for n floats; earlier contents are lost. std::bad_alloc leaves the old memory.
  [[nodiscard]] float* get(std::size_t n) {
    if (n > capacity_) {
      grow(n);
    }
    return data_;
  }

 private:
  friend struct ThreadEnd;
  void grow(std::size_t n);

  float* data_ = nullptr;
  std::size_t capacity_ = 0;
  Scratch* next_ = nullptr;  ///< next scratch of this thread that has memory
};

}  // namespace dynet::util
