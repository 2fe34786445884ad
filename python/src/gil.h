#pragma once

// The GIL, released while the library works and taken again for callbacks.
//
// Python ends without waiting for daemon threads. From then on a thread that wants the GIL does not
// come back: CPython ends the thread on the spot (pthread_exit), which unwinds its C++ frames as an
// exception would. Destructors there would release Python's objects without the GIL, most frames
// may not be left by an exception at all, and other frames would keep an exception that is not
// theirs. So such a thread stands still instead, from the first C++ frame of this module on, as in
// CPython from version 3.14 on (unwound.cc). The process ends when the main thread says so.
// Example: a daemon thread in forward() when the main thread returns computes to the end, and then
// stands still.
//
// A thread must not ask for its Python state by PyGILState_Ensure then either: the data that the
// function reads are gone. So WithGil uses the state that WithoutGil got.

#include <Python.h>

#include <utility>

namespace dynet::python {

/// Whether the Python that loaded this module is there and does not end. False for another Python,
/// which the program started later. Without the GIL, Python may end at any time.
[[nodiscard]] bool is_python_alive() noexcept;

namespace gil {
/// The calling thread's state, while it has let go of the GIL.
inline thread_local PyThreadState* state_without_gil = nullptr;
}  // namespace gil

/// Scope in which this thread has neither the GIL, which it had, nor the module's lock (lock.h).
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) { gil::state_without_gil = state_; }
  ~WithoutGil() {
    PyEval_RestoreThread(state_);
    gil::state_without_gil = nullptr;
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// Scope with the GIL, whether the thread had it or not. Threads that Python did not start have to
/// ask is_python_alive before.
class WithGil {
 public:
  WithGil() : state_(std::exchange(gil::state_without_gil, nullptr)) {
    if (state_ != nullptr) {
      PyEval_RestoreThread(state_);
    } else {
      before_ = PyGILState_Ensure();
    }
  }
  ~WithGil() {
    if (state_ != nullptr) {
      PyEval_SaveThread();
      gil::state_without_gil = state_;
    } else {
      PyGILState_Release(before_);
    }
  }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyThreadState* state_;  ///< null: had it, or has no state that we know
  PyGILState_STATE before_{};
};

}  // namespace dynet::python
