// Trainers that are rules: the operands of a step, and the code that runs the step.

#include "dynet/trainers/rule_trainer.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>

#include "dynet/ext/update.h"
#include "dynet/trainers/all.h"

#include "kernels/team.h"
#include "params/access.h"
#include "trainers/device_steps.h"
#include "trainers/simd_steps.h"
#include "util/prefetch.h"

namespace dynet {

namespace ext {
namespace {

/// The streams of a step on `data`.
struct StepStreams {
  Stream in[kMaxStepInputs], out[kMaxStepInputs];

  StepStreams(const UpdateInfo& info, void* const* data, bool has_gradient) {
    for (std::size_t k = 0; k < info.inputs; ++k) {
      in[k] = {data[k], Stream::kRun};
    }
    out[0] = {data[0], Stream::kStore};
    void* const* states = data + (has_gradient ? 1 : 0);
    for (std::size_t j = 1; j < info.results; ++j) {
      out[j] = {states[j], Stream::kStore};
    }
  }
};

}  // namespace

void run_step(const Kernels& kernels, const UpdateInfo& info, const void* prepared,
              void* const* data, bool has_gradient, std::int64_t n) {
  const StepStreams streams(info, data, has_gradient);
  kernels.run(info.rule, Direction::kForward, prepared, streams.in, streams.out, n);
}

}  // namespace ext

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
  static std::span<const ext::RuleLoops* const> loops() {
    static const std::array<const ext::RuleLoops*, 2 * sizeof...(T)> all = {
        ext::update_info<typename T::Rule>().rule.loops...,
        ext::update_info<CatchUpOf<T>>().rule.loops...};
    return all;
  }
};
template <class... T>
const std::array<typename Definitions<TrainerList<T...>>::Info, 2 * sizeof...(T)>
    Definitions<TrainerList<T...>>::kAll = {&ext::update_info<typename T::Rule>...,
                                            &ext::update_info<CatchUpOf<T>>...};
template struct Definitions<AllUpdates>;

std::span<const ext::RuleLoops* const> loops_of_updates() {
  return Definitions<AllUpdates>::loops();
}

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
    step_waiting_rows();  // they were asked for with the one before
    run_noted();          // likewise
    rows_.device = nullptr;
    std::memcpy(step_, rule, what.member_bytes);
    what.prepare(step_);
    has_step_ = true;
  }
}

/// Runs a step on `data`: values, gradient, states. Threads share a step without sums.
void RuleTrainerBase::apply(const Device& device, const Facts& facts, void* const* data,
                            std::int64_t elements) {
  constexpr std::size_t kUnit = 64;  // shares of one cache line would slow each other
  constexpr double kNumber = 0.2;    // nanoseconds, for each number read
  prepare(facts);
  const ext::UpdateInfo& what = info();
  if (!device.is_host_visible()) {
    note(device, data, elements);
    return;
  }
  const auto all = static_cast<std::size_t>(elements);
  const auto run_part = [&](std::size_t first, std::size_t last) {
    const std::size_t offset = first * static_cast<std::size_t>(device.number_bytes());
    void* at[2 + kMaxStates] = {};
    for (std::size_t k = 0; k < what.inputs; ++k) {
      at[k] = static_cast<std::byte*>(data[k]) + offset;
    }
    ext::run_step(*device.kernels, what, step_, at, true, static_cast<std::int64_t>(last - first));
  };
  if (what.reduces) {
    run_part(0, all);
  } else {
    kernels::cut(all, kUnit, kNumber * static_cast<double>(all * what.inputs), run_part);
  }
}

void RuleTrainerBase::note(const Device& device, void* const* data, std::int64_t elements) {
  if (noted_on_ != &device) {
    run_noted();
    noted_on_ = &device;
  }
  Noted& noted = noted_.emplace_back();
  std::copy_n(data, info().inputs, noted.data);
  noted.elements = elements;
}
/// If it fails, the notes are gone: at the next update their gradients are others.
void RuleTrainerBase::run_noted() {
  const std::vector<Noted> all = std::exchange(noted_, {});
  if (all.empty()) {
    return;
  }
  const ext::UpdateInfo& what = info();
  std::vector<ext::StepStreams> streams;
  streams.reserve(all.size());  // runs point to them
  std::vector<ext::RuleRun> runs;
  for (const Noted& noted : all) {
    const ext::StepStreams& s = streams.emplace_back(what, noted.data, true);
    runs.push_back({s.in, s.out, noted.elements});
  }
  noted_on_->kernels->run_all(what.rule, ext::Direction::kForward, step_, runs);
}
void RuleTrainerBase::end_params() { run_noted(); }

/// For whole tables: if the rule has sums, they run over rows.
void RuleTrainerBase::apply_to_rows(const Device& device, const Facts& facts, void* const* data,
                                    std::int64_t rows, std::int64_t row_elements,
                                    std::int64_t row_bytes) {
  const ext::UpdateInfo& what = info();
  if (!what.reduces) {
    apply(device, facts, data, rows * row_elements);
    return;
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    void* at[2 + kMaxStates] = {};
    for (std::size_t k = 0; k < what.inputs; ++k) {
      at[k] = static_cast<std::byte*>(data[k]) + row * row_bytes;
    }
    apply(device, facts, at, row_elements);
  }
}

