#pragma once

// Adadelta (Zeiler, 2012, algorithm 1).

#include "dynet/trainers/rule_trainer.h"

namespace dynet {

namespace trainers::updates {
/// a = rho a + (1-rho) g^2, d = g * sqrt(b + epsilon) / sqrt(a + epsilon), b = rho b + (1-rho) d^2,
/// w = keep * (w - gain * d), with g the gradient times gradient_scale.
struct Adadelta {
  double rho, epsilon, gradient_scale, gain, keep;
  template <class W, class G, class A, class B>
  DYNET_DEVICE_FN constexpr auto step(W w, G gradient, A a, B b) const {
    const auto g = gradient_scale * gradient;
    const auto mean = rho * a + (1.0 - rho) * g * g;
    const auto d = g * sqrt(b + epsilon) / sqrt(mean + epsilon);
    return each(keep * (w - gain * d), mean, rho * b + (1.0 - rho) * d * d);
  }
};
}  // namespace trainers::updates

/// Adadelta (Zeiler, 2012): a = rho a + (1-rho) g^2, d = g * sqrt(b + eps) / sqrt(a + eps), w -= d,
/// b = rho b + (1-rho) d^2. `rho` is 0 or more and less than 1, `eps` is 0 or more. The learning
/// rate is 1 and not used.
struct AdadeltaTrainer : trainers::RuleTrainer<trainers::updates::Adadelta> {
  static constexpr trainers::About<2> kAbout{"AdadeltaTrainer", {{"eps", 1e-6F}, {"rho", 0.95F}}};

  explicit AdadeltaTrainer(ParameterCollection& collection, real eps = 1e-6F, real decay = 0.95F,
                           real edecay = 0.0F)
      : RuleTrainer(collection, 1.0F), epsilon(eps), rho(decay) {
    eta_decay = edecay;
  }

 protected:
  [[nodiscard]] trainers::updates::Adadelta rule(const trainers::Facts& f) const override {
    return {static_cast<double>(rho), static_cast<double>(epsilon), f.gradient_scale, 1.0 / f.decay,
            f.keep};
  }
  trainers::StateLists states() override {
    return {kAbout.name,
            {{&hg, &hlg}, {&hd, &hld}},
            {{"epsilon", &epsilon, trainers::Range::kAtLeast0},
             {"rho", &rho, trainers::Range::kBelow1}}};
  }
  [[nodiscard]] trainers::IdleMotion idle(const trainers::Facts& /*facts*/) const override {
    return trainers::IdleMotion::shrinks({static_cast<double>(rho), static_cast<double>(rho)});
  }

  real epsilon = 1e-6F;
  real rho = 0.95F;
  std::vector<ShadowParameters> hg, hd;
  std::vector<ShadowLookupParameters> hlg, hld;
};

}  // namespace dynet
