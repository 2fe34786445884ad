#pragma once

// Ctrl-C, and other signals of the program, while the library is at work.

#include "dynet/interrupt.h"

namespace dynet::python {

/// Runs the handlers of the signals that arrived, in the main thread; other threads get none. What
/// they raise, such as KeyboardInterrupt, is thrown. GIL held.
void run_signal_handlers();

/// While it lives, long work of this thread with files runs handlers now and then. The GIL stays
/// with it.
class Stoppable {
 public:
  Stoppable() : scope_([](void* /*of*/) { run_signal_handlers(); }) {}

 private:
  InterruptScope scope_;
};

}  // namespace dynet::python
