#include <cmath>
#include <string>
#include <utility>

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

void Trainer::list_state(trainers::StateLists& /*lists*/) {}
trainers::IdleMotion Trainer::idle_motion(std::size_t /*idx*/) { return {}; }

unsigned Trainer::alloc_impl() {
  trainers::StateLists state;
  list_state(state);
  for (auto* shadows : state.parameters) {
    allocate_shadow_parameters(*model, static_cast<unsigned>(shadows->size()), *shadows);
  }
  return static_cast<unsigned>(ModelAccess::parameters(*model).size()) - aux_allocated;
}
unsigned Trainer::alloc_lookup_impl() {
  trainers::StateLists state;
  list_state(state);
  for (auto* shadows : state.lookups) {
    allocate_shadow_lookup_parameters(*model, static_cast<unsigned>(shadows->size()), *shadows);
  }
  return static_cast<unsigned>(ModelAccess::lookups(*model).size()) - aux_allocated_lookup;
}
void Trainer::aux_alloc() {
  if (aux_allocated < ModelAccess::parameters(*model).size()) {
    aux_allocated += alloc_impl();
  }
  if (aux_allocated_lookup < ModelAccess::lookups(*model).size()) {
    aux_allocated_lookup += alloc_lookup_impl();
  }
}

void Trainer::forget_state() {
  catch_up();
  detach_all();
  trainers::StateLists state;
  list_state(state);
  for (auto* shadows : state.parameters) {
    for (ShadowParameters& s : *shadows) {
      TensorTools::zero(s.h);
    }
  }
  for (auto* shadows : state.lookups) {
    for (ShadowLookupParameters& s : *shadows) {
      TensorTools::zero(s.all_h);
    }
  }
}

std::uint64_t Trainer::step_number() const {
  // A program that sets `updates` means it; otherwise the integer counts on where the float stops.
  const bool is_set = static_cast<real>(steps_) != updates && updates < 16777216.0F;
  return (is_set ? static_cast<std::uint64_t>(updates) : steps_) + 1;
}
double Trainer::decay_of(const ParameterStorageBase& p) const { return p.state().decay_factor(); }
double Trainer::take_keep() { return std::exchange(keep_, 1.0); }

ext::AdamStep Trainer::adam_step(float b1, float b2, float eps, double decay, real gscale) const {
  const auto beta_1 = static_cast<double>(b1);
  const auto beta_2 = static_cast<double>(b2);
  Correction& c = correction_;
  const std::uint64_t step = step_number();
  if (c.step != step || c.b1 != beta_1 || c.b2 != beta_2) {
    const auto t = static_cast<double>(step);
    c = {step, beta_1, beta_2, std::sqrt(1.0 - std::pow(beta_2, t)) / (1.0 - std::pow(beta_1, t))};
  }
  return {static_cast<double>(learning_rate) * c.value / decay, beta_1, beta_2,
          static_cast<double>(eps), static_cast<double>(gscale)};
}

void Trainer::set_lookup_updates(LookupUpdates how) {
  sparse_updates_enabled = how == LookupUpdates::kSparse;
  is_exact_ = how == LookupUpdates::kExact;
}

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
  for (std::size_t i = 0; i < ModelAccess::parameters(*model).size(); ++i) {
    update_parameter(gscale, i);
  }
  for (std::size_t i = 0; i < ModelAccess::lookups(*model).size(); ++i) {
    update_table(gscale, i);
  }
  if (ma_mode != MovingAverage::None) {
    update_averages();
  }
  steps_ = step_number();
  ++updates;
  ++updates_since_status;
  apply_decay();
}

/// What values are multiplied with after an update, because of weight decay.
double Trainer::keep_of(const ParameterStorageBase& p) const {
  return p.updated ? 1.0 - static_cast<double>(p.state().decay->own.get_lambda()) : 1.0;
}

