#include "distributed/checksum.h"

#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "dynet/ext/memory.h"

#include "params/state.h"
#include "params/stored.h"

namespace dynet::distributed {
namespace {

constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15U;

std::uint64_t mix(std::uint64_t sum, std::uint64_t word) {
  return std::rotl((sum ^ word) * kPrime, 29);
}

/// Four sums side by side, because each waits for its multiplication.
std::uint64_t checksum_of(const std::byte* data, std::size_t bytes) {
  constexpr std::size_t kLanes = 4;
  std::uint64_t sums[kLanes] = {1, 2, 3, 4};
  std::uint64_t words[kLanes];
  std::size_t at = 0;
  for (; at + sizeof words <= bytes; at += sizeof words) {
    std::memcpy(words, data + at, sizeof words);
    for (std::size_t i = 0; i < kLanes; ++i) {
      sums[i] = mix(sums[i], words[i]);
    }
  }
  std::memset(words, 0, sizeof words);
  std::memcpy(words, data + at, bytes - at);
  std::uint64_t all = bytes;
  for (std::size_t i = 0; i < kLanes; ++i) {
    all = mix(all, mix(sums[i], words[i]));
  }
  return all;
}

}  // namespace

std::uint64_t checksum(const ParameterStorageBase& storage) {
  const detail::StorageState& s = storage.state();
  const auto bytes = static_cast<std::size_t>(s.elements * s.number_bytes);
  std::uint64_t sum = 0;
  if (s.device.is_host_visible()) {
    sum = checksum_of(s.values.data(), bytes);
  } else {
    std::vector<std::byte> copy(bytes);
    s.device.memory->copy_out(s.values.data(), copy.data(), bytes);
    sum = checksum_of(copy.data(), bytes);
  }
  return mix(sum, std::bit_cast<std::uint64_t>(s.decay_factor()));
}

std::uint64_t signature(const ParameterStorageBase& storage) {
  const std::string text = storage.name + ' ' + to_string(params::shape_of(storage)) + ' ' +
                           params::type_word(params::is_table(storage)) + ' ' +
                           std::to_string(static_cast<int>(params::number_of(storage)));
  return checksum_of(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

}  // namespace dynet::distributed
