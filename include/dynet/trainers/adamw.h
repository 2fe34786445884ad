#pragma once

// AdamW (Loshchilov and Hutter, 2019, algorithm 2).

#include "dynet/trainers/adam.h"

namespace dynet {

/// AdamW (Loshchilov and Hutter, 2019): w is multiplied by 1 - learning_rate * weight_decay, and
/// then Adam's step is taken; the decay is in no moment. `eps` is added to the uncorrected root, as
/// in AdamTrainer. A table is decayed as a whole, whatever rows have a gradient.
struct AdamWTrainer : AdamTrainer {
  static constexpr trainers::About<5> kAbout{"AdamWTrainer",
                                             {{"alpha", 0.001F},
                                              {"beta_1", 0.9F},
                                              {"beta_2", 0.999F},
                                              {"eps", 1e-8F},
                                              {"weight_decay", 0.01F}}};

  explicit AdamWTrainer(ParameterCollection& collection, float rate = 0.001F, float b1 = 0.9F,
                        float b2 = 0.999F, float eps = 1e-8F, float decay = 0.01F)
      : AdamTrainer(collection, rate, b1, b2, eps), weight_decay(decay) {}

 protected:
  trainers::StateLists states() override {
    return {kAbout.name,
            {{&m, &lm}, {&v, &lv}},
            {{"beta_1", &beta_1, trainers::Range::kBelow1},
             {"beta_2", &beta_2, trainers::Range::kBelow1},
             {"epsilon", &epsilon, trainers::Range::kAtLeast0},
             {"weight_decay", &weight_decay}}};
  }
  [[nodiscard]] double shrink() const override {
    return 1.0 - static_cast<double>(learning_rate) * static_cast<double>(weight_decay);
  }

  float weight_decay;
};

}  // namespace dynet
