#pragma once

// The counter-based generator Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers:
// as easy as 1, 2, 3", 2011): four words of 32 bits are a function of a key and the number of the
// block.

#include <array>
#include <cstdint>

#include "dynet/ext/kernels.h"
#include "dynet/ext/rule.h"

namespace dynet::kernels {

inline constexpr std::uint32_t kPhiloxMultiplier0 = 0xD2511F53;
inline constexpr std::uint32_t kPhiloxMultiplier1 = 0xCD9E8D57;
inline constexpr std::uint32_t kPhiloxStep0 = 0x9E3779B9;
inline constexpr std::uint32_t kPhiloxStep1 = 0xBB67AE85;
inline constexpr int kPhiloxRounds = 10;

/// A node's key, equal for all elements. The four numbers of a RandomKey are mixed into 128 bits:
/// 64 are Philox's key and 64 the upper half of its counter.
struct PhiloxKey {
  std::uint32_t key[2];
  std::uint32_t counter[2];

  explicit PhiloxKey(const ext::RandomKey& k) {
    const std::uint64_t a = chain(0x243F6A8885A308D3, k);
    const std::uint64_t b = chain(0x13198A2E03707344, k);
    key[0] = static_cast<std::uint32_t>(a);
    key[1] = static_cast<std::uint32_t>(a >> 32);
    counter[0] = static_cast<std::uint32_t>(b);
    counter[1] = static_cast<std::uint32_t>(b >> 32);
  }

 private:
  /// The finaliser of SplitMix64: a bijection in which every bit of v reaches every bit.
  static std::uint64_t mix(std::uint64_t v) {
    v = (v ^ (v >> 30)) * 0xBF58476D1CE4E5B9;
    v = (v ^ (v >> 27)) * 0x94D049BB133111EB;
    return v ^ (v >> 31);
  }
  static std::uint64_t chain(std::uint64_t h, const ext::RandomKey& k) {
    for (const std::uint64_t part : {k.seed, k.stream, k.ordinal, k.evaluation}) {
      h = mix((h ^ part) + 0x9E3779B97F4A7C15);
    }
    return h;
  }
};

/// The four words of block number `block`, for elements 4 * block and following.
DYNET_DEVICE_FN inline std::array<std::uint32_t, 4> philox(const PhiloxKey& key,
                                                           std::uint64_t block) {
  auto c0 = static_cast<std::uint32_t>(block);
  auto c1 = static_cast<std::uint32_t>(block >> 32);
  std::uint32_t c2 = key.counter[0];
  std::uint32_t c3 = key.counter[1];
  std::uint32_t k0 = key.key[0];
  std::uint32_t k1 = key.key[1];
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kPhiloxMultiplier0} * c0;
    const std::uint64_t p1 = std::uint64_t{kPhiloxMultiplier1} * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(p0);
    k0 += kPhiloxStep0;
    k1 += kPhiloxStep1;
  }
  return {c0, c1, c2, c3};
}

// All distributions use the upper 24 bits of a word, as a float holds no more: u = (word >> 8) /
// 2^24.

/// Bernoulli: true if (word >> 8) is below this.
[[nodiscard]] std::uint32_t bernoulli_threshold(double probability);

}  // namespace dynet::kernels
