#include <cmath>
#include <mutex>
#include <string>
#include <utility>

#include "dynet/except.h"
#include "dynet/ext/update.h"
#include "dynet/trainers/clip.h"
#include "dynet/trainers/rule_trainer.h"

#include "kernels/float_mode.h"
#include "kernels/team.h"
#include "params/access.h"
#include "params/stored.h"
#include "params/use_count.h"
#include "trainers/missed.h"
#include "util/number_text.h"
#include "util/suspect.h"
#include "util/timeline.h"

namespace dynet {

using detail::ModelAccess;
using detail::StorageState;

namespace {
// Below it stored values grow too far from the effective ones.
constexpr double kSmallestFactor = 0.25;

/// Runs f(parameters, lookups) for each state of a rule.
template <class F>
void for_each_state(const trainers::StateLists& lists, F f) {
  for (const trainers::StateLists::State& s : lists.states) {
    if (s.parameters == nullptr || s.lookups == nullptr) {
      return;
    }
    f(*s.parameters, *s.lookups);
  }
}

/// The rate of a schedule that began after `start` updates, when there were `done`.
real rate_after(const trainers::Schedule& schedule, std::uint64_t done, std::uint64_t start) {
  return static_cast<real>(schedule.rate(done > start ? done - start : 0));
}

}  // namespace

Trainer::Trainer(ParameterCollection& m, real rate)
    : learning_rate(rate), eta0(rate), kept_(std::make_shared<ParameterCollection>(m)) {
  check_rate(rate);
  model = kept_.get();
  warn_of_rate();
}
Trainer::~Trainer() = default;

trainers::StateLists Trainer::states() { return {}; }
trainers::IdleMotion Trainer::idle_motion(std::size_t /*idx*/) { return {}; }

unsigned Trainer::alloc_impl() {
  for_each_state(states(), [&](auto& parameters, auto& /*lookups*/) {
    allocate_shadow_parameters(*model, static_cast<unsigned>(parameters.size()), parameters);
  });
  return static_cast<unsigned>(ModelAccess::parameters(*model).size()) - aux_allocated;
}
unsigned Trainer::alloc_lookup_impl() {
  for_each_state(states(), [&](auto& /*parameters*/, auto& lookups) {
    allocate_shadow_lookup_parameters(*model, static_cast<unsigned>(lookups.size()), lookups);
  });
  return static_cast<unsigned>(ModelAccess::lookups(*model).size()) - aux_allocated_lookup;
}
/// Others may keep state too, or no state except in `missed_`.
void Trainer::aux_alloc() {
  const auto& parameters = ModelAccess::parameters(*model);
  if (aux_allocated < parameters.size()) {
    ModelAccess::follow(parameters, aux_allocated);
    aux_allocated += alloc_impl();
  }
  const auto& lookups = ModelAccess::lookups(*model);
  if (aux_allocated_lookup < lookups.size()) {
    ModelAccess::follow(lookups, aux_allocated_lookup);
    aux_allocated_lookup += alloc_lookup_impl();
  }
}

void Trainer::forget_state() {
  catch_up();
  detach_all();
  for_each_state(states(), [](auto& parameters, auto& lookups) {
    for (ShadowParameters& s : parameters) {
      TensorTools::zero(s.h);
    }
    for (ShadowLookupParameters& s : lookups) {
      TensorTools::zero(s.all_h);
    }
  });
}

std::uint64_t Trainer::step_number() const {
  // A program that sets `updates` means it; otherwise the integer counts on where the float stops.
  const bool is_set = static_cast<real>(steps_) != updates && updates < 16777216.0F;
  return (is_set ? static_cast<std::uint64_t>(updates) : steps_) + 1;
}
double Trainer::decay_of(const ParameterStorageBase& p) const { return p.state().decay_factor(); }

void Trainer::set_lookup_updates(LookupUpdates how) {
  if (how == LookupUpdates::kExact && why_not_exact() != nullptr) {
    const char* name = states().name;
    throw errors::UsageError(std::string(name == nullptr ? "Trainer" : name) +
                             ": exact updates of lookup tables: " + why_not_exact() +
                             "; want sparse or dense ones");
  }
  sparse_updates_enabled = how == LookupUpdates::kSparse;
  is_exact_ = how == LookupUpdates::kExact;
}

void Trainer::restart(real lr) {
  set_learning_rate(lr);
  restart();
}
void Trainer::update_epoch(real r) {
  epoch += r;
  if (eta_decay != 0.0F) {
    learning_rate = eta0 / (1.0F + epoch * eta_decay);
  }
}
void Trainer::populate(std::istream& is, real lr) {
  check_rate(lr);
  populate(is);
  set_learning_rate(lr);
}

void Trainer::set_schedule(trainers::Schedule::Pointer schedule) {
  if (schedule != nullptr) {
    set_learning_rate(static_cast<real>(schedule->rate(0)));
  }
  schedule_ = std::move(schedule);
  schedule_start_ = step_number() - 1;
}
void Trainer::report_metric(double metric) {
  if (schedule_ == nullptr) {
    throw errors::UsageError(
        "Trainer::report_metric: there is no schedule; want one that takes a metric");
  }
  schedule_ = schedule_->after_report(metric);
  follow_schedule();
}
void Trainer::follow_schedule() {
  if (schedule_ != nullptr) {
    learning_rate = rate_after(*schedule_, step_number() - 1, schedule_start_);
  }
}

float Trainer::clip_gradients() { return clip(1.0F); }

/// The squares of floats add up in double without overflow, so their sum is finite exactly where
/// all gradients are.
double Trainer::sum_of_squares() const {
  params::SquaredNorm sum;
  for (const auto& storage : ModelAccess::all(*model)) {
    if (storage->updated) {
      const std::lock_guard lock(storage->state().mutex);
      storage->state().add_gradient_to(sum);
    }
  }
  return sum.value();
}

/// Clipping by value, of gradients that are to be multiplied with `scale`.
void Trainer::limit_gradients(real scale) {
  const double size = std::fabs(static_cast<double>(scale));
  if (size == 0.0) {
    return;
  }
  ext::detail::Prepared<trainers::updates::ClipByValue> step{
      {static_cast<double>(clip_value) / size}, {}};
  const ext::UpdateInfo& info = ext::update_info<trainers::updates::ClipByValue>();
  info.prepare(&step);
  for (const auto& storage : ModelAccess::all(*model)) {
    if (!storage->updated) {
      continue;
    }
    StorageState& s = storage->state();
    const std::lock_guard lock(s.mutex);
    s.absorb_exposed_rows();
    s.for_gradient([&](std::byte* gradient, std::int64_t n) {
      void* const data[] = {gradient};
      ext::run_step(s.kernels, info, &step, data, false, n);
    });
  }
}

/// The factor of the gradients. Infinite and NaN gradients must be found before any limit, which
/// would hide them.
real Trainer::clip(real scale) {
  double squares = sum_of_squares();
  look_for_gradient(squares);
  if (std::isfinite(squares) && std::isfinite(clip_value)) {
    limit_gradients(scale);
    squares = sum_of_squares();
  }
  const float norm = static_cast<float>(std::sqrt(squares)) * std::fabs(scale);
  if (!std::isfinite(clipping_enabled ? static_cast<double>(norm) : squares)) {
    throw errors::NumericError("Magnitude of gradient is bad: " + util::text_of(norm) +
                               "; the parameters stay as they were, the gradients are emptied");
  }
  if (!clipping_enabled || norm <= clip_threshold) {
    return scale;
  }
  ++clips;
  ++clips_since_status;
  return scale * (clip_threshold / norm);
}

void Trainer::update() { update(1.0F); }
void Trainer::update(real scale) {
  try {
    detail::with_typed_allocation([&] { update_scaled(scale); });
  } catch (const errors::NumericError& error) {
    const std::string where = util::suspect_text();
    if (where.empty()) {
      throw;
    }
    throw errors::NumericError(std::string(error.what()) + "\n  " + where);
  }
}

/// First all that may fail, then all that changes something.
void Trainer::update_scaled(real scale) {
  const util::Slice slice("update");
  const params::UpdateScope scope(params::usage_of(*model), "update");
  const kernels::Section section;
  const kernels::FlushDenormals float_mode;
  check_settings(scale);
  warn_of_rate();
  aux_alloc();
  if (ma_mode != MovingAverage::None) {
    allocate_averages();
    attach_averages();
  }
  missed_.resize(ModelAccess::lookups(*model).size());
  for (std::size_t i = 0; i < missed_.size(); ++i) {
    prepare_table(i);
  }
  const std::uint64_t done = step_number();
  const real next_rate =
      schedule_ == nullptr ? 0.0F : rate_after(*schedule_, done, schedule_start_);
  real gscale = 1.0F;
  try {
    gscale = clip(scale);
  } catch (const errors::NumericError&) {
    model->reset_gradient();
    throw;
  }
  restore_weights();
  update_parameters(gscale);
  for (std::size_t i = 0; i < missed_.size(); ++i) {
    update_table(gscale, i);
  }
  if (ma_mode != MovingAverage::None) {
    update_averages();
  }
  steps_ = done;
  ++updates;
  ++updates_since_status;
  apply_decay();
  after_update();
  if (schedule_ != nullptr) {
    learning_rate = next_rate;
  }
}

/// The factor of values after an update, because of weight decay.
double Trainer::decay_step_of(const ParameterStorageBase& p) {
  return p.updated ? 1.0 - static_cast<double>(p.state().decay->own.get_lambda()) : 1.0;
}
/// Dense parameters shrink at once: in the rule's pass, or after the averages if there are any.
double Trainer::keep_of(const ParameterStorageBase& p) const {
  return ma_mode == MovingAverage::None ? decay_step_of(p) : 1.0;
}

void Trainer::update_parameters(real gscale) {
  try {
    for (std::size_t i = 0; i < ModelAccess::parameters(*model).size(); ++i) {
      update_parameter(gscale, i);
    }
  } catch (...) {  // from a user's own rule, say: those before it have their update
    end_params();
    throw;
  }
  end_params();
}

void Trainer::update_parameter(real gscale, std::size_t idx) {
  const ParameterStorage& p = *ModelAccess::parameters(*model)[idx];
  if (!p.updated) {
    return;
  }
  StorageState& s = p.state();
  s.before_change("update");
  const auto multiply = [&s](double by) {
    if (by != 1.0) {
      s.kernels.add_scaled(by, s.values.data(), s.values.data(), s.elements, true);
    }
  };
  multiply(decays_in_rule() ? 1.0 : shrink());
  update_params(gscale, idx);
  if (s.exposed || !decays_in_rule()) {  // else nothing touches values or gradient before the end
    end_params();
  }
  s.forget_gradient();
  multiply(decays_in_rule() ? 1.0 : keep_of(p));
}

trainers::IdleMotion Trainer::motion_of(std::size_t idx) {
  switch (lookup_updates()) {
    case LookupUpdates::kExact:
      return idle_motion(idx);
    case LookupUpdates::kDense:
      return {};
    case LookupUpdates::kSparse:
      break;
  }
  return trainers::IdleMotion::rests();
}

/// Takes the heap memory for an update of a table.
void Trainer::prepare_table(std::size_t idx) {
  const LookupParameterStorage& p = *ModelAccess::lookups(*model)[idx];
  if (p.updated) {
    p.state().absorb_exposed_rows();
    attach(idx, motion_of(idx));
  }
}

/// Runs the rule over the rows that move, and notes the step for rows that will move later.
void Trainer::update_table(real gscale, std::size_t idx) {
  const LookupParameterStorage& p = *ModelAccess::lookups(*model)[idx];
  if (!p.updated) {
    return;
  }
  StorageState& s = p.state();
  s.before_change_of_rows("update");
  const std::shared_ptr<detail::LaggingAverages> averages = s.averages.lock();
  s.factor *= shrink();
  const trainers::IdleMotion motion = motion_of(idx);
  trainers::MissedUpdates* missed = missed_[idx].get();
  if (p.all_updated || (missed == nullptr && motion.kind != trainers::IdleMotion::Kind::kRests)) {
    s.catch_up_averages();
    if (missed != nullptr) {
      missed->catch_up();
    }
    update_lookup_params(gscale, idx);
    if (missed != nullptr) {
      missed->stepped_all();
    }
  } else {
    if (averages != nullptr) {
      averages->catch_up(s.touched);
    }
    const auto update_rows = [&] {
      if (!s.touched.empty()) {
        begin_rows(gscale, idx);
      }
      for (const unsigned row : s.touched) {
        if (missed != nullptr) {
          missed->catch_up(row);
        }
        update_lookup_params(gscale, idx, row);
      }
    };
    try {
      update_rows();
    } catch (...) {  // from a user's own rule, say: ends the state common to rows
      end_rows();
      throw;
    }
    end_rows();
    if (missed != nullptr) {
      missed->stepped(motion.weight, s.touched);
    }
  }
  s.forget_gradient();
}

/// Makes the record of the steps that rows of a table may miss, or drops it if no row may miss any.
/// Rows that missed steps under another rule or trainer catch up.
void Trainer::attach(std::size_t idx, const trainers::IdleMotion& motion) {
  StorageState& s = ModelAccess::lookups(*model)[idx]->state();
  std::shared_ptr<trainers::MissedUpdates>& mine = missed_[idx];
  const trainers::StateLists lists = states();
  const bool follows = trainers::MissedUpdates::can_follow(motion);
  if (s.missed != nullptr && (s.missed != mine || !follows || !mine->is_of(motion, lists, idx))) {
    s.missed->catch_up();
    s.missed = nullptr;
  }
  if (!follows) {
    mine = nullptr;
  } else if (s.missed == nullptr) {
    mine = std::make_shared<trainers::MissedUpdates>(s, motion, lists, idx);
    s.missed = mine;
  }
}

/// Forgets the records of missed steps; rows must be up to date.
void Trainer::detach_all() {
  for (std::size_t i = 0; i < missed_.size(); ++i) {
    StorageState& s = ModelAccess::lookups(*model)[i]->state();
    if (s.missed == missed_[i]) {
      s.missed = nullptr;
    }
  }
  missed_.clear();
}

void Trainer::catch_up() const { params::catch_up(*model); }

/// Tables shrink by their factor, and dense parameters here only after moving averages; frozen ones
/// do not.
void Trainer::apply_decay() {
  for (const auto& p : ModelAccess::all(*model)) {
    StorageState& s = p->state();
    const double keep = decay_step_of(*p);
    if (s.is_table()) {
      s.factor *= keep;
      if (p->updated && s.factor < kSmallestFactor) {
        s.apply_factor();
      }
    } else if (keep != 1.0 && ma_mode != MovingAverage::None) {
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
