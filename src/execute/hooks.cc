#include "execute/hooks.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>

namespace dynet::execute {
namespace {

struct Kind {
  bool (*is_wanted)();
  std::unique_ptr<Hook> (*make)(const HookParts& parts);
};
/// Interrupts come first, so that a stopped request computes and reports nothing more.
constexpr Kind kKindTable[] = {{wants_interrupts, make_interrupts},
                               {wants_trace, make_trace},
                               {wants_profile, make_profile},
                               {wants_paranoia, make_paranoia}};

}  // namespace

/// Hooks of the library, then hooks that were added.
void Hooks::begin(bool backward) {
  static_assert(std::size(kKindTable) == kKinds);
  try {
    for (std::size_t k = 0; k < kKinds; ++k) {
      if (kKindTable[k].is_wanted()) [[unlikely]] {
        if (made_[k] == nullptr) {
          made_[k] = kKindTable[k].make(parts_);
        }
        active_.push_back(made_[k].get());
      }
    }
    active_.insert(active_.end(), added_.begin(), added_.end());
  } catch (...) {  // none of them has begun
    active_.clear();
    throw;
  }
  each([backward](Hook& hook) { hook.begin_request(backward); });
}

/// Last one first, as in the destruction of nested scopes.
void Hooks::end() noexcept {
  while (!active_.empty()) {
    Hook* const last = active_.back();
    active_.pop_back();
    last->end_request();
  }
}

bool Hooks::begin_rehearsal() {
  if (std::none_of(active_.begin(), active_.end(),
                   [](const Hook* hook) { return hook->wants_rehearsal(); })) {
    return false;
  }
  rested_.clear();
  std::copy_if(active_.begin(), active_.end(), std::back_inserter(rested_),
               [](const Hook* hook) { return hook->sees_rehearsals(); });
  active_.swap(rested_);
  return true;
}

}  // namespace dynet::execute
