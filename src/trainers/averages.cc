// Moving averages of parameters. All are of effective values (stored value times decay factor).
#include <cmath>

#include "dynet/trainers/trainer.h"

#include "params/access.h"
#include "trainers/missed.h"
#include "trainers/table_averages.h"

namespace dynet {
namespace {

using detail::StorageState;

/// Runs f(state, average, saved) over all parameters that have an average; `saved` is null without
/// one.
template <class F>
void for_each(const ParameterCollection& model, std::vector<ShadowParameters>& p,
              std::vector<ShadowLookupParameters>& lp, std::vector<ShadowParameters>& saved_p,
              std::vector<ShadowLookupParameters>& saved_lp, F f) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    f(detail::ModelAccess::parameters(model)[i]->state(), p[i].h.v,
      i < saved_p.size() ? saved_p[i].h.v : nullptr);
  }
  for (std::size_t i = 0; i < lp.size(); ++i) {
    f(detail::ModelAccess::lookups(model)[i]->state(), lp[i].all_h.v,
      i < saved_lp.size() ? saved_lp[i].all_h.v : nullptr);
  }
}

}  // namespace

void Trainer::enable_average(MovingAverage mode, unsigned update_freq) {
  if (updates > 0.0F) {
    throw errors::UsageError("moving average: it must be asked for before the first update");
  }
  if (update_freq == 0) {
    throw errors::UsageError("moving average: update_freq is 0; want 1 or more");
  }
  ma_mode = mode;
  ma_update_freq = update_freq;
}
void Trainer::exponential_moving_average(float beta, unsigned update_freq) {
  check_beta(beta);
  enable_average(MovingAverage::Exponential, update_freq);
  ema_beta = beta;
}
void Trainer::cumulative_moving_average(unsigned update_freq) {
  enable_average(MovingAverage::Cumulative, update_freq);
}

void Trainer::allocate_averages() {
  allocate_shadow_parameters(*model, static_cast<unsigned>(ma_p.size()), ma_p);
  allocate_shadow_lookup_parameters(*model, static_cast<unsigned>(ma_lp.size()), ma_lp);
  ma_aux_allocated = static_cast<unsigned>(ma_p.size());
  ma_aux_allocated_lookup = static_cast<unsigned>(ma_lp.size());
}

/// Tells the tables who keeps averages of their rows. A table knows one keeper; averages of another
/// trainer, which the table had before, are caught up, and attached again by that trainer's next
/// update.
void Trainer::attach_averages() {
  const auto& tables = detail::ModelAccess::lookups(*model);
  table_averages_.resize(ma_lp.size());
  for (std::size_t i = 0; i < ma_lp.size(); ++i) {
    StorageState& s = tables[i]->state();
    std::shared_ptr<trainers::TableAverages>& mine = table_averages_[i];
    if (mine == nullptr || !mine->is_of(ma_lp[i])) {
      mine = std::make_shared<trainers::TableAverages>(s, ma_lp[i]);
    }
    if (s.averages.lock() != mine) {
      s.catch_up_averages();
      s.catch_up();
      s.averages = mine;
    }
  }
}

void Trainer::catch_up_averages() const {
  for (const auto& averages : table_averages_) {
    averages->catch_up();
  }
}

void Trainer::update_averages() {
  if ((step_number() - 1) % ma_update_freq != 0) {
    return;
  }
  const double n = ma_updates;
  const double keep =
      ma_mode == MovingAverage::Cumulative ? n / (n + 1.0) : static_cast<double>(ema_beta);
  const auto step_of = [keep](const StorageState& s) {
    return trainers::AverageStep{keep, (1.0 - keep) * s.decay_factor()};
  };
  const auto& parameters = detail::ModelAccess::parameters(*model);
  for (std::size_t i = 0; i < ma_p.size(); ++i) {
    const StorageState& s = parameters[i]->state();
    step_of(s).run(s.kernels, s.values.data(), ma_p[i].h.v, s.elements);
  }
  const auto& tables = detail::ModelAccess::lookups(*model);
  for (std::size_t i = 0; i < ma_lp.size(); ++i) {
    StorageState& s = tables[i]->state();
    const trainers::MissedUpdates* const moving = trainers::MissedUpdates::of(s);
    // A program that has the storage may write at any time.
    const bool may_lag = !s.exposed && (moving == nullptr || moving->follows_averages());
    if (!may_lag) {
      s.catch_up();
    }
    table_averages_[i]->step(step_of(s));
    if (!may_lag) {
      table_averages_[i]->catch_up();
    }
  }
  ++ma_updates;
}

void Trainer::swap_params_to_moving_average(bool save_weights, bool bias_correction) {
  if (ma_mode == MovingAverage::None) {
    throw errors::UsageError("moving average: it was not asked for");
  }
  if (ma_updates == 0) {
    throw errors::UsageError("moving average: there was no update yet");
  }
  if (ma_params_swapped) {
    return;
  }
  const params::UpdateScope scope(params::usage_of(*model), "swap_params_to_moving_average");
  catch_up();
  if (save_weights) {
    allocate_shadow_parameters(*model, static_cast<unsigned>(ma_saved_p.size()), ma_saved_p);
    allocate_shadow_lookup_parameters(*model, static_cast<unsigned>(ma_saved_lp.size()),
                                      ma_saved_lp);
  }
  ma_saved_factors_.clear();
  ma_saved_factors_.reserve(ma_saved_p.size() + ma_saved_lp.size());
  double scale = 1.0;
  if (bias_correction && ma_mode == MovingAverage::Exponential) {
    scale = 1.0 / (1.0 - std::pow(static_cast<double>(ema_beta), ma_updates));
  }
  for_each(*model, ma_p, ma_lp, ma_saved_p, ma_saved_lp,
           [&](StorageState& s, float* average, float* saved) {
             s.before_change("swap_params_to_moving_average");  // averages are up to date then
             if (save_weights) {
               s.kernels.add_scaled(1.0, s.values.data(), saved, s.elements, true);
               ma_saved_factors_.push_back(s.decay_factor());
             }
             s.kernels.add_scaled(scale / s.decay_factor(), average, s.values.data(), s.elements,
                                  true);
           });
  ma_params_swapped = true;
  ma_params_saved = save_weights;
}

void Trainer::swap_params_to_weights() {
  if (!ma_params_swapped) {
    return;
  }
  const params::UpdateScope scope(params::usage_of(*model), "swap_params_to_weights");
  restore_weights();
}

void Trainer::check_weights_are_saved() const {
  if (ma_params_swapped && !ma_params_saved) {
    throw errors::UsageError(
        "moving average: the weights were not saved when the averages took their place");
  }
}

/// The caller has the model for itself.
void Trainer::restore_weights() {
  if (!ma_params_swapped) {
    return;
  }
  check_weights_are_saved();
  // To the bit, unless the factor was changed meanwhile. A parameter that is new was not swapped.
  auto factor = ma_saved_factors_.begin();
  for_each(*model, ma_p, ma_lp, ma_saved_p, ma_saved_lp,
           [&](StorageState& s, float*, float* saved) {
             if (saved != nullptr) {
               s.before_change("swap_params_to_weights");
               s.kernels.add_scaled(*factor++ / s.decay_factor(), saved, s.values.data(),
                                    s.elements, true);
             }
           });
  ma_params_swapped = false;
  ma_params_saved = false;
}

}  // namespace dynet
