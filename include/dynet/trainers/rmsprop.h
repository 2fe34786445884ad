#pragma once

// RMSProp (Tieleman and Hinton, 2012, lecture 6.5 of "Neural Networks for Machine Learning").

#include "dynet/trainers/rule_trainer.h"

namespace dynet {

namespace trainers::updates {
/// h = rho h + (1-rho) g^2, w = keep * (w - rate * g / sqrt(h + epsilon)), with g the gradient
/// times gradient_scale.
struct RmsProp {
  double rate, epsilon, rho, gradient_scale, keep;
  template <class W, class G, class H>
  DYNET_DEVICE_FN constexpr auto step(W w, G gradient, H h) const {
    const auto g = gradient_scale * gradient;
    const auto mean = rho * h + (1.0 - rho) * g * g;
    return each(keep * (w - rate * g / sqrt(mean + epsilon)), mean);
  }
};
}  // namespace trainers::updates

/// RMSProp (Tieleman and Hinton, 2012): h = rho h + (1-rho) g^2, w -= learning_rate * g / sqrt(h +
/// eps), with `rho` from 0 to 1 and `eps` of 0 or more.
///
/// C++: kAbout has the defaults of Python, which are others.
struct RMSPropTrainer : trainers::RuleTrainer<trainers::updates::RmsProp> {
  static constexpr trainers::About<3> kAbout{
      "RMSPropTrainer", {{"learning_rate", 0.001F}, {"eps", 1e-8F}, {"rho", 0.9F}}};

  explicit RMSPropTrainer(ParameterCollection& collection, real rate = 0.1F, real eps = 1e-20F,
                          real decay = 0.95F, real edecay = 0.0F)
      : RuleTrainer(collection, rate), epsilon(eps), rho(decay) {
    eta_decay = edecay;
  }

 protected:
  [[nodiscard]] trainers::updates::RmsProp rule(const trainers::Facts& f) const override {
    return {f.rate / f.decay, static_cast<double>(epsilon), static_cast<double>(rho),
            f.gradient_scale, f.keep};
  }
  trainers::StateLists states() override {
    return {kAbout.name,
            {{&hmsg, &hlmsg}},
            {{"epsilon", &epsilon, trainers::Range::kAtLeast0},
             {"rho", &rho, trainers::Range::kUpTo1}}};
  }
  [[nodiscard]] trainers::IdleMotion idle(const trainers::Facts& /*facts*/) const override {
    return trainers::IdleMotion::shrinks({static_cast<double>(rho)});
  }

  real epsilon = 1e-20F;
  real rho = 0.95F;
  std::vector<ShadowParameters> hmsg;
  std::vector<ShadowLookupParameters> hlmsg;
};

/// The name before 2.0.
using RmsPropTrainer = RMSPropTrainer;

}  // namespace dynet
