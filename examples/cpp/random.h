#pragma once

// Random orders that are the same in C++, in Python, and in programs without the library that are
// compared with these.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace example {

/// Random integers that are the same in C++ and in Python.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  /// In [0, n): the upper half of a word times n.
  unsigned below(unsigned n) { return static_cast<unsigned>((std::uint64_t{engine_()} * n) >> 32); }

 private:
  std::mt19937 engine_;
};

/// Goes over `count` examples in a new random order each time (Fisher and Yates, from the back),
/// some of them an update. None mixes two passes.
class Minibatches {
 public:
  Minibatches(std::uint32_t seed, std::size_t count, std::size_t size)
      : random_(seed), order_(count), size_(size), at_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      order_[i] = i;
    }
  }
  std::vector<std::size_t> next() {
    if (at_ == order_.size()) {
      std::sort(order_.begin(), order_.end());
      for (std::size_t i = order_.size(); i > 1; --i) {
        std::swap(order_[i - 1], order_[random_.below(static_cast<unsigned>(i))]);
      }
      at_ = 0;
    }
    const std::size_t begin = at_;
    at_ = std::min(at_ + size_, order_.size());
    return {order_.begin() + static_cast<std::ptrdiff_t>(begin),
            order_.begin() + static_cast<std::ptrdiff_t>(at_)};
  }
  [[nodiscard]] std::size_t updates_an_epoch() const { return (order_.size() + size_ - 1) / size_; }

 private:
  Random random_;
  std::vector<std::size_t> order_;
  std::size_t size_;
  std::size_t at_;
};

}  // namespace example
