#pragma once

#include <cstdint>

#include "dynet/interrupt.h"

namespace dynet::util {

using Check = dynet::detail::InterruptCheck;

/// Work until the clock is looked at, in microseconds as Interrupt::pass counts them. A request
/// that takes less does not look at all.
inline constexpr std::int64_t kLookAfter = 256;

/// This thread asks `next` from now on, which has to live until it is exchanged again; null: it
/// asks nobody. Returns whom it asked, to be given back.
Check* exchange_check(Check* next);

/// Where long work asks this thread's check. Made at the start of the work, used by the same
/// thread; after the work it may lie around.
class Interrupt {
 public:
  Interrupt();
  /// So much work, in microseconds at most, is going to be done. Throws what the check throws.
  void pass(std::int64_t work) {
    if (check_ != nullptr) [[unlikely]] {
      check_->budget -= work;
      if (check_->budget <= 0) {
        look();
      }
    }
  }
  [[nodiscard]] bool is_on() const { return check_ != nullptr; }

 private:
  void look();

  Check* check_;  ///< the thread's, or null if nobody is asked
};

}  // namespace dynet::util
