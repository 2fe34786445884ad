#pragma once

// Where the terms of a sum lie among its arguments.

#include <algorithm>
#include <array>
#include <cstdint>

#include "schedule/plan.h"

namespace dynet::schedule {

/// The arguments of an operation that is a sum of terms: as many as it has results stand first, the
/// heads; then come terms of as many arguments each. The last one of a term is what the others, its
/// weights, multiply. What is no sum has heads alone.
class Terms {
 public:
  explicit Terms(const ext::Record& record) : heads_(record.outputs), each_(record.term_args) {}

  [[nodiscard]] std::uint32_t heads() const { return heads_; }
  [[nodiscard]] std::uint32_t each() const { return each_; }
  /// Bit a: argument a is a weight.
  [[nodiscard]] std::uint64_t weights() const {
    return kWeights[std::min<std::size_t>(each_, kWeights.size() - 1)] << heads_;
  }
  /// Bit a: argument a stands behind the heads and is no weight.
  [[nodiscard]] std::uint64_t ends() const {
    return ~kWeights[std::min<std::size_t>(each_, kWeights.size() - 1)] << heads_;
  }

 private:
  /// By the arguments of a term: bit p says that the argument at p behind the heads is a weight.
  /// Longer terms than the mask are all like the last one: none ends in it.
  static constexpr auto kWeights = [] {
    std::array<std::uint64_t, kMaxMaskedArgs + 2> masks{};
    for (std::uint32_t each = 1; each < masks.size(); ++each) {
      for (std::uint32_t p = 0; p < kMaxMaskedArgs; ++p) {
        masks[each] |= std::uint64_t{p % each != each - 1} << p;
      }
    }
    return masks;
  }();

  std::uint32_t heads_;
  std::uint32_t each_;
};

}  // namespace dynet::schedule
