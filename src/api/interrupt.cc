#include "dynet/interrupt.h"

#include <algorithm>

#include "util/interrupt.h"

namespace dynet {

InterruptScope::InterruptScope(Check check, void* of, std::chrono::milliseconds interval) {
  using std::chrono::milliseconds;
  using Ticks = std::chrono::steady_clock::duration;
  constexpr auto kMost = std::chrono::duration_cast<milliseconds>(Ticks::max());
  const util::Check outer = util::exchange_check(
      {.check = check, .of = of, .interval = std::clamp(interval, milliseconds(0), kMost)});
  outer_ = {outer.check, outer.of, outer.interval, outer.last};
}
InterruptScope::~InterruptScope() {
  util::exchange_check(
      {.check = outer_.check, .of = outer_.of, .interval = outer_.interval, .last = outer_.last});
}

}  // namespace dynet
