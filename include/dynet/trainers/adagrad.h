#pragma once

// AdaGrad (Duchi, Hazan and Singer, 2011, figure 1, with a diagonal matrix).

#include "dynet/trainers/rule_trainer.h"

namespace dynet {

namespace trainers::updates {
/// h = h + g^2, w = keep * (w - rate * g / sqrt(h + epsilon)), with g the gradient times
/// gradient_scale.
struct Adagrad {
  double rate, epsilon, gradient_scale, keep;
  template <class W, class G, class H>
  DYNET_DEVICE_FN constexpr auto step(W w, G gradient, H h) const {
    const auto g = gradient_scale * gradient;
    const auto sum = h + g * g;
    return each(keep * (w - rate * g / sqrt(sum + epsilon)), sum);
  }
};
}  // namespace trainers::updates

/// AdaGrad (Duchi, Hazan and Singer, 2011): h = h + g^2, w -= learning_rate * g / sqrt(h + eps),
/// with `eps` of 0 or more.
struct AdagradTrainer : trainers::RuleTrainer<trainers::updates::Adagrad> {
  static constexpr trainers::About<2> kAbout{"AdagradTrainer",
                                             {{"learning_rate", 0.1F}, {"eps", 1e-20F}}};

  explicit AdagradTrainer(ParameterCollection& collection, real rate = 0.1F, real eps = 1e-20F,
                          real edecay = 0.0F)
      : RuleTrainer(collection, rate), epsilon(eps) {
    eta_decay = edecay;
  }

 protected:
  [[nodiscard]] trainers::updates::Adagrad rule(const trainers::Facts& f) const override {
    return {f.rate / f.decay, static_cast<double>(epsilon), f.gradient_scale, f.keep};
  }
  trainers::StateLists states() override {
    return {kAbout.name, {{&vp, &vlp}}, {{"epsilon", &epsilon, trainers::Range::kAtLeast0}}};
  }
  [[nodiscard]] trainers::IdleMotion idle(const trainers::Facts& /*facts*/) const override {
    return trainers::IdleMotion::rests();
  }

  real epsilon = 1e-20F;
  std::vector<ShadowParameters> vp;
  std::vector<ShadowLookupParameters> vlp;
};

}  // namespace dynet
