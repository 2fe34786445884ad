#pragma once

// LAMB (You et al., 2020, "Large batch optimization for deep learning: training BERT in 76
// minutes", algorithm 2, with phi(z) = z).

#include <cmath>

#include "dynet/trainers/rule_trainer.h"

namespace dynet {

namespace trainers::updates {
/// m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2, u = mean_scale * m / (sqrt(square_scale * v) +
/// epsilon) + weight_decay * w, w = keep * (w - rate * |w| / |u| * u), with norms over the whole
/// parameter or row and g the gradient times gradient_scale. `gain` stands for |w| / |u| if one
/// of them is 0.
struct Lamb {
  double rate, beta_1, beta_2, epsilon, mean_scale, square_scale, weight_decay, gradient_scale,
      gain, keep;
  template <class W, class G, class M, class V>
  DYNET_DEVICE_FN constexpr auto step(W w, G gradient, M m, V v) const {
    const auto g = gradient_scale * gradient;
    const auto mean = beta_1 * m + (1.0 - beta_1) * g;
    const auto square = beta_2 * v + (1.0 - beta_2) * g * g;
    const auto u = mean_scale * mean / (sqrt(square_scale * square) + epsilon) + weight_decay * w;
    const auto size = sqrt(over::sum(w * w));
    const auto step = sqrt(over::sum(u * u));
    const auto trust = select(min(size, step) > 0.0, size / step, gain);
    return each(keep * (w - (rate * trust) * u), mean, square);
  }
};
}  // namespace trainers::updates

/// LAMB (You et al., 2020): u = m' / (sqrt(v') + eps) + weight_decay * w, with the corrected
/// moments m' = m / (1-b1^t) and v' = v / (1-b2^t) of Adam, and w -= learning_rate * |w| / |u| * u.
/// The norms |w| and |u| are taken of each parameter, and of each row of a table; if one of them is
/// 0, the ratio counts as 1. `b1` and `b2` are 0 or more and less than 1, `eps` and `weight_decay`
/// are 0 or more.
///
/// Exact updates of tables are refused with a UsageError: the motion of a row without a gradient
/// depends on its norm after each step before, so that no sum over the steps gives it.
struct LambTrainer : trainers::RuleTrainer<trainers::updates::Lamb> {
  static constexpr trainers::About<5> kAbout{"LambTrainer",
                                             {{"learning_rate", 0.001F},
                                              {"beta_1", 0.9F},
                                              {"beta_2", 0.999F},
                                              {"eps", 1e-6F},
                                              {"weight_decay", 0.01F}}};

  explicit LambTrainer(ParameterCollection& collection, real rate = 0.001F, real b1 = 0.9F,
                       real b2 = 0.999F, real eps = 1e-6F, real decay = 0.01F)
      : RuleTrainer(collection, rate), beta_1(b1), beta_2(b2), epsilon(eps), weight_decay(decay) {}

 protected:
  [[nodiscard]] trainers::updates::Lamb rule(const trainers::Facts& f) const override {
    const auto b1 = static_cast<double>(beta_1);
    const auto b2 = static_cast<double>(beta_2);
    return {f.rate,
            b1,
            b2,
            static_cast<double>(epsilon),
            1.0 / (1.0 - std::pow(b1, f.number)),
            1.0 / (1.0 - std::pow(b2, f.number)),
            static_cast<double>(weight_decay) * f.decay,
            f.gradient_scale,
            1.0 / f.decay,
            f.keep};
  }
  trainers::StateLists states() override {
    return {kAbout.name,
            {{&m, &lm}, {&v, &lv}},
            {{"beta_1", &beta_1, trainers::Range::kBelow1},
             {"beta_2", &beta_2, trainers::Range::kBelow1},
             {"epsilon", &epsilon, trainers::Range::kAtLeast0},
             {"weight_decay", &weight_decay, trainers::Range::kAtLeast0}}};
  }
  [[nodiscard]] const char* why_not_exact() const override {
    return "how far a row moves depends on its norm after each step before";
  }

  real beta_1;
  real beta_2;
  real epsilon;
  real weight_decay;
  std::vector<ShadowParameters> m, v;
  std::vector<ShadowLookupParameters> lm, lv;
};

}  // namespace dynet
