#pragma once

// Gradient descent with a cyclical rate (Smith, 2015, section 3.1).

#include "dynet/trainers/sgd.h"

namespace dynet {

/// w -= learning_rate * g, with a cyclical rate (Smith, 2015): it goes up from min to max in
/// `step_size` updates and down again in as many; the rise above min is multiplied by `gamma` per
/// update. As in 2.1 the second update, too, has the lowest rate: after t > 0 updates the rate is
/// as in CyclicalSchedule after t
/// - 1. `step_size` is above 0.
struct CyclicalSGDTrainer : SimpleSGDTrainer {
  static constexpr trainers::About<4> kAbout{"CyclicalSGDTrainer",
                                             {{"learning_rate_min", 0.01F},
                                              {"learning_rate_max", 0.1F},
                                              {"step_size", 2000.0F},
                                              {"gamma", 1.0F}}};

  explicit CyclicalSGDTrainer(ParameterCollection& collection, float learning_rate_min = 0.01F,
                              float learning_rate_max = 0.1F, float steps = 2000.0F,
                              float decay = 1.0F, float /*edecay*/ = 0.0F)
      : SimpleSGDTrainer(collection, learning_rate_min),
        e_min(learning_rate_min),
        e_max(learning_rate_max),
        step_size(steps),
        gamma(decay) {}
  /// The text has the rate and the number of updates, which is the place in the cycle.
  void populate(std::istream& is) override {
    SimpleSGDTrainer::populate(is);
    it = static_cast<unsigned>(updates);
  }
  using Trainer::populate;

 protected:
  trainers::StateLists states() override {
    return {kAbout.name,
            {},
            {},
            {{"learning_rate_min", &e_min},
             {"learning_rate_max", &e_max},
             {"step_size", &step_size, trainers::Range::kAbove0},
             {"gamma", &gamma}}};
  }
  void after_update() override {
    learning_rate = static_cast<real>(
        trainers::CyclicalSchedule::rate_of(e_min, e_max, step_size, gamma, it++));
  }

  float e_min = 0.01F;
  float e_max = 0.1F;
  float step_size = 2000.0F;
  float gamma = 1.0F;
  unsigned it = 0;
};

}  // namespace dynet
