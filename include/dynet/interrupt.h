#pragma once

// Stopping work that takes long.

#include <chrono>
#include <cstdint>

namespace dynet {

namespace detail {
/// What a thread asks now and then whether to go on; nobody where `check` is null.
struct InterruptCheck {
  void (*check)(void* of) = nullptr;
  void* of = nullptr;
  std::chrono::steady_clock::duration interval{};  ///< it is not asked sooner again,
  std::chrono::steady_clock::time_point last{};    ///< after this; at first after the work's begin
  std::int64_t budget = 0;                         ///< work until the clock is looked at
};
}  // namespace detail

/// While it lives, what this thread computes (values, gradients), and the planning of it, asks
/// `check` now and then whether to go on, and so do savers, loaders, and what draws the first
/// numbers of a parameter: not again before `interval` (milliseconds::max(): never) is over, and
/// soon after. Work that takes less never asks. What `check` throws comes out of the call. No
/// parameter is added, no parameter, no gradient of a parameter and no value that was there is
/// changed then, and the same can be asked for again. What a call forgets at its start is
/// forgotten: a `backward` the gradients of the nodes that an earlier one left, and `forward`,
/// which computes anew, the old values. A file that was to be written is not there, or is the old
/// one.
///
/// `check` gets `of`, and must not use the graph. Nodes that run as one group are never stopped
/// inside, however large they are, nor is an update of a trainer. Scopes nest: the inner one is
/// asked, or nobody where its `check` is null. Thread rule: for the thread that made it, which has
/// to end it.
class InterruptScope {
 public:
  using Check = void (*)(void* of);
  explicit InterruptScope(Check check, void* of = nullptr,
                          std::chrono::milliseconds interval = std::chrono::milliseconds(40));
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  detail::InterruptCheck own_;
  detail::InterruptCheck* outer_;
};

}  // namespace dynet
