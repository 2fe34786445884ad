#pragma once

// Exponentiated gradient (Kivinen and Warmuth, 1997, section 3), with momentum.

#include "dynet/trainers/cyclical.h"

namespace dynet {

namespace trainers::updates {
/// v = momentum * v - rate * gradient_scale * g, w = scale * softmax(log(w) + v), over the whole
/// parameter or row.
struct ExponentiatedGradient {
  double rate, momentum, gradient_scale, scale;
  template <class W, class G, class V>
  DYNET_DEVICE_FN constexpr auto step(W w, G g, V v) const {
    const auto speed = momentum * v - (rate * gradient_scale) * g;
    const auto logit = log(w) + speed;
    const auto part = exp(logit - over::max(logit));
    return each(scale / over::sum(part) * part, speed);
  }
};
}  // namespace trainers::updates

/// Exponentiated gradient (Kivinen and Warmuth, 1997): v = mom * v - learning_rate * g, w =
/// exp(log(w) + v) divided by its sum over each parameter, and over each row of a table. So
/// parameters are distributions: positive numbers that sum up to 1. One that is 0 stays 0.
/// ValueError from update(), save() and populate() if a parameter that is new to the trainer has a
/// negative number, NaN, or nothing above 0 (initializers draw negative numbers; frozen parameters
/// may). `mom` is from 0 to 1.
///
/// Weight decay multiplies the normalised values, so the sum after an update is 1 - lambda. Exact
/// updates of tables are refused with a UsageError: an update normalises rows without a gradient
/// too, and sums of steps do not say that.
struct EGTrainer : trainers::RuleTrainer<trainers::updates::ExponentiatedGradient> {
  static constexpr trainers::About<3> kAbout{
      "EGTrainer", {{"learning_rate", 0.1F}, {"mom", 0.9F}, {"ne", 0.0F}}};

  /// `ne` is ignored, as in 2.1.
  explicit EGTrainer(ParameterCollection& collection, real rate = 0.1F, real mom = 0.9F,
                     real /*ne*/ = 0.0F)
      : RuleTrainer(collection, rate), momentum(mom) {}

  /// From the next update on the rate goes in cycles (CyclicalSGDTrainer): it is the lowest one
  /// after that update, and with a gamma of 0 stays so. `steps` is above 0.
  // The name is that of 2.1. NOLINTNEXTLINE(readability-identifier-naming)
  void enableCyclicalLR(float learning_rate_min = 0.01F, float learning_rate_max = 0.1F,
                        float steps = 2000.0F, float decay = 0.0F) {
    e_min = learning_rate_min;
    e_max = learning_rate_max;
    step_size = steps;
    gamma = decay;
    it = 0;
    isCyclical = true;
  }

 protected:
  [[nodiscard]] trainers::updates::ExponentiatedGradient rule(
      const trainers::Facts& f) const override {
    return {f.rate, static_cast<double>(momentum), f.gradient_scale, f.keep / f.decay};
  }
  trainers::StateLists states() override {
    return {kAbout.name,
            {{&hp, &hlp}},
            {{"zeg", &zeg},
             {"meg", &meg},
             {"momentum", &momentum, trainers::Range::kUpTo1},
             {"e_min", &e_min},
             {"e_max", &e_max},
             {"step_size", &step_size, trainers::Range::kAbove0},
             {"gamma", &gamma},
             {"it", &it},
             {"isCyclical", &isCyclical}}};
  }
  unsigned alloc_impl() override;
  unsigned alloc_lookup_impl() override;
  void after_update() override {
    if (isCyclical) {
      learning_rate = static_cast<real>(
          trainers::CyclicalSchedule::rate_of(e_min, e_max, step_size, gamma, it++));
    }
  }
  [[nodiscard]] const char* why_not_exact() const override {
    return "an update normalises rows without a gradient too";
  }

  real momentum = 0.9F;
  float e_min = 0.01F;
  float e_max = 0.1F;
  float step_size = 2000.0F;
  float gamma = 0.0F;
  unsigned it = 0;
  bool isCyclical = false;
  std::vector<ShadowParameters> hp;
  std::vector<ShadowLookupParameters> hlp;
  float zeg = 0.0F, meg = 0.0F;  ///< scratch of 2.1 that its text has
};

}  // namespace dynet
