#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dynet::util {

/// Finds an owner's numbered thing by content. The things lie with the owner; the table has the
/// hash and the number of each, in open addressing. A hash only proposes; `equal` decides. Emptying
/// the table takes no time and keeps its memory. Thread rule: the owner's.
class IndexTable {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// The number of the thing with this hash for which equal(number) holds, or kNone.
  template <class Equal>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, Equal equal) const {
    if (used_ == 0) {
      return kNone;
    }
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      const Slot& s = slots_[i];
      if (s.generation != generation_) {
        return kNone;
      }
      if (s.hash == hash && equal(s.index)) {
        return s.index;
      }
    }
  }
  /// Enters a thing that is not there. If this throws, nothing has changed.
  void insert(std::uint64_t hash, std::uint32_t index) {
    reserve();
    place(slots_, {hash, index, generation_});
    ++used_;
  }
  /// Makes room for one more, so that the next insert throws nothing.
  void reserve() {
    if ((used_ + 1) * 2 <= slots_.size()) {
      return;
    }
    std::vector<Slot> larger(std::max<std::size_t>(64, 2 * slots_.size()));
    for (const Slot& s : slots_) {
      if (s.generation == generation_) {
        place(larger, s);
      }
    }
    slots_.swap(larger);
  }
  /// Takes out thing `index`, which is there. Things behind it move up.
  void remove(std::uint64_t hash, std::uint32_t index) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t hole = hash & mask;
    while (slots_[hole].index != index) {
      hole = (hole + 1) & mask;
    }
    for (std::size_t i = (hole + 1) & mask; slots_[i].generation == generation_;
         i = (i + 1) & mask) {
      const std::size_t wanted = slots_[i].hash & mask;
      if (((i - wanted) & mask) >= ((i - hole) & mask)) {
        slots_[hole] = slots_[i];
        hole = i;
      }
    }
    slots_[hole].generation = 0;
    --used_;
  }
  void clear() {
    used_ = 0;
    if (++generation_ == 0) {
      std::fill(slots_.begin(), slots_.end(), Slot{});
      generation_ = 1;
    }
  }
  [[nodiscard]] std::size_t size() const { return used_; }
  [[nodiscard]] std::size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t index = 0;
    std::uint32_t generation = 0;  ///< the slot is empty unless this is the table's
  };
  static void place(std::vector<Slot>& slots, const Slot& s) {
    const std::size_t mask = slots.size() - 1;
    std::size_t i = s.hash & mask;
    while (slots[i].generation == s.generation) {
      i = (i + 1) & mask;
    }
    slots[i] = s;
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
  std::uint32_t generation_ = 1;
};

}  // namespace dynet::util
