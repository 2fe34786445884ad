#pragma once

// Stochastic gradient descent.

#include "dynet/trainers/rule_trainer.h"

namespace dynet {

namespace trainers::updates {
/// w = keep * (w - rate * gradient_scale * g)
struct Sgd {
  double rate, gradient_scale, keep;
  template <class W, class G>
  DYNET_DEVICE_FN constexpr auto step(W w, G g) const {
    return each(keep * w - (keep * rate * gradient_scale) * g);
  }
};
}  // namespace trainers::updates

/// w -= learning_rate * g.
struct SimpleSGDTrainer : trainers::RuleTrainer<trainers::updates::Sgd> {
  static constexpr trainers::About<1> kAbout{"SimpleSGDTrainer", {{"learning_rate", 0.1F}}};

  explicit SimpleSGDTrainer(ParameterCollection& collection, real rate = 0.1F, real edecay = 0.0F)
      : RuleTrainer(collection, rate) {
    eta_decay = edecay;
  }

 protected:
  [[nodiscard]] trainers::updates::Sgd rule(const trainers::Facts& f) const override {
    return {f.rate / f.decay, f.gradient_scale, f.keep};
  }
  trainers::StateLists states() override { return {kAbout.name, {}, {}}; }
  [[nodiscard]] trainers::IdleMotion idle(const trainers::Facts& /*facts*/) const override {
    return trainers::IdleMotion::rests();
  }
};

}  // namespace dynet
