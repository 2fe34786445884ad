// Uses that are legal and probably not meant. Each warning is given once for a trainer, before any
// change, as the receiver may throw.

#include <algorithm>
#include <string>

#include "dynet/trainers/trainer.h"

#include "params/access.h"
#include "params/settings.h"
#include "util/number_text.h"

namespace dynet {

/// DyNet 2.1 takes such rates, and who wants to climb may use one.
void Trainer::warn_of_rate() {
  if (learning_rate < 0.0F && !has_warned_of_rate_) {
    has_warned_of_rate_ = true;
    params::warn("Trainer: learning_rate is " + util::text_of(learning_rate) +
                 ": updates go up the gradient, so that the loss grows; want 0 or more");
  }
}

void Trainer::set_learning_rate(real rate) {
  check_rate(rate);
  learning_rate = rate;
  warn_of_rate();
}

/// An update without a gradient is legal: a minibatch may have had nothing to learn from. A trainer
/// that has never met a gradient is not fed. Looks for the first gradient of any parameter of the
/// collection, frozen or not. `squares`: of the updated parameters; a program may have written a
/// gradient itself, and a gradient from backward may be zero.
void Trainer::look_for_gradient(double squares) {
  if (has_met_gradient_) {
    return;
  }
  has_met_gradient_ = true;
  const auto& all = detail::ModelAccess::all(*model);
  if (squares != 0.0 ||
      std::any_of(all.begin(), all.end(), [](const auto& p) { return p->has_grad(); })) {
    return;
  }
  const std::string parameters = all.empty() ? "its collection has no parameters"
                                             : "it has " + std::to_string(all.size()) +
                                                   " parameters, the first is " + all.front()->name;
  params::warn("update: no gradient has come to this trainer (" + parameters +
               "); want backward() before update(), from a loss that was computed with parameters "
               "of the collection that the trainer was made with");
}

}  // namespace dynet
