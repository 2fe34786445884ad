#pragma once

// Adam (Kingma and Ba, 2015, algorithm 1) and AMSGrad (Reddi, Kale and Kumar, 2018, algorithm 2).

#include <cmath>

#include "dynet/trainers/rule_trainer.h"

namespace dynet {

namespace trainers::updates {
/// m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2, w = keep * (w - rate * m / (sqrt(v) + epsilon)),
/// with g the gradient times gradient_scale.
struct Adam {
  double rate, beta_1, beta_2, epsilon, gradient_scale, keep;
  template <class W, class G, class M, class V>
  DYNET_DEVICE_FN constexpr auto step(W w, G gradient, M m, V v) const {
    const auto g = gradient * gradient_scale;
    const auto mean = beta_1 * m + (1.0 - beta_1) * g;
    const auto square = beta_2 * v + (1.0 - beta_2) * g * g;
    return each(keep * (w - rate * mean / (sqrt(square) + epsilon)), mean, square);
  }
};
/// Adam over the root of the largest v so far.
struct Amsgrad {
  double rate, beta_1, beta_2, epsilon, gradient_scale, keep;
  template <class W, class G, class M, class V, class L>
  DYNET_DEVICE_FN constexpr auto step(W w, G gradient, M m, V v, L largest) const {
    const auto g = gradient * gradient_scale;
    const auto mean = beta_1 * m + (1.0 - beta_1) * g;
    const auto square = beta_2 * v + (1.0 - beta_2) * g * g;
    const auto under = max(largest, square);
    return each(keep * (w - rate * mean / (sqrt(under) + epsilon)), mean, square, under);
  }
};

/// Updates of Adam without a gradient: the terms are weight * b^k * m / (sqrt(v) + epsilon * u^k)
/// with u = 1 / sqrt(beta_2) and b = beta_1 * u, expanded around the mean of u^k
/// (docs/decisions/0004).
struct AdamCatchUp {
  double total, mean, variance, skew, epsilon;
  template <class W, class M, class V>
  DYNET_DEVICE_FN constexpr auto step(W w, M m, V v) const {
    const auto under = sqrt(v) + epsilon * mean;
    const auto inverse = select(under > 0.0, 1.0 / under, 0.0);  // if it is 0, so is m
    const auto r = epsilon * inverse;
    return each(w + total * (m * inverse) * (1.0 + r * r * (variance - r * skew)));
  }
};
/// The largest v stays if there is no gradient.
struct AmsgradCatchUp {
  double total, mean, variance, skew, epsilon;
  template <class W, class M, class V, class L>
  DYNET_DEVICE_FN constexpr auto step(W w, M m, V /*v*/, L largest) const {
    const auto under = sqrt(largest) + epsilon;
    return each(w + total * (m * select(under > 0.0, 1.0 / under, 0.0)));
  }
};
}  // namespace trainers::updates

namespace trainers {
/// sqrt(1 - b2^t) / (1 - b1^t), kept for the many rows of an update.
class BiasCorrection {
 public:
  double operator()(double b1, double b2, double t) const {
    if (t != t_ || b1 != b1_ || b2 != b2_) {
      t_ = t;
      b1_ = b1;
      b2_ = b2;
      value_ = std::sqrt(1.0 - std::pow(b2, t)) / (1.0 - std::pow(b1, t));
    }
    return value_;
  }

 private:
  mutable double t_ = 0.0, b1_ = 0.0, b2_ = 0.0, value_ = 0.0;
};

/// Base of Adam and its relatives: settings, two states, and the numbers of a step.
template <class R, class C>
struct AdamFamily : RuleTrainer<R, C> {
  AdamFamily(ParameterCollection& collection, float rate, float b1, float b2, float eps)
      : RuleTrainer<R, C>(collection, rate), beta_1(b1), beta_2(b2), epsilon(eps) {}

