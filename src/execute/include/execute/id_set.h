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
/// numbers, to insert or to take one costs a few instructions, or a few per level where it is alone
/// in its word, and a level is 64 times as short as the one below. Invariant: outside of `take_all`
/// a bit of a higher level is set exactly where its word below is not 0. Not thread-safe.
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
    std::uint64_t& word = levels_[0][number / kBits];
    const std::uint64_t before = word;
    word = before | bit(number);
    if (before == 0) {
      insert_above(number / kBits);
    }
  }
  /// Removes all numbers, the largest first, and calls `visit` with each. It may insert others
  /// below the one that it was given.
  template <class Visit>
  void take_all(Visit visit) {
    while (!empty()) {
      const std::uint32_t index = highest_word();
      std::uint64_t& word = levels_[0][index];
      while (word != 0) {
        const std::uint32_t place = top(word);
        word ^= std::uint64_t{1} << place;
        visit(index * kBits + place);
      }
      remove_above(index);
    }
  }
  /// Removes all numbers; after a failure, as this takes as long as the set has room.
  void clear() {
    for (auto& level : levels_) {
      std::fill(level.begin(), level.end(), 0);
    }
  }

 private:
  static constexpr std::uint32_t kBits = 64;
  static std::uint64_t bit(std::uint32_t n) { return std::uint64_t{1} << (n % kBits); }
  static std::uint32_t top(std::uint64_t word) {
    return static_cast<std::uint32_t>(std::bit_width(word)) - 1;
  }
  /// Notes that word `index` of level 0 is no longer 0.
  void insert_above(std::uint32_t index) {
    for (std::size_t level = 1; level < level_count_; ++level, index /= kBits) {
      std::uint64_t& word = levels_[level][index / kBits];
      const std::uint64_t before = word;
      word = before | bit(index);
      if (before != 0) {
        return;
      }
    }
  }
  /// Notes that word `index` of level 0 is 0.
  void remove_above(std::uint32_t index) {
    for (std::size_t level = 1; level < level_count_; ++level, index /= kBits) {
      if ((levels_[level][index / kBits] &= ~bit(index)) != 0) {
        return;
      }
    }
  }
  [[nodiscard]] std::uint32_t highest_word() const {
    std::uint32_t index = 0;
    for (std::size_t level = level_count_; level-- > 1;) {
      index = index * kBits + top(levels_[level][index]);
    }
    return index;
  }

  std::array<std::vector<std::uint64_t>, 6> levels_;  ///< 64^6 numbers
  std::size_t level_count_ = 0;
};

}  // namespace dynet::execute
