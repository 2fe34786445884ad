// The work of a call: values with one example beside a batch, steps of backward, steps that
// backward computes again. The work depends on the operands that are present, and on nothing else,
// so each combination of these (a *case*) is found once.

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "ops/program.h"

namespace dynet::ops {
namespace {

constexpr std::size_t kMostCases = 64;  // of a program
constexpr std::size_t kKeyBits = 64;

ProgramCase::Key key_of(const ext::Call& call) {
  ProgramCase::Key key;
  for (std::size_t a = 0; a < call.in.size(); ++a) {
    key.single |= std::uint64_t{call.in[a].examples != call.examples} << a;
  }
  for (std::size_t a = 0; a < call.d_in.size(); ++a) {
    key.wanted |= std::uint64_t{!call.d_in[a].absent()} << a;
  }
  for (std::size_t k = 0; k < call.d_out.size(); ++k) {
    key.given |= std::uint64_t{!call.d_out[k].absent()} << k;
  }
  return key;
}

/// Held while a case is added to a program.
std::mutex& adding() {
  static std::mutex& mutex = *new std::mutex;  // graphs may compute while the process ends
  return mutex;
}

}  // namespace

struct Program::KeptCase {
  ProgramCase::Key key;
  ProgramCase content;
  const KeptCase* next;
  std::size_t count;  ///< of this one and all behind it
};

const ProgramCase& Program::case_of(const ext::Call& call, ProgramCase& own) const {
  if (content_.arguments() > kKeyBits) {
    fill_case(call, own);
    return own;
  }
  const ProgramCase::Key key = key_of(call);
  const auto find = [&]() -> const KeptCase* {
    const KeptCase* at = cases_.load(std::memory_order_acquire);
    while (at != nullptr && at->key != key) {
      at = at->next;
    }
    return at;
  };
  if (const KeptCase* found = find(); found != nullptr) {
    return found->content;
  }
  const std::lock_guard lock(adding());
  if (const KeptCase* found = find(); found != nullptr) {  // another thread was faster
    return found->content;
  }
  const KeptCase* const first = cases_.load(std::memory_order_relaxed);
  const std::size_t count = first == nullptr ? 0 : first->count;
  fill_case(call, own);
  if (count == kMostCases) {
    return own;
  }
  const auto* const kept = new KeptCase{key, own, first, count + 1};
  cases_.store(kept, std::memory_order_release);
  return kept->content;
}

bool Program::is_stored(ValueId v) const {
  return v < content_.arguments() || places_[v].result != kNowhere || places_[v].kept != kNowhere;
}

void Program::fill_case(const ext::Call& call, ProgramCase& to) const {
  to.values.assign(places_.size(), {});
  to.steps.assign(content_.steps.size(), {});
  for (std::size_t a = 0; a < content_.arguments(); ++a) {
    to.values[a].is_single = call.in[a].examples != call.examples;
    to.values[a].is_wanted = !call.d_in.empty() && !call.d_in[a].absent();
  }
  for (const ProgramStep& step : content_.steps) {
    ProgramCase::OfValue of;
    of.is_single = true;
    for (const ValueId a : step.args) {
      if (a != kNoValue) {
        of.is_single = of.is_single && to.values[a].is_single;
        of.is_wanted = of.is_wanted || to.values[a].is_wanted;
      }
    }
    of.is_wanted = of.is_wanted && !step.record->stops_gradient;
    std::fill_n(to.values.begin() + step.first, step.record->outputs, of);
  }
  if (!call.d_out.empty()) {
    mark_reached(call, to);
    mark_needed(to);
  }
}

/// The steps that backward runs: from the results with gradients to the wanted arguments.
void Program::mark_reached(const ext::Call& call, ProgramCase& to) const {
  for (std::size_t k = 0; k < content_.results.size(); ++k) {
    ProgramCase::OfValue& of = to.values[content_.results[k]];
    of.is_reached = of.is_reached || (of.is_wanted && !call.d_out[k].absent());
  }
  for (std::size_t s = content_.steps.size(); s-- > 0;) {
    const ProgramStep& step = content_.steps[s];
    for (std::uint32_t k = 0; k < step.record->outputs; ++k) {
      to.steps[s].is_active = to.steps[s].is_active || to.values[step.first + k].is_reached;
    }
    for (const ValueId a : step.args) {
      if (to.steps[s].is_active && a != kNoValue && to.values[a].is_wanted) {
        to.values[a].is_reached = true;
      }
    }
  }
}

/// The values that backward reads, and the steps that backward computes again because forward kept
/// no result.
void Program::mark_needed(ProgramCase& to) const {
  for (std::size_t s = content_.steps.size(); s-- > 0;) {
    const ProgramStep& step = content_.steps[s];
    const bool is_active = to.steps[s].is_active;
    bool is_read = is_active && !step.saved.empty();
    for (std::uint32_t k = 0; k < step.record->outputs; ++k) {
      ProgramCase::OfValue& of = to.values[step.first + k];
      of.is_needed = of.is_needed || (is_active && reads_[s].reads_result(k));
      is_read = is_read || (of.is_needed && !is_stored(step.first + k));
    }
    to.steps[s].is_again = is_read && !step.record->aliases;
    for (std::size_t i = 0; i < step.args.size(); ++i) {
      const bool is_argument_read =
          is_read || (is_active && !step.record->aliases && reads_[s].reads_argument(i));
      if (is_argument_read && step.args[i] != kNoValue) {
        to.values[step.args[i]].is_needed = true;
      }
    }
  }
}

}  // namespace dynet::ops
