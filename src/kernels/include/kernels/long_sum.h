#pragma once

// Sums of many terms in results that loops of a device add to: the gradient of a broadcast
// argument, the sum of a long list.
//
// Each addition to a float rounds by up to half of the last place, and 2^24 + 1 is 2^24 in float.
// So the sum is moved on after kMostAdded additions: to a sum of sums, from there after kMostAdded
// moves to a sum of sums of sums, and so on, as the digits of a counter carry. Each term of a sum
// of 10^6 terms meets 4 * 32 roundings. A level of sums is as large as the result, and is taken
// from the call's scratch memory when the first sum is moved to it. Only functions of `Kernels` are
// called, so every device has long sums; a device that computes in double needs none.
//
// Example: a bias of one number that a batch of 2,000 examples reads. Its gradient moves on after
// 32 examples; after 1,024 the second level moves its 32 sums to the third; settle() adds the third
// and the rest of the second to the gradient: at most 32 + 32 + 2 roundings instead of 2,000.

#include <cstddef>
#include <cstdint>

#include "dynet/ext/op.h"

namespace dynet::ext {

class LongSum {
 public:
  static constexpr std::int64_t kMostAdded = 32;

  LongSum() = default;
  /// Watches the result `o`, each number of which gets `terms` additions at most. Does nothing if
  /// they are few, or `o` is absent. `o` stays where it is until settle().
  LongSum(const Call& call, const Operand& o, std::int64_t terms);

  [[nodiscard]] bool is_long() const { return call_ != nullptr; }
  /// Notes that the `span` numbers from `at` on have got up to `terms` additions each.
  void added(void* at, std::int64_t span, std::int64_t terms = 1);
  /// Notes up to `terms` additions to every number of the operand.
  void added_everywhere(std::int64_t terms = 1);
  /// Adds the sums of all levels to the result. Call it once, after the last loop.
  void settle();

 private:
  static constexpr int kLevels = 6;
  /// Sums to which the level below, or a loop, has added `count` times at most. Only numbers
  /// `first` to `last` of the operand may differ from 0.
  struct Level {
    char* data = nullptr;  ///< all numbers; null in the first level, the operand itself
    std::int64_t first = 0, last = 0, count = 0;
    void note(std::int64_t from, std::int64_t to, std::int64_t terms);
  };

  void find(const char* at);
  void carry(int level);

  const Call* call_ = nullptr;  ///< null: it is not long
  const Operand* o_ = nullptr;
  std::int64_t bytes_ = 0;  ///< of a number
  Level levels_[kLevels];
  std::int64_t block_ = 0;   ///< the block that was added to last
  std::int64_t before_ = 0;  ///< numbers of the blocks before it
};

/// The long sum of one result of a call that is being cut.
struct TrackSum {
  std::size_t track;
  LongSum sum;
};

}  // namespace dynet::ext
