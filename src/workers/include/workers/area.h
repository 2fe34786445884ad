#pragma once

#include <cstddef>

namespace dynet::workers {

/// A mapping of zeros that processes forked later share, or (`is_private`) copy. Pages cost nothing
/// until written. Unmapped by the destructor, in the own process.
class Area {
 public:
  enum class Kind : unsigned char { kShared, kPrivate };
  /// out_of_memory.
  Area(std::size_t bytes, Kind kind);
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;
  Area(Area&& other) noexcept;
  Area& operator=(Area&&) = delete;
  ~Area();
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

/// Hands out parts of an area that is made once the sizes are known: first `take` everything, then
/// add the offsets to data().
class Layout {
 public:
  /// Offset of so many bytes, a multiple of 64.
  std::size_t take(std::size_t bytes) {
    const std::size_t offset = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace dynet::workers
