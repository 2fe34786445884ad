#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace dynet::params {

/// Zeroed memory that starts on 64 bytes. Large pieces cost no pages until they are written.
/// Invariant: data() is null only for a default-constructed or moved-from one. Not thread-safe.
class Memory {
 public:
  Memory() = default;
  /// `elements` numbers of `number_bytes` each. SizeError beyond 2^62 bytes and out_of_memory name
  /// `what`.
  Memory(std::int64_t elements, std::int64_t number_bytes, const std::string& what);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Memory(Memory&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), data_(std::exchange(other.data_, nullptr)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Memory();

  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  void* base_ = nullptr;  ///< as allocated
  std::byte* data_ = nullptr;
};

}  // namespace dynet::params
