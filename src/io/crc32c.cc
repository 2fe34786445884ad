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

/// tables[k][b]: the effect of byte b on the checksum when k more bytes follow.
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

#ifdef __SSE4_2__
// The instruction takes three cycles, and another can start in each cycle: so three chains run side
// by side. They are put together by the effect of kChain zero bytes on a checksum, which is linear:
// a sum over its bits.
constexpr std::size_t kChain = 4096;

/// The image of each bit of a checksum.
using Bits = std::array<std::uint32_t, 32>;
constexpr std::uint32_t moved(const Bits& bits, std::uint32_t crc) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    sum ^= ((crc >> i) & 1U) != 0 ? bits[i] : 0U;
  }
  return sum;
}
/// The images under kChain zero bytes: one byte, then doubled again and again.
constexpr Bits far_bits() {
  Bits bits{};
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const std::uint32_t bit = std::uint32_t{1} << i;
    bits[i] = (bit >> 8) ^ kTables[0][bit & 255U];
  }
  for (std::size_t bytes = 1; bytes < kChain; bytes *= 2) {
    const Bits once = bits;
    for (std::uint32_t& bit : bits) {
      bit = moved(once, bit);
    }
  }
  return bits;
}
static_assert(std::has_single_bit(kChain));

/// By the value of each byte of a checksum.
constexpr auto make_far_tables() {
  constexpr Bits kFar = far_bits();
  std::array<std::array<std::uint32_t, 256>, 4> tables{};
  for (std::size_t k = 0; k < tables.size(); ++k) {
    for (std::uint32_t b = 0; b < 256; ++b) {
      tables[k][b] = moved(kFar, b << (8 * k));
    }
  }
  return tables;
}
constexpr auto kFarTables = make_far_tables();

/// The checksum when kChain zeros follow.
std::uint64_t far(std::uint64_t crc) {
  std::uint32_t sum = 0;
  for (std::size_t k = 0; k < kFarTables.size(); ++k) {
    sum ^= kFarTables[k][(crc >> (8 * k)) & 255U];
  }
  return sum;
}
std::uint64_t step(std::uint64_t crc, const unsigned char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, kStep);
  return _mm_crc32_u64(crc, word);
}
#endif

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
  for (; bytes >= 3 * kChain; bytes -= 3 * kChain, at += 3 * kChain) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < kChain; i += kStep) {
      crc = step(crc, at + i);
      second = step(second, at + kChain + i);
      third = step(third, at + 2 * kChain + i);
    }
    crc = far(far(crc) ^ second) ^ third;
  }
  for (; bytes >= kStep; bytes -= kStep, at += kStep) {
    crc = step(crc, at);
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
