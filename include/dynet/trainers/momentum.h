#pragma once

// Gradient descent with momentum (Rumelhart, Hinton and Williams, 1986, formula 9).

#include "dynet/trainers/rule_trainer.h"

namespace dynet {

namespace trainers::updates {
/// v = momentum * v - rate * gradient_scale * g, w = keep * (w + gain * v)
struct Momentum {
  double rate, momentum, gradient_scale, gain, keep;
  template <class W, class G, class V>
  DYNET_DEVICE_FN constexpr auto step(W w, G g, V v) const {
    const auto speed = momentum * v - (rate * gradient_scale) * g;
    return each(keep * (gain * speed + w), speed);
  }
};
/// Without a gradient v shrinks by `momentum` each time, and w changes by gain * v.
struct MomentumCatchUp {
  double total, mean, variance, skew;
  template <class W, class V>
  DYNET_DEVICE_FN constexpr auto step(W w, V v) const {
    return each(w + total * v);
  }
};
}  // namespace trainers::updates

/// Gradient descent with momentum: v = mom * v - learning_rate * g, w += v, with `mom` from 0 to 1.
struct MomentumSGDTrainer
    : trainers::RuleTrainer<trainers::updates::Momentum, trainers::updates::MomentumCatchUp> {
  static constexpr trainers::About<2> kAbout{"MomentumSGDTrainer",
                                             {{"learning_rate", 0.01F}, {"mom", 0.9F}}};

  explicit MomentumSGDTrainer(ParameterCollection& collection, real rate = 0.01F, real mom = 0.9F,
                              real edecay = 0.0F)
      : RuleTrainer(collection, rate), momentum(mom) {
    eta_decay = edecay;
  }

  std::vector<ShadowParameters> vp;
  std::vector<ShadowLookupParameters> vlp;

 protected:
  [[nodiscard]] trainers::updates::Momentum rule(const trainers::Facts& f) const override {
    return {f.rate, static_cast<double>(momentum), f.gradient_scale, 1.0 / f.decay, f.keep};
  }
  trainers::StateLists states() override {
    return {kAbout.name, {{&vp, &vlp}}, {{"momentum", &momentum, trainers::Range::kUpTo1}}};
  }
  [[nodiscard]] trainers::IdleMotion idle(const trainers::Facts& f) const override {
    const auto mu = static_cast<double>(momentum);
    return trainers::IdleMotion::moves(1.0 / f.decay, mu, 1.0, {mu},
                                       trainers::updates::MomentumCatchUp{});
  }

  real momentum = 0.9F;
};

}  // namespace dynet
