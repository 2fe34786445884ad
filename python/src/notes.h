#pragma once

// The notes of a thread while it reads the arguments of one call.
//
// nanobind reads the arguments of a call up to twice for each form of its function, and a mended
// call (calls.h) reads them once more. The user's own code, in a generator, in `__float__` or at
// Ctrl-C, must run once. So the notes keep the facts for the next reading, and for the end of the
// call:
//
// - The misfit: the value that did not fit, its place, and the wanted kind.
// - The exception that the user's own code raised. From then on the readers refuse without running
//   such code again, and the call raises the exception, whatever else became of the call.
// - The list that was made of each iterator, which gives its entries only once.
//
// The user's code may make calls itself, so each call has notes of its own: `CallNotes`. Example:
// in f(x for x in xs) the generator runs once, and a second form of f reads the list in the notes.

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace dynet::python {

/// A value that did not fit.
struct Misfit {
  static constexpr std::size_t kMaxDepth = 4;
  PyObject* value = nullptr;  ///< owned: the value, or the list it is in; null: no misfit
  const char* want = "";      ///< "a whole number"
  bool is_number = false;     ///< a number, but not one from `low` to `high`
  bool is_index = false;
  std::int64_t low = 0, high = 0;
  std::size_t depth = 0;  ///< of the place within `value`
  Py_ssize_t place[kMaxDepth] = {};
};

/// Owns its objects, but releases none by itself: the thread's notes may outlive Python.
struct Notes {
  Misfit misfit;
  PyObject* raised = nullptr;                      ///< by the user's own code
  std::unordered_map<PyObject*, PyObject*> lists;  ///< by the iterator that each was made of
};

/// How many threads have noted something.
#ifdef Py_GIL_DISABLED
inline std::atomic<unsigned> noting_threads = 0;  // also during OthersMayEnter (lock.h)
#else
inline unsigned noting_threads = 0;
#endif
inline bool may_have_notes() noexcept { return noting_threads != 0; }

/// Empty notes for the call that begins. The notes of the outer call come back at the end, when the
/// notes of this call are forgotten. GIL held.
class CallNotes {
 public:
  CallNotes() noexcept {
    if (may_have_notes()) [[unlikely]] {
      set_aside();
    }
  }
  ~CallNotes() {
    if (may_have_notes() || outer_.has_value()) [[unlikely]] {
      forget();
    }
  }
  CallNotes(const CallNotes&) = delete;
  CallNotes& operator=(const CallNotes&) = delete;

 private:
  void set_aside() noexcept;
  void forget() noexcept;
  std::optional<Notes> outer_;
};

/// The misfit is no longer noted; the caller owns its objects.
Misfit take_misfit() noexcept;
/// Notes one; returns false. An error that is set is dropped, unless the user's own code raised it.
bool refuse(PyObject* value, const char* want) noexcept;
/// The misfit is a number outside of some limits. Returns false.
bool refuse_number(PyObject* value, std::int64_t low, std::int64_t high, bool is_index) noexcept;
/// The misfit is entry `i` of `list`. Returns false.
bool refuse_entry(PyObject* list, Py_ssize_t i) noexcept;
/// Code of the user's changed the list during the reading: ValueError. Returns false.
bool refuse_changed() noexcept;
/// No memory for the entries: MemoryError. Returns false.
bool refuse_too_large() noexcept;
/// Returns false. Forgets the misfit if nanobind only tries: it asks again, with other flags,
/// before it refuses the call.
bool refused(std::uint32_t flags) noexcept;
/// Thrown by a binding that converts by hand, after it noted a misfit.
struct Refused {};

/// Whether the user's own code raised an error, not a conversion of numbers or an iteration.
bool is_users_own(PyObject* error) noexcept;
/// The error that is set was raised by the user's own code.
void note_raised() noexcept;
/// Whether that code has raised an error in this call.
bool has_raised() noexcept;
/// Raises the noted error in the place of another Python error. False if there is none.
bool raise_noted() noexcept;

/// The list that this call has made of an iterator. Borrowed; null if there is none.
PyObject* list_of_iterator(PyObject* iterator) noexcept;
/// Notes that list. False without memory for it, which is noted instead.
bool note_list(PyObject* iterator, PyObject* list) noexcept;

}  // namespace dynet::python
