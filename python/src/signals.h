#pragma once

// Ctrl-C, and other signals of the program, while the library is at work.

#include <chrono>

#include "dynet/interrupt.h"

namespace dynet::python {

/// Runs the handlers of the signals that arrived, in the main thread; other threads get none.
/// Throws their exceptions, such as KeyboardInterrupt. GIL held.
void run_signal_handlers();

/// Scope in which long work of this thread with files and parameters runs handlers now and then.
/// The thread keeps the GIL.
class Stoppable {
 public:
  Stoppable() : scope_([](void* /*of*/) { run_signal_handlers(); }) {}

 private:
  InterruptScope scope_;
};

/// Runs handlers now and then in a loop of the binding's own, which holds the GIL. Handlers may
/// change all data that the GIL guards.
class HandlersInLoop {
 public:
  /// To be called every millisecond or more often.
  void pass() {
    const auto now = Clock::now();
    if (now - last_ >= std::chrono::milliseconds(20)) {
      last_ = now;
      run_signal_handlers();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

}  // namespace dynet::python
