#pragma once

// Interrupting long computations.

#include <chrono>
#include <cstdint>

namespace dynet {

namespace detail {
/// The function that a thread calls now and then to ask whether to go on; none if `check` is null.
struct InterruptCheck {
  void (*check)(void* of) = nullptr;
  void* of = nullptr;
  std::chrono::steady_clock::duration interval{};  ///< it is not asked sooner again,
  std::chrono::steady_clock::time_point last{};    ///< after this; at first after the work's begin
  std::int64_t budget = 0;                         ///< work until the clock is looked at
};
}  // namespace detail

/// While the scope lives, long work of this thread calls `check` now and then: planning and
/// computing of values and gradients, savers, loaders, and drawing the first numbers of a
/// parameter. Calls are at least `interval` apart (milliseconds::max(): no calls); work that is
/// shorter calls never. Example: with 40 ms a `backward` of one second calls `check` about 24
/// times. An exception of `check` comes out of the interrupted call. Then no parameter is added,
/// parameters, their gradients and computed values are unchanged, and the call can be repeated.
/// Numbers that a call forgets at its start are forgotten: the gradients of an earlier `backward`,
/// the old values in a `forward`. A file that was to be written is absent or the old file.
///
/// `check` gets `of`, and must not use the graph. A group of nodes is never stopped inside, however
/// large it is, nor is an update of a trainer. Scopes nest: the inner scope's `check` counts, also
/// if it is null. Thread rule: a scope belongs to the thread that made it and has to end it.
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
