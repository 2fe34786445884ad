#pragma once

// Clipping by value, as a rule: it runs over gradients before the step does.

#include "dynet/trainers/rule_trainer.h"

namespace dynet {

namespace trainers::updates {
/// g limited to [-limit, limit]; the rule changes the gradient, and reads nothing else.
struct ClipByValue {
  double limit;
  template <class G>
  DYNET_DEVICE_FN constexpr auto step(G g) const {
    return each(max(min(g, limit), -limit));
  }
};
}  // namespace trainers::updates

namespace trainers {
/// The entry in the list of rules with loops.
struct ClippingByValue {
  using Rule = trainers::updates::ClipByValue;
  using CatchUp = NoCatchUp;
};
}  // namespace trainers

}  // namespace dynet
