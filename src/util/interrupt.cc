#include "util/interrupt.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace dynet::util {
namespace {

// Most work takes a tenth of its stated time. Some takes more: a product with a matrix of a
// thousand columns makes numbers at a hundred nanoseconds each, 25 times as much, and so the clock
// may come 6 ms late, and the tick of the clock itself 4 ms.

thread_local Check* of_thread = nullptr;

/// An update of a tagger, 130 us, looks 30 times. So this function reads a clock that ticks every
/// few milliseconds, if there is one: the read takes 5 ns in place of 22.
std::chrono::steady_clock::time_point now_about() {
#ifdef CLOCK_MONOTONIC_COARSE
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::chrono::steady_clock::time_point(std::chrono::seconds(now.tv_sec) +
                                               std::chrono::nanoseconds(now.tv_nsec));
#else
  return std::chrono::steady_clock::now();
#endif
}

}  // namespace

Check* exchange_check(Check* next) { return std::exchange(of_thread, next); }

Interrupt::Interrupt() : check_(of_thread) {}

void Interrupt::look() {
  check_->budget = kLookAfter;
  const auto now = now_about();
  if (check_->last == std::chrono::steady_clock::time_point()) {  // the work begins
    check_->last = now;
  }
  if (now - check_->last >= check_->interval) {
    check_->last = now;
    check_->check(check_->of);
  }
}

}  // namespace dynet::util

namespace dynet {

InterruptScope::InterruptScope(Check check, void* of, std::chrono::milliseconds interval) {
  using std::chrono::milliseconds;
  using Ticks = std::chrono::steady_clock::duration;
  constexpr auto kMost = std::chrono::duration_cast<milliseconds>(Ticks::max());
  own_.check = check;
  own_.of = of;
  own_.interval = std::clamp(interval, milliseconds(0), kMost);
  own_.budget = interval <= milliseconds(0) ? 0 : util::kLookAfter;
  outer_ = util::exchange_check(check == nullptr ? nullptr : &own_);
}
InterruptScope::~InterruptScope() { util::exchange_check(outer_); }

}  // namespace dynet
