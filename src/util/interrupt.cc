#include "util/interrupt.h"

#include <utility>

namespace dynet::util {
namespace {

// A microsecond each: the clock, 30 ns, is looked at after so many. Most work takes a tenth of what
// it is called. Some takes more: a product with a matrix of a thousand columns makes numbers at a
// hundred nanoseconds each, 25 times as much, and so the clock may come 6 ms late.
constexpr std::int64_t kBudget = 256;

thread_local Check of_thread;

}  // namespace

Check exchange_check(const Check& next) { return std::exchange(of_thread, next); }

Interrupt::Interrupt() : check_(of_thread.check == nullptr ? nullptr : &of_thread) {}

void Interrupt::look() {
  check_->budget = kBudget;
  if (check_->check == nullptr) {
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (check_->last == std::chrono::steady_clock::time_point()) {  // the work begins
    check_->last = now;
  }
  if (now - check_->last >= check_->interval) {
    check_->last = now;
    check_->check(check_->of);
  }
}

}  // namespace dynet::util
