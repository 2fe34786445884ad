#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dynet::execute {

/// A set of small numbers that gives its largest first. A byte stands for each number, and above
/// these a bit for each block of 64 bytes that may have some set, and a bit for each word of bits,
/// level upon level: whatever the gaps between the numbers, to insert or to take one costs a few
/// instructions, or up to 64 and a few per level where it is alone in its block.
///
/// A number has a byte, not a bit, because most numbers lie close together and are inserted just
/// before they are taken: a byte is stored without reading what lies beside it, and the next number
/// is found by counting down, so that a processor can look at the numbers to come before the stores
/// of this one are done.
///
/// Invariant: outside of `take_all` a bit is set exactly where the block or word below has
/// something set. Not thread-safe.
class IdSet {
 public:
  /// Room for numbers below `size`. The set has to be empty. Where this throws, there is as much
  /// room as before.
  void grow(std::size_t size) {
    if (size <= marks_.size()) {
      return;
    }
    const std::size_t blocks = (size + size / 2 + kBits - 1) / kBits;
    std::size_t words = blocks;
    std::size_t level = 0;
    do {
      words = (words + kBits - 1) / kBits;
      levels_[level].resize(words, 0);
      ++level;
    } while (words > 1);
    marks_.resize(blocks * kBits,
                  Mark::kNo);  // last: how much there is says how much room there is
    level_count_ = level;
  }
  [[nodiscard]] bool empty() const {
    return level_count_ == 0 || levels_[level_count_ - 1][0] == 0;
  }
  /// Most numbers come several times: parameters are arguments of every step.
  [[gnu::always_inline]] void insert(std::uint32_t number) {
    if (marks_[number] == Mark::kYes) {
      return;
    }
    marks_[number] = Mark::kYes;
    const std::uint32_t block = number / kBits;
    if ((levels_[0][block / kBits] & bit(block)) == 0) {
      insert_block(block);
    }
  }
  /// Removes all numbers, the largest first, and calls `visit` with each. It may insert others
  /// below the one that it was given.
  template <class Visit>
  void take_all(Visit visit) {
    while (!empty()) {
      const std::uint32_t block = highest_block();
      for (std::uint32_t number = (block + 1) * kBits; number-- > block * kBits;) {
        if (marks_[number] == Mark::kYes) {
          marks_[number] = Mark::kNo;
          visit(number);
        }
      }
      remove_block(block);
    }
  }
  /// Removes all numbers; after a failure, as this takes as long as the set has room.
  void clear() {
    std::fill(marks_.begin(), marks_.end(), Mark::kNo);
    for (auto& level : levels_) {
      std::fill(level.begin(), level.end(), 0);
    }
  }

 private:
  /// A type of its own: unlike a character, a store of one is no store to whatever else is used.
  enum class Mark : std::uint8_t { kNo, kYes };
  static constexpr std::uint32_t kBits = 64;
  static std::uint64_t bit(std::uint32_t n) { return std::uint64_t{1} << (n % kBits); }
  static std::uint32_t top(std::uint64_t word) {
    return static_cast<std::uint32_t>(std::bit_width(word)) - 1;
  }
  /// Notes that a block has something set.
  void insert_block(std::uint32_t index) {
    for (std::size_t level = 0; level < level_count_; ++level, index /= kBits) {
      std::uint64_t& word = levels_[level][index / kBits];
      const std::uint64_t before = word;
      word = before | bit(index);
      if (before != 0) {
        return;
      }
    }
  }
  /// Notes that a block has nothing set.
  void remove_block(std::uint32_t index) {
    for (std::size_t level = 0; level < level_count_; ++level, index /= kBits) {
      auto& word = levels_[level][index / kBits];
      word &= ~bit(index);
      if (word != 0) {
        return;
      }
    }
  }
  [[nodiscard]] std::uint32_t highest_block() const {
    std::uint32_t index = 0;
    for (std::size_t level = level_count_; level-- > 0;) {
      index = index * kBits + top(levels_[level][index]);
    }
    return index;
  }

  std::vector<Mark> marks_;                           ///< by number
  std::array<std::vector<std::uint64_t>, 5> levels_;  ///< 64^6 numbers
  std::size_t level_count_ = 0;
};

}  // namespace dynet::execute
