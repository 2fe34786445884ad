#pragma once

#include <chrono>
#include <cstdint>

namespace dynet::util {

/// What a thread asks now and then whether to go on; nobody where `check` is null.
struct Check {
  void (*check)(void* of) = nullptr;
  void* of = nullptr;
  std::chrono::steady_clock::duration interval{};  ///< it is not asked sooner again,
  std::chrono::steady_clock::time_point last{};    ///< after this; at first after the work's begin
  std::int64_t budget = 0;                         ///< work until the clock is looked at
};
/// This thread asks `next` from now on. Returns what was there, which has to be set again.
Check exchange_check(const Check& next);

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

  Check* check_;  ///< the thread's, or null where nobody is asked
};

}  // namespace dynet::util
