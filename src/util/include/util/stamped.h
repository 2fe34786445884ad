#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dynet::util {

/// An array that is cleared in no time, for notes about a few of many nodes: an entry counts only
/// in the round in which it was set. Not thread-safe.
template <class T>
class Stamped {
 public:
  /// Begins a round, in which all entries below `size` are T().
  void begin(std::size_t size) {
    if (++round_ == 0) {  // counted to the end
      entries_.assign(entries_.size(), {});
      round_ = 1;
    }
    if (entries_.size() < size) {
      entries_.resize(size);
    }
  }
  [[nodiscard]] T operator[](std::size_t i) const {
    return entries_[i].round == round_ ? entries_[i].value : T();
  }
  void set(std::size_t i, const T& value) { entries_[i] = {round_, value}; }

 private:
  struct Entry {
    std::uint32_t round = 0;
    T value = T();
  };
  std::vector<Entry> entries_;
  std::uint32_t round_ = 0;
};

}  // namespace dynet::util