/// Dense parameters shrink at once: in the rule's pass, but after averages where there are any.
void Trainer::update_parameter(real gscale, std::size_t idx) {
  const ParameterStorage& p = *ModelAccess::parameters(*model)[idx];
  if (!p.updated) {
    return;
  }
  keep_ = ma_mode == MovingAverage::None ? keep_of(p) : 1.0;
  update_params(gscale, idx);
  StorageState& s = p.state();
  s.forget_gradient();
  const double keep = take_keep();
  if (keep != 1.0) {
    s.kernels.add_scaled(keep, s.values.data(), s.values.data(), s.elements, true);
  }
}

void Trainer::update_table(real gscale, std::size_t idx) {
  const LookupParameterStorage& p = *ModelAccess::lookups(*model)[idx];
  if (!p.updated) {
    return;
  }
  StorageState& s = p.state();
  s.absorb_exposed_rows();
  trainers::IdleMotion motion;
  if (lookup_updates() == LookupUpdates::kExact) {
    motion = idle_motion(idx);
  } else if (sparse_updates_enabled) {
    motion.kind = trainers::IdleMotion::Kind::kNone;
  }
  update_rows(gscale, idx, motion);
  s.forget_gradient();
}

/// Runs the rule over the rows that move, and notes the step where others will move later.
void Trainer::update_rows(real gscale, std::size_t idx, const trainers::IdleMotion& motion) {
  using Kind = trainers::IdleMotion::Kind;
  const LookupParameterStorage& p = *ModelAccess::lookups(*model)[idx];
  const std::vector<unsigned>& rows = p.state().touched;
  trainers::MissedUpdates* missed = attach(idx, motion);
  if (p.all_updated || (missed == nullptr && motion.kind != Kind::kNone)) {
    if (missed != nullptr) {
      missed->catch_up();
    }
    update_lookup_params(gscale, idx);
    if (missed != nullptr) {
      missed->stepped_all();
    }
    return;
  }
  for (const unsigned row : rows) {
    if (missed != nullptr) {
      missed->catch_up(row);
    }
    update_lookup_params(gscale, idx, row);
  }
  if (missed != nullptr) {
    missed->stepped(motion.weight, rows);
  }
}

/// What notes the steps of a table that rows may miss; null where no row does. Rows that missed
/// something under another rule or trainer catch up.
trainers::MissedUpdates* Trainer::attach(std::size_t idx, const trainers::IdleMotion& motion) {
  StorageState& s = ModelAccess::lookups(*model)[idx]->state();
  if (missed_.size() <= idx) {
    missed_.resize(idx + 1);
  }
  std::shared_ptr<trainers::MissedUpdates>& mine = missed_[idx];
  const bool follows = trainers::MissedUpdates::can_follow(motion);
  if (s.missed != nullptr && (s.missed != mine || !follows || !mine->is_of(motion))) {
    s.missed->catch_up();
    s.missed = nullptr;
  }
  if (!follows) {
    mine = nullptr;
  } else if (s.missed == nullptr) {
    mine = std::make_shared<trainers::MissedUpdates>(s, motion);
    s.missed = mine;
  }
  return mine.get();
}

/// Forgets what notes missed steps; rows must be up to date.
void Trainer::detach_all() {
  for (std::size_t i = 0; i < missed_.size(); ++i) {
    StorageState& s = ModelAccess::lookups(*model)[i]->state();
    if (s.missed == missed_[i]) {
      s.missed = nullptr;
    }
  }
  missed_.clear();
}

void Trainer::catch_up() const {
  for (const auto& table : ModelAccess::lookups(*model)) {
    table->state().catch_up();
  }
}

/// Tables shrink by their factor, and dense parameters here only after moving averages; frozen ones
/// do not.
void Trainer::apply_decay() {
  for (const auto& p : ModelAccess::all(*model)) {
    StorageState& s = p->state();
    const double keep = keep_of(*p);
    if (keep == 1.0) {
      continue;
    }
    if (s.is_table()) {
      s.factor *= keep;
      if (s.factor < kSmallestFactor) {
        s.apply_factor();
      }
    } else if (ma_mode != MovingAverage::None) {
      s.kernels.add_scaled(keep, s.values.data(), s.values.data(), s.elements, true);
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
