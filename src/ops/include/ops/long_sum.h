#pragma once

// Results to which a device's loops add again and again: the gradient of what is broadcast, the sum
// of a long list.
//
// A float loses up to half of its last place with each number that is added, and from 2^24 on a 1.
// So after kMostAdded additions what there is goes on to a sum of such sums, which goes on to a sum
// of those, and so on, as a counter's digits do: a sum of 10^6 terms has 4 * 32 roundings on its
// way. Levels are as large as the result, and are taken from the call's scratch memory when they
// are needed. All is said with what every device has; one that computes in double does nothing.

#include <cstddef>
#include <cstdint>

#include "dynet/ext/op.h"

namespace dynet::ext {

class LongSum {
 public:
  static constexpr std::int64_t kMostAdded = 32;

  LongSum() = default;
  /// Of a result that is added to, each of whose numbers gets `terms` at most; where these are few,
  /// or `o` is absent, nothing is done. `o` stays where it is until settle().
  LongSum(const Call& call, const Operand& o, std::int64_t terms);

  [[nodiscard]] bool is_long() const { return call_ != nullptr; }
  /// The `span` numbers from `at` on may have got `terms` more each.
  void added(void* at, std::int64_t span, std::int64_t terms = 1);
  /// All numbers may; of an operand in one block.
  void added_everywhere(std::int64_t terms = 1);
  /// Adds what went on. After the last loop.
  void settle();

 private:
  static constexpr int kLevels = 6;
  /// A sum of what the level below, or a loop, added `count` times at most: numbers `first` to
  /// `last` of the operand may hold something.
  struct Level {
    char* data = nullptr;  ///< of all numbers; of the first level null: they are the operand's
    std::int64_t first = 0, last = 0, count = 0;
    void note(std::int64_t from, std::int64_t to, std::int64_t terms);
  };

  void find(const char* at);
  void carry(int level);

  const Call* call_ = nullptr;  ///< null: it is not long
  const Operand* o_ = nullptr;
  std::int64_t bytes_ = 0;  ///< of a number
  Level levels_[kLevels];
  std::int64_t block_ = 0;   ///< that of the places that were added to last
  std::int64_t before_ = 0;  ///< numbers of the blocks before it
};

/// That of one of the results of a call that is being cut.
struct TrackSum {
  std::size_t track;
  LongSum sum;
};

}  // namespace dynet::ext
