// What trainers that are rules share: which numbers a step reads and writes, and who runs it.

#include "dynet/trainers/rule_trainer.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <type_traits>

#include "dynet/ext/update.h"
#include "dynet/trainers/all.h"

#include "params/access.h"
#include "trainers/simd_steps.h"

namespace dynet {

void ext::run_step(const Kernels& kernels, const UpdateInfo& info, const void* prepared,
                   void* const* data, bool has_gradient, std::int64_t n) {
  Stream in[kMaxStepInputs];
  Stream out[kMaxStepInputs];
  for (std::size_t k = 0; k < info.inputs; ++k) {
    in[k] = {data[k], Stream::kRun};
  }
  out[0] = {data[0], Stream::kStore};
  void* const* states = data + (has_gradient ? 1 : 0);
  for (std::size_t j = 1; j < info.results; ++j) {
    out[j] = {states[j], Stream::kStore};
  }
  kernels.run(info.rule, Direction::kForward, prepared, in, out, n);
}

namespace trainers {

using detail::GradientFill;
using detail::ModelAccess;
using detail::StorageState;

static_assert(2 + kMaxStates <= ext::kMaxStepInputs);

/// Programs see ext::update_info without a definition: here it is, for the rules of the list.
template <class List>
struct Definitions;
template <class... T>
struct Definitions<TrainerList<T...>> {
  using Info = const ext::UpdateInfo& (*)();
  template <class U>
  using CatchUpOf = std::conditional_t<std::is_same_v<typename U::CatchUp, NoCatchUp>,
                                       typename U::Rule, typename U::CatchUp>;
  static const std::array<Info, 2 * sizeof...(T)> kAll;
};
template <class... T>
const std::array<typename Definitions<TrainerList<T...>>::Info, 2 * sizeof...(T)>
    Definitions<TrainerList<T...>>::kAll = {&ext::update_info<typename T::Rule>...,
                                            &ext::update_info<CatchUpOf<T>>...};
template struct Definitions<AllUpdates>;

RuleTrainerBase::RuleTrainerBase(ParameterCollection& m, real rate) : Trainer(m, rate) {
  static std::once_flag loops;
  std::call_once(loops, install_simd_steps);
}

/// (1 - s) w - step is (1 - s) (w - step / (1 - s)): a decay before the step is one after it of a
/// larger step. The factor of a table has it already (Trainer::update_table).
Facts RuleTrainerBase::facts_for(real gscale, const ParameterStorageBase& p, double keep) const {
  const double own = p.state().is_table() ? 1.0 : shrink();
  return {static_cast<double>(learning_rate), static_cast<double>(gscale), decay_of(p) * own,
          keep * own, static_cast<double>(step_number())};
}

void RuleTrainerBase::prepare(const Facts& facts) {
  static_assert(sizeof step_ == ext::kMaxStepBytes);
  alignas(16) unsigned char rule[sizeof step_];
  const ext::UpdateInfo& what = info();
  write_rule(facts, rule);
  if (!has_step_ || std::memcmp(rule, step_, what.member_bytes) != 0) {
    rows_.kernels = nullptr;
    std::memcpy(step_, rule, what.member_bytes);
    what.prepare(step_);
    has_step_ = true;
  }
}

/// Runs a step on `data`: values, gradient, states.
void RuleTrainerBase::apply(const ext::Kernels& kernels, const Facts& facts, void* const* data,
                            std::int64_t elements) {
  prepare(facts);
  ext::run_step(kernels, info(), step_, data, true, elements);
}

/// For whole tables: where the rule has sums, these are over rows.
void RuleTrainerBase::apply_to_rows(const ext::Kernels& kernels, const Facts& facts,
                                    void* const* data, std::int64_t rows, std::int64_t row_elements,
                                    std::int64_t row_bytes) {
  const ext::UpdateInfo& what = info();
  if (!what.reduces) {
    apply(kernels, facts, data, rows * row_elements);
    return;
  }
  prepare(facts);
  for (std::int64_t row = 0; row < rows; ++row) {
    void* at[2 + kMaxStates] = {};
    for (std::size_t k = 0; k < what.inputs; ++k) {
      at[k] = static_cast<std::byte*>(data[k]) + row * row_bytes;
    }
    ext::run_step(kernels, what, step_, at, true, row_elements);
  }
}

void RuleTrainerBase::update_rule(real gscale, const std::vector<Tensor*>& values) {
  void* data[2 + kMaxStates];
  for (std::size_t k = 0; k < info().inputs; ++k) {
    data[k] = values[k]->v;
  }
  const Facts facts{static_cast<double>(learning_rate), static_cast<double>(gscale), shrink(),
                    shrink(), static_cast<double>(step_number())};
  apply(*values[0]->device->kernels, facts, data, values[0]->d.elements());
}

void RuleTrainerBase::update_params(real gscale, std::size_t idx) {
  const ParameterStorage& p = *ModelAccess::parameters(*model)[idx];
  StorageState& s = p.state();
  const Facts facts = facts_for(gscale, p, keep_of(p));
  if (s.fill == GradientFill::kEmpty && idle(facts).kind == IdleMotion::Kind::kRests) {
    if (facts.keep != 1.0) {
      s.kernels.add_scaled(facts.keep, s.values.data(), s.values.data(), s.elements, true);
    }
    return;
  }
  s.fill_gradient();
  void* data[2 + kMaxStates] = {s.values.data(), const_cast<std::byte*>(s.gradient.data())};
  const StateLists lists = states();
  for (unsigned k = 0; k < lists.state_count(); ++k) {
    data[2 + k] = (*lists.states[k].parameters)[idx].h.v;
  }
  apply(s.kernels, facts, data, s.elements);
}

void RuleTrainerBase::begin_rows(real gscale, std::size_t idx) {
  constexpr int kAhead = 4;
  open_rows(gscale, idx);
  const LookupParameterStorage& p = *ModelAccess::lookups(*model)[idx];
  if (p.device->is_host_visible()) {
    const std::vector<unsigned>& rows = p.state().touched;
    rows_.next = rows.data();
    rows_.end = rows.data() + rows.size();
    for (int i = 0; i < kAhead; ++i) {
      fetch_row(info().inputs);
    }
  }
}

/// Rows lie anywhere in a table that may be larger than all caches: those that come soon are
/// fetched while others are computed. Where a row is long, the processor fetches its rest.
void RuleTrainerBase::fetch_row(std::size_t inputs) {
  constexpr std::int64_t kLine = 64;
  constexpr std::int64_t kMost = 1024;
  if (rows_.next == rows_.end) {
    return;
  }
  const std::int64_t begin = static_cast<std::int64_t>(*rows_.next++) * rows_.row_bytes;
  const std::int64_t end = begin + std::min(kMost, rows_.row_bytes);
  for (std::size_t k = 0; k < inputs; ++k) {
    for (std::int64_t at = begin; at < end; at += kLine) {
      __builtin_prefetch(rows_.first[k] + at, /*written, too:*/ 1);
    }
  }
}

void RuleTrainerBase::open_rows(real gscale, std::size_t idx) {
  const LookupParameterStorage& p = *ModelAccess::lookups(*model)[idx];
  StorageState& s = p.state();
  prepare(facts_for(gscale, p, 1.0));
  const auto at = [](const void* data) {
    return static_cast<unsigned char*>(const_cast<void*>(data));
  };
  rows_ = {&s.kernels,
           idx,
           gscale,
           learning_rate,
           s.row_bytes,
           s.row_elements(),
           {at(s.values.data()), at(s.gradient.data())}};
  const StateLists lists = states();
  for (unsigned k = 0; k < lists.state_count(); ++k) {
    rows_.first[2 + k] = at((*lists.states[k].lookups)[idx].all_h.v);
  }
}

void RuleTrainerBase::update_lookup_params(real gscale, std::size_t idx, std::size_t lidx) {
  const bool has_begun = rows_.kernels != nullptr && rows_.table == idx && rows_.gscale == gscale &&
                         rows_.rate == learning_rate;
  if (!has_begun) {  // a program calls this itself
    open_rows(gscale, idx);
  }
  const std::int64_t offset = static_cast<std::int64_t>(lidx) * rows_.row_bytes;
  const ext::UpdateInfo& what = info();
  fetch_row(what.inputs);
  void* data[2 + kMaxStates] = {};
  for (std::size_t k = 0; k < what.inputs; ++k) {
    data[k] = rows_.first[k] + offset;
  }
  ext::run_step(*rows_.kernels, what, step_, data, true, rows_.row_elements);
  if (!has_begun) {
    end_rows();
  }
}

void RuleTrainerBase::update_lookup_params(real gscale, std::size_t idx) {
  const LookupParameterStorage& p = *ModelAccess::lookups(*model)[idx];
  StorageState& s = p.state();
  const Facts facts = facts_for(gscale, p, 1.0);
  if (s.fill == GradientFill::kEmpty && idle(facts).kind == IdleMotion::Kind::kRests) {
    return;
  }
  s.fill_gradient();
  void* data[2 + kMaxStates] = {s.values.data(), const_cast<std::byte*>(s.gradient.data())};
  const StateLists lists = states();
  for (unsigned k = 0; k < lists.state_count(); ++k) {
    data[2 + k] = (*lists.states[k].lookups)[idx].all_h.v;
  }
  apply_to_rows(s.kernels, facts, data, p.rows(), s.row_elements(), s.row_bytes);
}

IdleMotion RuleTrainerBase::idle_motion(std::size_t idx) {
  return idle(facts_for(1.0F, *ModelAccess::lookups(*model)[idx], 1.0));
}

}  // namespace trainers
}  // namespace dynet
