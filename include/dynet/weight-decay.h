#pragma once

namespace dynet {

/// The rate at which parameters shrink, and a factor that is yet to be multiplied into stored
/// values.
///
/// Trainers apply decay to parameters at once and by a factor of each lookup table; the factor here
/// moves only when a program calls `update_weight_decay` itself. Thread rule: not while a trainer
/// runs.
struct L2WeightDecay {
  /// DomainError unless `lambda` is 0 or more and less than 1: an update multiplies by 1 - lambda.
  explicit L2WeightDecay(float lambda = 1e-6F);
  void set_lambda(float lambda);
  [[nodiscard]] float get_lambda() const {
    return inherited_ != nullptr ? inherited_->get_lambda() : lambda_;
  }
  /// factor *= (1 - lambda)^num_updates.
  void update_weight_decay(unsigned num_updates = 1);
  [[nodiscard]] float current_weight_decay() const { return factor_; }
  [[nodiscard]] bool parameters_need_rescaled() const { return factor_ < 0.25F; }
  void reset_weight_decay() { factor_ = 1.0F; }
  /// Takes the rate of `other` from now on, which must outlive this, until set_lambda is called.
  void inherit(const L2WeightDecay& other) { inherited_ = &other; }

 private:
  float lambda_;
  float factor_ = 1.0F;
  const L2WeightDecay* inherited_ = nullptr;
};

}  // namespace dynet
