#include <cmath>
#include <string>

#include "dynet/training.h"

#include "kernels/float_mode.h"
#include "params/access.h"
#include "params/use_count.h"
#include "trainers/rule.h"

namespace dynet {

using detail::ModelAccess;
using detail::StorageState;

namespace {
// Below it stored values grow too far from the effective ones.
constexpr double kSmallestFactor = 0.25;
}  // namespace

namespace trainers {

Target whole(ParameterStorageBase& p) {
  StorageState& s = p.state();
  s.fill_gradient();
  return {s, s.values.data(), s.gradient.data(), s.elements};
}
Target row_of(LookupParameterStorage& p, unsigned row) {
  StorageState& s = p.state();
  return {s, s.value_row(row), s.gradient_row(row), s.row_elements()};
}

}  // namespace trainers

Trainer::Trainer(ParameterCollection& m, real rate)
    : learning_rate(rate), eta0(rate), kept_(std::make_shared<ParameterCollection>(m)) {
  model = kept_.get();
}
Trainer::~Trainer() = default;

unsigned Trainer::alloc_impl() {
  return static_cast<unsigned>(ModelAccess::parameters(*model).size()) - aux_allocated;
}
unsigned Trainer::alloc_lookup_impl() {
  return static_cast<unsigned>(ModelAccess::lookups(*model).size()) - aux_allocated_lookup;
}
void Trainer::aux_alloc() {
  aux_allocated += alloc_impl();
  aux_allocated_lookup += alloc_lookup_impl();
}

std::uint64_t Trainer::step_number() const {
  // A program that sets `updates` means it; otherwise the integer counts on where the float stops.
  const bool is_set = static_cast<real>(steps_) != updates && updates < 16777216.0F;
  return (is_set ? static_cast<std::uint64_t>(updates) : steps_) + 1;
}
double Trainer::decay_of(const ParameterStorageBase& p) const { return p.state().decay_factor(); }

void Trainer::restart(real lr) {
  learning_rate = lr;
  restart();
}
void Trainer::update_epoch(real r) {
  epoch += r;
  if (eta_decay != 0.0F) {
    learning_rate = eta0 / (1.0F + epoch * eta_decay);
  }
}
void Trainer::populate(std::istream& is, real lr) {
  populate(is);
  learning_rate = lr;
}

float Trainer::clip_gradients() {
  if (!clipping_enabled) {
    return scale_;
  }
  const float norm = model->gradient_l2_norm() * std::fabs(scale_);
  if (!std::isfinite(norm)) {
    throw NumericError("Magnitude of gradient is bad: " + std::to_string(norm) +
                       "; the parameters stay as they were, the gradients are emptied");
  }
  if (norm <= clip_threshold) {
    return scale_;
  }
  ++clips;
  ++clips_since_status;
  return scale_ * (clip_threshold / norm);
}

void Trainer::update(real scale) {
  scale_ = scale;
  try {
    update();
  } catch (...) {
    scale_ = 1.0F;
    throw;
  }
  scale_ = 1.0F;
}

void Trainer::update() {
  const params::UpdateScope scope(params::usage_of(*model), "update");
  const kernels::FlushDenormals float_mode;
  restore_weights();
  aux_alloc();
  if (ma_mode != MovingAverage::None) {
    allocate_averages();
  }
  real gscale = 1.0F;
  try {
    gscale = clip_gradients();
  } catch (const NumericError&) {
    model->reset_gradient();
    throw;
  }
  apply_rules(gscale);
  if (ma_mode != MovingAverage::None) {
    update_averages();
  }
  steps_ = step_number();
  ++updates;
  ++updates_since_status;
  apply_decay();
}

void Trainer::apply_rules(real gscale) {
  const auto& parameters = ModelAccess::parameters(*model);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i]->updated) {
      continue;
    }
    update_params(gscale, i);
    parameters[i]->state().forget_gradient();
  }
  const auto& tables = ModelAccess::lookups(*model);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (!tables[i]->updated) {
      continue;
    }
    StorageState& s = tables[i]->state();
    s.absorb_exposed_rows();
    if (sparse_updates_enabled && !tables[i]->all_updated) {
      for (const unsigned row : s.touched) {
        update_lookup_params(gscale, i, row);
      }
    } else {
      update_lookup_params(gscale, i);
    }
    s.forget_gradient();
  }
}

/// Dense parameters shrink at once, tables by their factor; frozen ones do not.
void Trainer::apply_decay() {
  for (const auto& p : ModelAccess::all(*model)) {
    StorageState& s = p->state();
    const double lambda = static_cast<double>(s.decay->own.get_lambda());
    if (!p->updated || lambda == 0.0) {
      continue;
    }
    if (s.is_table()) {
      s.factor *= 1.0 - lambda;
      if (s.factor < kSmallestFactor) {
        s.apply_factor();
      }
    } else {
      s.kernels.add_scaled(1.0 - lambda, s.values.data(), s.values.data(), s.elements, true);
    }
  }
  if (model->get_weight_decay().parameters_need_rescaled()) {
    rescale_and_reset_weight_decay();
  }
}

void Trainer::rescale_and_reset_weight_decay() {
  for (const auto& p : ModelAccess::all(*model)) {
    p->state().apply_factor();
  }
  for (const auto& p : ModelAccess::all(*model)) {
    p->state().decay->own.reset_weight_decay();
  }
}

}  // namespace dynet
