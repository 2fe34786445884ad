#pragma once

#include <cstdint>

#include "dynet/interrupt.h"

namespace dynet::util {

using Check = dynet::detail::InterruptCheck;

/// Work until the clock is looked at, in microseconds as Interrupt::pass counts them. A request
/// that takes less does not look at all.
inline constexpr std::int64_t kLookAfter = 256;

/// Sets the check of this thread, which has to live until the next exchange; null: none. Returns
/// the check before, to be restored.
Check* exchange_check(Check* next);

/// Where long work asks this thread's check. Made at the start of the work, used by the same
/// thread; after the work it may lie around.
class Interrupt {
 public:
  Interrupt();
  /// To be called before work of at most so many microseconds. Throws the exceptions of the check.
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

  Check* check_;  ///< the thread's, or null
};

}  // namespace dynet::util