void RuleTrainerBase::update_rule(real gscale, const std::vector<Tensor*>& values) {
  void* data[2 + kMaxStates];
  for (std::size_t k = 0; k < info().inputs; ++k) {
    data[k] = values[k]->v;
  }
  const Facts facts{static_cast<double>(learning_rate), static_cast<double>(gscale), shrink(),
                    shrink(), static_cast<double>(step_number())};
  run_noted();  // of a parameter with the same values, perhaps
  apply(*values[0]->device, facts, data, values[0]->d.elements());
  run_noted();
}

void RuleTrainerBase::update_params(real gscale, std::size_t idx) {
  const ParameterStorage& p = *ModelAccess::parameters(*model)[idx];
  StorageState& s = p.state();
  const Facts facts = facts_for(gscale, p, keep_of(p));
  if (idx < next_noted_) {  // a program's own trainer steps it twice
    run_noted();
  }
  next_noted_ = idx + 1;
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
  apply(s.device, facts, data, s.elements);
}

void RuleTrainerBase::begin_rows(real gscale, std::size_t idx) {
  open_rows(gscale, idx);
  const std::vector<unsigned>& rows = ModelAccess::lookups(*model)[idx]->state().touched;
  rows_.waiting = rows_.next = rows.data();
  rows_.end = rows.data() + rows.size();
}
void RuleTrainerBase::end_rows() {
  step_waiting_rows();
  rows_.device = nullptr;
}

/// Rows lie anywhere in a table that may be larger than all caches: the next rows are fetched while
/// others are computed. For a long row, the processor fetches the rest.
void RuleTrainerBase::step_waiting_rows() {
  constexpr std::size_t kAhead = 4;
  constexpr double kRow = 40.0;     // nanoseconds to begin a row, which mostly is in no cache
  constexpr double kNumber = 0.25;  // and for each number
  if (rows_.device == nullptr || rows_.waiting == rows_.next) {
    return;
  }
  const unsigned* const rows = std::exchange(rows_.waiting, rows_.next);
  const bool is_visible = rows_.device->is_host_visible();
  const ext::UpdateInfo& what = info();
  const std::int64_t row_bytes = rows_.row_bytes;
  const auto fetch = [&](std::size_t i) {
    for (std::size_t k = 0; k < what.inputs; ++k) {
      const std::int64_t at = static_cast<std::int64_t>(rows[i]) * row_bytes;
      util::fetch_row(reinterpret_cast<const std::byte*>(rows_.first[k] + at), row_bytes);
    }
  };
  const auto run_part = [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < std::min(first + kAhead, last); ++i) {
      fetch(i);
    }
    for (std::size_t i = first; i < last; ++i) {
      if (i + kAhead < last) {
        fetch(i + kAhead);
      }
      step_row(rows[i]);
    }
  };
  const auto count = static_cast<std::size_t>(rows_.next - rows);
  if (is_visible) {
    const double row =
        kRow + kNumber * static_cast<double>(rows_.row_elements) * static_cast<double>(what.inputs);
    kernels::cut(count, 1, row * static_cast<double>(count), run_part);
    return;
  }
  run_noted();
  noted_.reserve(count);  // memory runs out before the first note, or not at all
  for (const unsigned* row = rows; row != rows_.next; ++row) {
    void* data[2 + kMaxStates];
    find_row(*row, data);
    note(*rows_.device, data, rows_.row_elements);
  }
  run_noted();
}
void RuleTrainerBase::find_row(std::size_t row, void** data) const {
  for (std::size_t k = 0; k < info().inputs; ++k) {
    data[k] = rows_.first[k] + static_cast<std::int64_t>(row) * rows_.row_bytes;
  }
}
void RuleTrainerBase::step_row(std::size_t row) const {
  const ext::UpdateInfo& what = info();
  void* data[2 + kMaxStates] = {};
  find_row(row, data);
  ext::run_step(*rows_.device->kernels, what, step_, data, true, rows_.row_elements);
}

void RuleTrainerBase::open_rows(real gscale, std::size_t idx) {
  const LookupParameterStorage& p = *ModelAccess::lookups(*model)[idx];
  StorageState& s = p.state();
  prepare(facts_for(gscale, p, 1.0));
  const auto at = [](const void* data) {
    return static_cast<unsigned char*>(const_cast<void*>(data));
  };
  rows_ = {&s.device,
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
  const bool has_begun = rows_.device != nullptr && rows_.table == idx && rows_.gscale == gscale &&
                         rows_.rate == learning_rate;
  if (has_begun && rows_.next != rows_.end && *rows_.next == lidx) {
    ++rows_.next;
    return;
  }
  step_waiting_rows();
  if (!has_begun) {  // a program calls this itself
    open_rows(gscale, idx);
  }
  step_row(lidx);
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
  apply_to_rows(s.device, facts, data, p.rows(), s.row_elements(), s.row_bytes);
  run_noted();
}

IdleMotion RuleTrainerBase::idle_motion(std::size_t idx) {
  return idle(facts_for(1.0F, *ModelAccess::lookups(*model)[idx], 1.0));
}

}  // namespace trainers
}  // namespace dynet
