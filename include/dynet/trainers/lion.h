#pragma once

// Lion (Chen et al., 2023, "Symbolic discovery of optimization algorithms", algorithm 2).

#include "dynet/trainers/rule_trainer.h"

namespace dynet {

namespace trainers::updates {
/// c = b1 m + (1-b1) g, w = keep * (w - rate * sign(c)), m = b2 m + (1-b2) g, with g the gradient
/// times gradient_scale.
struct Lion {
  double rate, beta_1, beta_2, gradient_scale, keep;
  template <class W, class G, class M>
  DYNET_DEVICE_FN constexpr auto step(W w, G gradient, M m) const {
    const auto g = gradient_scale * gradient;
    const auto c = beta_1 * m + (1.0 - beta_1) * g;
    const auto sign = select(c > 0.0, 1.0, select(c < 0.0, -1.0, 0.0));
    return each(keep * (w - rate * sign), beta_2 * m + (1.0 - beta_2) * g);
  }
};
/// Without a gradient the sign stays: w changes by the sum of the rates.
struct LionCatchUp {
  double total, mean, variance, skew;
  template <class W, class M>
  DYNET_DEVICE_FN constexpr auto step(W w, M m) const {
    return each(w + total * select(m > 0.0, 1.0, select(m < 0.0, -1.0, 0.0)));
  }
};
}  // namespace trainers::updates

/// Lion (Chen et al., 2023): c = b1 m + (1-b1) g, w = (1 - learning_rate * weight_decay) w -
/// learning_rate * sign(c), m = b2 m + (1-b2) g; sign(0) is 0. Every element moves by the rate, so
/// rates are three to ten times smaller than in Adam, and decays three to ten times larger. A table
/// is decayed as a whole, whatever rows have a gradient. `b1` is 0 or more and less than 1; `b2`
/// may be 1 as well.
struct LionTrainer
    : trainers::RuleTrainer<trainers::updates::Lion, trainers::updates::LionCatchUp> {
  static constexpr trainers::About<4> kAbout{
      "LionTrainer",
      {{"learning_rate", 0.0001F}, {"beta_1", 0.9F}, {"beta_2", 0.99F}, {"weight_decay", 0.0F}}};

  explicit LionTrainer(ParameterCollection& collection, real rate = 0.0001F, real b1 = 0.9F,
                       real b2 = 0.99F, real decay = 0.0F)
      : RuleTrainer(collection, rate), beta_1(b1), beta_2(b2), weight_decay(decay) {}

 protected:
  [[nodiscard]] trainers::updates::Lion rule(const trainers::Facts& f) const override {
    return {f.rate / f.decay, static_cast<double>(beta_1), static_cast<double>(beta_2),
            f.gradient_scale, f.keep};
  }
  trainers::StateLists states() override {
    return {kAbout.name,
            {{&m, &lm}},
            {{"beta_1", &beta_1, trainers::Range::kBelow1},
             {"beta_2", &beta_2, trainers::Range::kUpTo1},
             {"weight_decay", &weight_decay}}};
  }
  [[nodiscard]] double shrink() const override {
    return 1.0 - static_cast<double>(learning_rate) * static_cast<double>(weight_decay);
  }
  [[nodiscard]] trainers::IdleMotion idle(const trainers::Facts& f) const override {
    const auto keep = static_cast<double>(beta_2);
    if (beta_1 == 0.0F) {
      return trainers::IdleMotion::shrinks({keep});
    }
    if (beta_1 < 0.0F || beta_2 <= 0.0F) {  // the sign changes, or is that of one step alone
      return {};
    }
    return trainers::IdleMotion::moves(-f.rate / f.decay, 1.0, 1.0, {keep},
                                       trainers::updates::LionCatchUp{});
  }

  real beta_1;
  real beta_2;
  real weight_decay;
  std::vector<ShadowParameters> m;
  std::vector<ShadowLookupParameters> lm;
};

}  // namespace dynet
