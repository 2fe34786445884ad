#include "util/interrupt.h"

#include <utility>

namespace dynet::util {
namespace {

// A microsecond each: the clock, 30 ns, is looked at after so many. Work that was called small may
// be larger: a product with a matrix of a thousand columns makes numbers at a hundred nanoseconds
// each.
constexpr std::int64_t kBudget = 64;

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
  if (now - check_->last >= check_->interval) {
    check_->last = now;
    check_->check(check_->of);
  }
}

}  // namespace dynet::util
