// The allowed numbers of a trainer. Members can be set directly, so updates check all of them; the
// reader of states makes the same checks.

#include "trainers/settings.h"

#include <cmath>
#include <string>

#include "util/number_text.h"

namespace dynet {

const char* trainers::missed_range(Range range, float value) {
  switch (range) {
    case Range::kFinite:
      return std::isfinite(value) ? nullptr : "a finite number";
    case Range::kAtLeast0:
      return value >= 0.0F && std::isfinite(value) ? nullptr : "a finite number of at least 0";
    case Range::kAbove0:
      return value > 0.0F && std::isfinite(value) ? nullptr : "a finite number above 0";
    case Range::kBelow1:
      return value >= 0.0F && value < 1.0F ? nullptr : "0 or more and less than 1";
    case Range::kUpTo1:
      return value >= 0.0F && value <= 1.0F ? nullptr : "0 or more and at most 1";
  }
  return nullptr;
}

namespace {

void check(const char* whose, const char* what, trainers::Range range, float value) {
  if (const char* const wanted = trainers::missed_range(range, value)) {
    throw errors::ValueError(std::string(whose) + ": " + what + " is " + util::text_of(value) +
                             "; want " + wanted);
  }
}

/// The numbers of a rule.
void check(const trainers::StateLists& lists) {
  const auto check_one = [&](const trainers::StateLists::Number& n) {
    if (n.value != nullptr) {
      check(lists.name == nullptr ? "Trainer" : lists.name, n.name, n.range, *n.value);
    }
  };
  for (const trainers::StateLists::Number& n : lists.numbers) {
    check_one(n);
  }
  for (const trainers::StateLists::Number& n : lists.unsaved) {
    check_one(n);
  }
}

}  // namespace

void Trainer::check_rate(real rate) {
  check("Trainer", "learning_rate", trainers::Range::kFinite, rate);
}

void Trainer::check_beta(real beta) {
  check("moving average", "beta", trainers::Range::kBelow1, beta);
}

/// Everything that must hold before an update may change anything.
void Trainer::check_settings(real scale) {
  check_rate(learning_rate);
  check("Trainer", "the scale of the gradients", trainers::Range::kFinite, scale);
  if (clipping_enabled && !(clip_threshold >= 0.0F)) {
    throw errors::ValueError("Trainer: clip_threshold is " + util::text_of(clip_threshold) +
                             "; want 0 or more (clipping_enabled = false: no limit)");
  }
  if (!(clip_value > 0.0F)) {
    throw errors::ValueError("Trainer: clip_value is " + util::text_of(clip_value) +
                             "; want a number above 0 (infinity: no limit)");
  }
  check(states());
  if (!(shrink() > 0.0 && shrink() <= 1.0)) {
    throw errors::ValueError("Trainer: learning_rate * weight_decay is " +
                             util::text_of(1.0 - shrink()) + "; want at least 0 and less than 1");
  }
  if (ma_mode == MovingAverage::Exponential) {
    check_beta(ema_beta);
  }
  check_weights_are_saved();
}

}  // namespace dynet
