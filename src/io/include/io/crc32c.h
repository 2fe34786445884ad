#pragma once

// The checksum of safetensors files: CRC-32C (Castagnoli; RFC 3720, B.4), which finds every change
// of up to 32 bits in a row, and any other with all but one chance in 2^32.

#include <cstddef>
#include <cstdint>
#include <string>

namespace dynet::io {

/// The checksum of earlier bytes with the checksum `before` (0: none), followed by these bytes. By
/// the processor's instruction if the build may use it, else by tables.
[[nodiscard]] std::uint32_t crc32c(std::uint32_t before, const void* data, std::size_t bytes);
/// The checksum by tables, on every processor; crc32c() is held to it by a test.
[[nodiscard]] std::uint32_t crc32c_by_tables(std::uint32_t before, const void* data,
                                             std::size_t bytes);
/// Eight hexadecimal digits, small letters.
[[nodiscard]] std::string crc32c_text(std::uint32_t crc);

}  // namespace dynet::io
