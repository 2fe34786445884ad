#pragma once

// The module's guard in a Python without a lock (free-threaded builds, `python3.13t`).
//
// With its lock (the GIL) Python runs one thread at a time, and all data of this module rely on the
// GIL: builders, collections, dictionaries, the lines of nodes. Without a GIL the module has a lock
// of its own, which looks the same from here: each way in from Python takes the lock, and the lock
// is free while a thread waits, computes without the GIL or runs code of the program's.
//
// The lock is a critical section of Python's, which Python itself releases whenever a thread is
// detached: when the GIL is released (gil_scoped_release, PyEval_SaveThread), at a wait for a lock,
// at a fork, and when all threads are stopped. So the lock cannot be part of a deadlock, no code
// that releases the GIL has to know of it, and a child process never finds it taken.
//
// As with the GIL, others may enter at every call that may run Python code, and also at a call that
// touches an object which another thread holds at the time. So finish a change before such a call.
// Example: notes.h takes an object out of its notes before it drops the reference.
//
// Surprising: with the GIL these classes are empty, and make no instruction.

#include <Python.h>

#include <cstdint>

namespace dynet::python {

#ifdef Py_GIL_DISABLED

/// The object that has the lock; lives as long as the process.
inline PyObject* module_lock = nullptr;
/// When the module is made, first of all.
void make_module_lock();

/// Scope with the module's lock. Each function that Python calls directly begins with an Entered;
/// they nest.
class Entered {
 public:
  Entered() noexcept : begun_(!is_innermost()) {
    if (begun_) {
      PyCriticalSection_Begin(&section_, module_lock);
    }
  }
  ~Entered() {
    if (begun_) {
      PyCriticalSection_End(&section_);
    }
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  /// Whether this thread took the lock last, and it is not suspended: the address then has no flag
  /// in its low bits. Python 3.13 does not look: it would find the lock taken, wait, release the
  /// lock because it waits, and take it again, which is right but takes microseconds. Later
  /// versions look.
  static bool is_innermost() noexcept {
    const std::uintptr_t innermost = PyThreadState_GetUnchecked()->critical_section;
    return innermost != 0 && (innermost & 3U) == 0 &&
           reinterpret_cast<const PyCriticalSection*>(innermost)->_cs_mutex ==
               &module_lock->ob_mutex;
  }
  bool begun_;
  PyCriticalSection section_;
};

/// Scope without the lock in a thread that has it: code of the program's runs, which may take long
/// or wait for another thread.
class OthersMayEnter {
 public:
  explicit OthersMayEnter(bool from_now = true) noexcept {
    if (from_now) {
      begin();
    }
  }
  ~OthersMayEnter() {
    if (begun_) {
      PyCriticalSection_End(&section_);  // takes the one before
    }
  }
  OthersMayEnter(const OthersMayEnter&) = delete;
  OthersMayEnter& operator=(const OthersMayEnter&) = delete;

  /// Once, if the constructor did not begin.
  void begin() noexcept {
    begun_ = true;
    PyCriticalSection_Begin(&section_, &nobodys_);
    // A detached thread releases all its locks, and takes the last one again.
    PyEval_RestoreThread(PyEval_SaveThread());
  }

 private:
  bool begun_ = false;
  PyObject nobodys_{};  ///< nothing of it is used but its lock
  PyCriticalSection section_;
};

/// Objects of this class, which nanobind made, are destroyed with the lock.
void lock_destruction(PyTypeObject* type);

#else

inline void make_module_lock() {}
struct Entered {
  Entered() noexcept {}  // NOLINT(modernize-use-equals-default): then constants need a value
};
struct OthersMayEnter {
  explicit OthersMayEnter(bool /*from_now*/ = true) noexcept {}
  void begin() noexcept {}
};
inline void lock_destruction(PyTypeObject* /*type*/) {}

#endif

}  // namespace dynet::python
