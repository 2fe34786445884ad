#pragma once

// Moves by index: equal indices in a list add several terms to one place.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "carried.h"
#include "scratch.h"

namespace dynet::kernels {

/// The number of additions to each place, by index, and doubles to which places with many terms are
/// carried over (carried.h), one for each number of the result. Lives for one call, in memory of
/// the thread.
class MeetingPlaces {
 public:
  /// `size`: numbers of the result.
  explicit MeetingPlaces(std::int64_t size) : size_(size) {}
  MeetingPlaces(const MeetingPlaces&) = delete;
  MeetingPlaces& operator=(const MeetingPlaces&) = delete;
  ~MeetingPlaces() = default;

  /// Whether some index stands in a list too often. Counts, so that lists of several examples may
  /// be taken together.
  bool count(const unsigned* index, std::int64_t n) {
    std::uint32_t most = 0;
    for (std::int64_t r = 0; r < n; ++r) {
      if (index[r] >= counts().size()) {
        counts().resize(std::size_t{index[r]} + 1, 0);
      }
      most = std::max(most, ++counts()[index[r]]);
    }
    return most > kMostTerms;
  }
  /// Sets the counts to 0: after count(), and after the last is_full().
  void forget(const unsigned* index, std::int64_t n) {
    for (std::int64_t r = 0; r < n; ++r) {
      counts()[index[r]] = 0;
    }
  }
  /// Whether the place of an index has so many terms now that it is to be carried over.
  [[nodiscard]] bool is_full(unsigned index) { return ++counts()[index] % kMostTerms == 0; }

  /// Number `at` of the result goes over to the doubles.
  void carry(float* result, std::int64_t at, std::int64_t n) {
    if (!is_carried_) {
      std::fill_n(sums(), size_, 0.0);
      is_carried_ = true;
    }
    double* const to = sums() + at;
    float* const from = result + at;
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] += static_cast<double>(from[i]);
      from[i] = 0.0F;
    }
  }
  /// Writes the complete sums to the result.
  void settle(float* result) {
    for (std::int64_t i = 0; i < size_ && is_carried_; ++i) {
      result[i] = static_cast<float>(sums()[i] + static_cast<double>(result[i]));
    }
    is_carried_ = false;
  }

 private:
  /// All 0 between calls.
  static std::vector<std::uint32_t>& counts() {
    static thread_local std::vector<std::uint32_t> all;
    return all;
  }
  [[nodiscard]] double* sums() const {
    static thread_local Scratch memory;
    return reinterpret_cast<double*>(memory.get(2 * static_cast<std::size_t>(size_)));
  }

  std::int64_t size_;
  bool is_carried_ = false;
};

}  // namespace dynet::kernels
