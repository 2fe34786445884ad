#pragma once

// The frames of the running Python code. This is the one file that knows how a version of CPython
// lays them out: a new version gets a branch here, and python/tests/test_frames.py says whether it
// is right.
//
// The public functions make an object for each frame, about 100 ns for the first node of each call
// of a Python function. So the innermost frame, which nearly always is the one looked for, is read
// without an object:
//
//   3.10        through the public functions only
//   3.11        the fields of all frames, with CPython's internal header
//   3.12 on     the innermost frame's fields, with functions that CPython offers to debuggers
//               (PyUnstable_InterpreterFrame_...); frames outside of it through the public ones

#include <Python.h>
#if PY_VERSION_HEX < 0x030b0000
#include <frameobject.h>  // the frame itself: 3.10 has no function for where it is
#elif PY_VERSION_HEX < 0x030c0000 && __has_include(<internal/pycore_frame.h>)
#define DYNET_READS_FRAMES 1
#define Py_BUILD_CORE 1  // NOLINT: CPython's own name
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#endif

namespace dynet::python {

/// The way through the public functions.
template <class IsIt>
int find_frame_object(IsIt& is_it) {
  int offset = -1;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame != nullptr && offset < 0) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    if (is_it(code)) {
#if PY_VERSION_HEX < 0x030b0000
      offset = frame->f_lasti * 2;  // it counts instructions, of two bytes each
#else
      offset = PyFrame_GetLasti(frame);
#endif
      offset = offset < 0 ? 0 : offset;  // it has not begun
    }
    Py_DECREF(code);
    PyFrameObject* caller = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = caller;
  }
  Py_XDECREF(frame);
  return offset;
}

/// Calls is_it(code) for the code of each frame of this thread, from the innermost outwards, until
/// the answer is true. Returns the offset in that code of the instruction that runs, in bytes; -1
/// if no answer was true. `is_it` may be asked twice about the innermost. GIL held.
template <class IsIt>
int find_frame(IsIt is_it) {
#if defined(DYNET_READS_FRAMES)
  const _PyInterpreterFrame* frame = PyThreadState_Get()->cframe->current_frame;
  while (frame != nullptr && !is_it(frame->f_code)) {
    frame = frame->previous;
  }
  return frame == nullptr
             ? -1
             : _PyInterpreterFrame_LASTI(frame) * static_cast<int>(sizeof(_Py_CODEUNIT));
#else
#if PY_VERSION_HEX >= 0x030c0000
#if PY_VERSION_HEX >= 0x030d0000
  _PyInterpreterFrame* const frame = PyThreadState_Get()->current_frame;
#else
  _PyInterpreterFrame* const frame = PyThreadState_Get()->cframe->current_frame;
#endif
  if (frame != nullptr) {
    PyObject* const code = reinterpret_cast<PyObject*>(PyUnstable_InterpreterFrame_GetCode(frame));
    // A thread that runs no Python code has a frame of the interpreter's own, without code.
    const bool is_found = PyCode_Check(code) != 0 && is_it(reinterpret_cast<PyCodeObject*>(code));
    Py_DECREF(code);
    if (is_found) {
      const int offset = PyUnstable_InterpreterFrame_GetLasti(frame);
      return offset < 0 ? 0 : offset;
    }
  }
#endif
  return find_frame_object(is_it);
#endif
}

}  // namespace dynet::python
