#include "dynet/interrupt.h"

#include "util/interrupt.h"

namespace dynet {

InterruptScope::InterruptScope(Check check, void* of, std::chrono::milliseconds interval) {
  util::Check next{.check = check, .of = of, .interval = interval};
  if (check != nullptr) {
    next.last = std::chrono::steady_clock::now();
  }
  const util::Check outer = util::exchange_check(next);
  outer_ = {outer.check, outer.of, outer.interval, outer.last};
}
InterruptScope::~InterruptScope() {
  util::exchange_check(
      {.check = outer_.check, .of = outer_.of, .interval = outer_.interval, .last = outer_.last});
}

}  // namespace dynet
