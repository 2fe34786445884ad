#pragma once

// Where the terms of a sum lie among its arguments.

#include <algorithm>
#include <array>
#include <cstdint>

#include "schedule/plan.h"

namespace dynet::schedule {

/// The arguments of an operation that is a sum of terms: the heads stand first, one for each sum;
/// then the state, if any, that makes results of the sums; then terms of equal numbers of
/// arguments. The last argument of a term is the vector, and its other arguments are weights. An
/// operation that is no sum has heads alone.
class Terms {
 public:
  explicit Terms(const ext::Record& record)
      : heads_(record.head_args),
        begin_(heads_ + record.state_args),
        each_(record.term_args),
        state_vectors_(record.state_vectors) {}

  [[nodiscard]] std::uint32_t heads() const { return heads_; }
  [[nodiscard]] std::uint32_t each() const { return each_; }
  /// Where the first term begins.
  [[nodiscard]] std::uint32_t begin() const { return begin_; }
  /// Bit a: argument a belongs to the state.
  [[nodiscard]] std::uint64_t state() const { return bits_below(begin_) & ~bits_below(heads_); }
  /// Bit a: argument a is a weight.
  [[nodiscard]] std::uint64_t weights() const {
    return of_terms() << begin_ | (state() & ~(state_vectors_ << heads_));
  }
  /// Bit a: argument a stands behind the heads and is no weight.
  [[nodiscard]] std::uint64_t ends() const {
    return ~of_terms() << begin_ | state_vectors_ << heads_;
  }

 private:
  /// By the arguments of a term: bit p says that the argument at p behind the beginning is a
  /// weight. Longer terms than the mask are all like the last one: none ends in it.
  static constexpr auto kWeights = [] {
    std::array<std::uint64_t, kMaxMaskedArgs + 2> masks{};
    for (std::uint32_t each = 1; each < masks.size(); ++each) {
      for (std::uint32_t p = 0; p < kMaxMaskedArgs; ++p) {
        masks[each] |= std::uint64_t{p % each != each - 1} << p;
      }
    }
    return masks;
  }();

  [[nodiscard]] std::uint64_t of_terms() const {
    return kWeights[std::min<std::size_t>(each_, kWeights.size() - 1)];
  }

  std::uint32_t heads_;
  std::uint32_t begin_;
  std::uint32_t each_;
  std::uint64_t state_vectors_;
};

}  // namespace dynet::schedule
