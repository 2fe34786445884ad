#include "execute/interrupt.h"

#include <utility>

namespace dynet::execute {
namespace {

// Small groups take a microsecond, so the clock, 30 ns, is looked at every 64 of them; a product
// with a matrix of a thousand columns makes numbers at a hundred nanoseconds each.
constexpr std::int64_t kBudget = 64;
constexpr std::chrono::milliseconds kInterval{40};

thread_local Check of_thread;

}  // namespace

Check exchange_check(const Check& check) { return std::exchange(of_thread, check); }

void Interrupt::begin() {
  check_ = of_thread;
  if (check_.check != nullptr) {
    budget_ = kBudget;
    last_ = std::chrono::steady_clock::now();
  }
}

void Interrupt::look() {
  budget_ = kBudget;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ >= kInterval) {
    last_ = now;
    check_.check(check_.of);
  }
}

}  // namespace dynet::execute
