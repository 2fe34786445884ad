#include "io/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

namespace dynet::io {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78U;  // of CRC-32C, lowest bit first
constexpr std::size_t kStep = 8;                    // bytes at a time

/// tables[k][b]: what byte b does to the checksum when k more bytes follow it.
constexpr auto make_tables() {
  std::array<std::array<std::uint32_t, 256>, kStep> tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1U) != 0 ? kPolynomial : 0U);
    }
    tables[0][b] = crc;
  }
  for (std::size_t k = 1; k < kStep; ++k) {
    for (std::size_t b = 0; b < 256; ++b) {
      const std::uint32_t shorter = tables[k - 1][b];
      tables[k][b] = (shorter >> 8) ^ tables[0][shorter & 255U];
    }
  }
  return tables;
}
constexpr auto kTables = make_tables();

}  // namespace

std::uint32_t crc32c_by_tables(std::uint32_t before, const void* data, std::size_t bytes) {
  std::uint32_t crc = ~before;
  const auto* at = static_cast<const unsigned char*>(data);
  if constexpr (std::endian::native == std::endian::little) {
    for (; bytes >= kStep; bytes -= kStep, at += kStep) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, kStep);
      word ^= crc;
      crc = 0;
      for (std::size_t k = 0; k < kStep; ++k) {
        crc ^= kTables[kStep - 1 - k][(word >> (8 * k)) & 255U];
      }
    }
  }
  for (; bytes > 0; --bytes, ++at) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 255U];
  }
  return ~crc;
}

std::uint32_t crc32c(std::uint32_t before, const void* data, std::size_t bytes) {
#ifdef __SSE4_2__
  std::uint64_t crc = ~before;
  const auto* at = static_cast<const unsigned char*>(data);
  for (; bytes >= kStep; bytes -= kStep, at += kStep) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, kStep);
    crc = _mm_crc32_u64(crc, word);
  }
  auto rest = static_cast<std::uint32_t>(crc);
  for (; bytes > 0; --bytes, ++at) {
    rest = _mm_crc32_u8(rest, *at);
  }
  return ~rest;
#else
  return crc32c_by_tables(before, data, bytes);
#endif
}

std::string crc32c_text(std::uint32_t crc) {
  std::string digits(8, '0');
  for (std::size_t i = digits.size(); i-- > 0; crc >>= 4) {
    digits[i] = "0123456789abcdef"[crc & 15U];
  }
  return digits;
}

}  // namespace dynet::io
