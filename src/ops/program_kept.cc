// Which values of a program forward keeps for backward.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/program.h"

namespace dynet::ops {

/// Made by a step, no result, and not the same for all calls.
bool Program::is_internal(ValueId v) const {
  const Place& place = places_[v];
  return v >= content_.arguments() && place.result == kNowhere && !place.depends_on_weights &&
         shown_[v] == v;
}

/// One saved output is for the way back.
bool Program::is_full() const { return saved_.size() + 1 == ext::kMaxSaved; }

void Program::keep(ValueId v) {
  if (!is_full() && places_[v].kept == kNowhere) {
    places_[v].kept = static_cast<std::uint8_t>(saved_.size());
    saved_.push_back(content_.dims[v]);
  }
}

/// The internal values that backward reads. `are_factors`: the values that products alone read and
/// no product makes, which can be computed again in the memory of the way back; false: all other
/// values.
std::vector<ValueId> Program::read_values(bool are_factors) const {
  std::vector<bool> by_products(places_.size());
  std::vector<bool> by_others(places_.size());
  for (std::size_t s = 0; s < content_.steps.size(); ++s) {
    const ProgramStep& step = content_.steps[s];
    for (std::size_t i = 0; i < step.args.size(); ++i) {
      if (step.args[i] != kNoValue && reads_[s].reads_argument(i) && !step.record->aliases) {
        (step.is_product() ? by_products : by_others)[shown_[step.args[i]]] = true;
      }
    }
    for (std::uint32_t k = 0; k < step.record->outputs; ++k) {
      by_others[step.first + k] = by_others[step.first + k] || reads_[s].reads_result(k);
    }
  }
  for (const ProgramStep& step : content_.steps) {
    for (std::uint32_t k = 0; step.is_product() && k < step.record->outputs; ++k) {
      by_others[step.first + k] = by_others[step.first + k] || by_products[step.first + k];
    }
  }
  std::vector<ValueId> read;
  for (ValueId v = 0; v < places_.size(); ++v) {
    if (is_internal(v) && (are_factors ? by_products[v] && !by_others[v] : by_others[v])) {
      read.push_back(v);
    }
  }
  return read;
}

/// The steps that backward runs once more if all gradients are wanted.
std::vector<bool> Program::run_again() const {
  std::vector<bool> is_needed(places_.size());
  std::vector<bool> again(content_.steps.size());
  for (std::size_t s = content_.steps.size(); s-- > 0;) {
    const ProgramStep& step = content_.steps[s];
    again[s] = !step.saved.empty();
    for (std::uint32_t k = 0; k < step.record->outputs; ++k) {
      const Place& place = places_[step.first + k];
      const bool is_stored = place.result != kNowhere || place.kept != kNowhere;
      const bool is_read = is_needed[step.first + k] || reads_[s].reads_result(k);
      again[s] = again[s] || (is_read && !is_stored);
    }
    for (std::size_t i = 0; i < step.args.size(); ++i) {
      const bool is_read = again[s] || (reads_[s].reads_argument(i) && !step.record->aliases);
      if (step.args[i] != kNoValue && is_read) {
        is_needed[step.args[i]] = true;
      }
    }
  }
  return again;
}

/// Keeps all values that backward reads, if there is room for them. True if no product runs once
/// more then; else nothing is kept.
bool Program::keep_read_values() {
  const std::vector<ValueId> read = read_values(false);
  if (read.size() < ext::kMaxSaved) {
    std::for_each(read.begin(), read.end(), [this](ValueId v) { keep(v); });
    const std::vector<bool> again = run_again();
    bool runs_product = false;
    for (std::size_t s = 0; s < again.size(); ++s) {
      const ProgramStep& step = content_.steps[s];
      runs_product = runs_product ||
                     (again[s] && step.is_product() && !places_[step.first].depends_on_weights);
    }
    if (!runs_product) {
      const std::vector<ValueId> factors = read_values(true);
      std::for_each(factors.begin(), factors.end(), [this](ValueId v) { keep(v); });
      return true;
    }
  }
  for (Place& place : places_) {
    place.kept = kNowhere;
  }
  saved_.clear();
  return false;
}

/// Keeps results of products, then other values that backward reads, as long as there is room.
void Program::keep_products() {
  for (const ProgramStep& step : content_.steps) {
    for (std::uint32_t k = 0; step.is_product() && k < step.record->outputs; ++k) {
      if (is_internal(step.first + k)) {
        keep(step.first + k);
      }
    }
  }
  const std::vector<ValueId> read = read_values(false);
  std::for_each(read.begin(), read.end(), [this](ValueId v) { keep(v); });
}

void Program::plan_kept() {
  if (!keep_read_values()) {
    keep_products();
  }
}

}  // namespace dynet::ops
