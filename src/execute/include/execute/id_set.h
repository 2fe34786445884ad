#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dynet::execute {

/// A set of small numbers that gives its largest first. A bit stands for each number, and above
/// these a bit for each word that is not empty, level upon level: whatever the gaps between the
/// numbers, to insert or to take one costs a few instructions per level, and a level is 64 times as
/// short as the one below. Invariant: a bit of a higher level is set exactly where its word below
/// is not 0. Not thread-safe.
class IdSet {
 public:
  /// Room for numbers below `size`. The set has to be empty.
  void grow(std::size_t size) {
    if (size <= levels_[0].size() * kBits) {
      return;
    }
    std::size_t words = std::max<std::size_t>(size + size / 2, 1);
    std::size_t level = 0;
    do {
      words = (words + kBits - 1) / kBits;
      levels_[level].resize(words, 0);
      ++level;
    } while (words > 1);
    level_count_ = level;
  }
  [[nodiscard]] bool empty() const {
    return level_count_ == 0 || levels_[level_count_ - 1][0] == 0;
  }
  void insert(std::uint32_t number) {
    std::uint32_t index = number / kBits;
    std::uint64_t before = levels_[0][index];
    levels_[0][index] = before | bit(number);
    highest_ = std::max(highest_, index);
    for (std::size_t level = 1; before == 0 && level < level_count_; ++level) {
      const std::uint32_t below = index;
      index /= kBits;
      before = levels_[level][index];
      levels_[level][index] = before | bit(below);
    }
  }
  /// Removes the largest number and returns it. The set may not be empty.
  std::uint32_t take_largest() {
    std::uint64_t word = levels_[0][highest_];
    if (word == 0) {
      find_highest();
      word = levels_[0][highest_];
    }
    const std::uint32_t number = highest_ * kBits + top(word);
    word ^= bit(number);
    levels_[0][highest_] = word;
    std::uint32_t index = highest_;
    for (std::size_t level = 1; word == 0 && level < level_count_; ++level) {
      word = levels_[level][index / kBits] ^ bit(index);
      index /= kBits;
      levels_[level][index] = word;
    }
    return number;
  }
  /// Removes all numbers; after a failure, as this takes as long as the set has room.
  void clear() {
    for (auto& level : levels_) {
      std::fill(level.begin(), level.end(), 0);
    }
    highest_ = 0;
  }

 private:
  static constexpr std::uint32_t kBits = 64;
  static std::uint64_t bit(std::uint32_t n) { return std::uint64_t{1} << (n % kBits); }
  static std::uint32_t top(std::uint64_t word) {
    return static_cast<std::uint32_t>(std::bit_width(word)) - 1;
  }
  void find_highest() {
    std::uint32_t index = 0;
    for (std::size_t level = level_count_; level-- > 1;) {
      index = index * kBits + top(levels_[level][index]);
    }
    highest_ = index;
  }

  std::array<std::vector<std::uint64_t>, 6> levels_;  ///< 64^6 numbers
  std::size_t level_count_ = 0;
  std::uint32_t highest_ = 0;  ///< no word of level 0 above it is other than 0
};

}  // namespace dynet::execute