 protected:
  [[nodiscard]] R rule(const Facts& f) const override {
    const auto b1 = static_cast<double>(beta_1);
    const auto b2 = static_cast<double>(beta_2);
    return {f.rate * correction_(b1, b2, f.number) / f.decay,
            b1,
            b2,
            static_cast<double>(epsilon),
            f.gradient_scale,
            f.keep};
  }

  float beta_1;
  float beta_2;
  float epsilon;
  std::vector<ShadowParameters> m, v;
  std::vector<ShadowLookupParameters> lm, lv;

 private:
  BiasCorrection correction_;
};
}  // namespace trainers

/// Adam (Kingma and Ba, 2015): m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2, w -= learning_rate *
/// sqrt(1-b2^t)/(1-b1^t) * m / (sqrt(v) + eps), with t the number of updates of the trainer; `eps`
/// is added to the uncorrected root. `b1` and `b2` are 0 or more and less than 1, `eps` is 0 or
/// more.
struct AdamTrainer : trainers::AdamFamily<trainers::updates::Adam, trainers::updates::AdamCatchUp> {
  static constexpr trainers::About<4> kAbout{
      "AdamTrainer", {{"alpha", 0.001F}, {"beta_1", 0.9F}, {"beta_2", 0.999F}, {"eps", 1e-8F}}};

  explicit AdamTrainer(ParameterCollection& collection, float rate = 0.001F, float b1 = 0.9F,
                       float b2 = 0.999F, float eps = 1e-8F, float edecay = 0.0F)
      : AdamFamily(collection, rate, b1, b2, eps) {
    eta_decay = edecay;
  }

 protected:
  trainers::StateLists states() override {
    return {kAbout.name,
            {{&m, &lm}, {&v, &lv}},
            {{"beta_1", &beta_1, trainers::Range::kBelow1},
             {"beta_2", &beta_2, trainers::Range::kBelow1},
             {"epsilon", &epsilon, trainers::Range::kAtLeast0}}};
  }
  [[nodiscard]] trainers::IdleMotion idle(const trainers::Facts& f) const override {
    const trainers::updates::Adam s = AdamFamily::rule(f);
    const double spread = 1.0 / std::sqrt(s.beta_2);
    return trainers::IdleMotion::moves(
        -s.rate, s.beta_1 * spread, spread, {s.beta_1, s.beta_2},
        trainers::updates::AdamCatchUp{0.0, 0.0, 0.0, 0.0, s.epsilon});
  }
};

/// AMSGrad (Reddi, Kale and Kumar, 2018): Adam over the root of the largest v so far. Numbers have
/// the ranges of AdamTrainer.
struct AmsgradTrainer
    : trainers::AdamFamily<trainers::updates::Amsgrad, trainers::updates::AmsgradCatchUp> {
  static constexpr trainers::About<4> kAbout{
      "AmsgradTrainer", {{"alpha", 0.001F}, {"beta_1", 0.9F}, {"beta_2", 0.999F}, {"eps", 1e-8F}}};

  explicit AmsgradTrainer(ParameterCollection& collection, float rate = 0.001F, float b1 = 0.9F,
                          float b2 = 0.999F, float eps = 1e-8F)
      : AdamFamily(collection, rate, b1, b2, eps) {}

 protected:
  trainers::StateLists states() override {
    return {kAbout.name,
            {{&m, &lm}, {&v, &lv}, {&vhat, &lvhat}},
            {{"beta_1", &beta_1, trainers::Range::kBelow1},
             {"beta_2", &beta_2, trainers::Range::kBelow1},
             {"epsilon", &epsilon, trainers::Range::kAtLeast0}}};
  }
  [[nodiscard]] trainers::IdleMotion idle(const trainers::Facts& f) const override {
    const trainers::updates::Amsgrad s = AdamFamily::rule(f);
    return trainers::IdleMotion::moves(
        -s.rate, s.beta_1, 1.0, {s.beta_1, s.beta_2},
        trainers::updates::AmsgradCatchUp{0.0, 0.0, 0.0, 0.0, s.epsilon});
  }

  std::vector<ShadowParameters> vhat;
  std::vector<ShadowLookupParameters> lvhat;
};

}  // namespace dynet
