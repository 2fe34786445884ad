#include "dynet/interrupt.h"

#include "execute/interrupt.h"

namespace dynet {

InterruptScope::InterruptScope(Check check, void* of) {
  const execute::Check outer = execute::exchange_check({check, of});
  outer_ = outer.check;
  outer_of_ = outer.of;
}
InterruptScope::~InterruptScope() { execute::exchange_check({outer_, outer_of_}); }

}  // namespace dynet
