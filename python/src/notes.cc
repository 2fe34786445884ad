#include "notes.h"

#include <algorithm>
#include <compare>
#include <new>
#include <string_view>
#include <utility>

namespace nb = nanobind;

namespace dynet::python {
namespace {

struct OfThread {
  bool has_notes = false;
  Notes notes;
  /// The misfit of an earlier reading of one list: for another form of the function, or as another
  /// type. A call within the reading may drop it; then the call tells of the last reading.
  Misfit earlier;
};
OfThread& of_thread() {
  static thread_local OfThread it;
  return it;
}

/// To be written to.
Notes& notes() {
  OfThread& it = of_thread();
  if (!it.has_notes) {
    it.has_notes = true;
    ++noting_threads;
  }
  return it.notes;
}

/// All notes of the thread, which has none then.
Notes take_notes() {
  OfThread& it = of_thread();
  if (!it.has_notes) {
    return {};
  }
  it.has_notes = false;
  --noting_threads;
  return std::exchange(it.notes, Notes());
}

/// Releases notes that were taken out, as this may run code of the user's.
void release(const Notes& gone) {
  for (const auto& [iterator, list] : gone.lists) {
    Py_DECREF(list);
    Py_DECREF(iterator);
  }
  Py_XDECREF(gone.misfit.value);
  Py_XDECREF(gone.raised);
}

/// Whether one misfit says better what the user meant than another of the same list: its place is
/// behind the other's, or the other wants a list there. Example: [0, None, 1] may be a list of
/// numbers, or of lists; entry 1 is the mistake, not that entry 0 is no list.
bool is_further(const Misfit& one, const Misfit& other) {
  const auto order = std::lexicographical_compare_three_way(one.place, one.place + one.depth,
                                                            other.place, other.place + other.depth);
  return order > 0 || (order == 0 && std::string_view(other.want).starts_with("a list"));
}

/// Keeps the misfit of the last reading as the earlier one, unless an earlier one came further.
void set_misfit(const Misfit& misfit) {
  Misfit gone = std::exchange(notes().misfit, misfit);
  Misfit& earlier = of_thread().earlier;
  if (gone.depth > 0 && (earlier.value != gone.value || is_further(gone, earlier))) {
    std::swap(gone, earlier);
  }
  Py_XDECREF(gone.value);
}

/// The error that is set, normalised, and no longer set.
PyObject* take_error() {
  const nb::python_error error;
  return Py_NewRef(error.value().ptr());
}

/// Notes an exception of the user's code, unless one is noted already. Takes the reference.
void set_raised(PyObject* error) {
  if (notes().raised == nullptr) {
    notes().raised = error;
  } else {
    Py_DECREF(error);
  }
}

bool refuse_with(PyObject* type, const char* text) noexcept {
  if (!has_raised()) {
    PyErr_SetString(type, text);
    set_raised(take_error());
  }
  return false;
}

}  // namespace

void CallNotes::set_aside() noexcept {
  if (of_thread().has_notes) {  // and not only another thread's
    outer_.emplace(take_notes());
  }
}

void CallNotes::forget() noexcept {
  const Notes gone = take_notes();
  PyObject* const earlier = std::exchange(of_thread().earlier, Misfit()).value;
  if (outer_.has_value()) {
    notes() = std::move(*outer_);
  }
  release(gone);
  Py_XDECREF(earlier);
}

Misfit take_misfit() noexcept {
  if (!may_have_notes()) {
    return {};
  }
  Misfit last = std::exchange(of_thread().notes.misfit, Misfit());
  Misfit earlier = std::exchange(of_thread().earlier, Misfit());
  if (last.depth > 0 && earlier.value == last.value && is_further(earlier, last)) {
    std::swap(last, earlier);
  }
  Py_XDECREF(earlier.value);
  return last;
}

// Python code leaves a traceback, and conversions of numbers raise only these three.
bool is_users_own(PyObject* error) noexcept {
  const nb::object traceback = nb::steal(PyException_GetTraceback(error));
  return traceback.is_valid() || (PyErr_GivenExceptionMatches(error, PyExc_TypeError) == 0 &&
                                  PyErr_GivenExceptionMatches(error, PyExc_ValueError) == 0 &&
                                  PyErr_GivenExceptionMatches(error, PyExc_OverflowError) == 0);
}

void note_raised() noexcept { set_raised(take_error()); }

bool has_raised() noexcept { return may_have_notes() && of_thread().notes.raised != nullptr; }

bool raise_noted() noexcept {
  if (!has_raised()) {
    return false;
  }
  const nb::object raised = nb::steal(std::exchange(of_thread().notes.raised, nullptr));
  PyErr_SetObject(raised.type().ptr(), raised.ptr());
  return true;
}

bool refuse(PyObject* value, const char* want) noexcept {
  if (PyErr_Occurred() != nullptr) {
    const nb::object error = nb::steal(take_error());
    if (is_users_own(error.ptr())) {
      set_raised(Py_NewRef(error.ptr()));
    }
  }
  set_misfit({.value = Py_NewRef(value), .want = want});
  return false;
}

bool refuse_number(PyObject* value, std::int64_t low, std::int64_t high, bool is_index) noexcept {
  set_misfit({.value = Py_NewRef(value),
              .want = "a whole number",
              .is_number = true,
              .is_index = is_index,
              .low = low,
              .high = high});
  return false;
}

bool refuse_entry(PyObject* list, Py_ssize_t i) noexcept {
  Misfit& it = notes().misfit;
  if (it.value != nullptr && it.depth < Misfit::kMaxDepth) {
    std::copy_backward(it.place, it.place + it.depth, it.place + it.depth + 1);
    it.place[0] = i;
    ++it.depth;
    PyObject* old = std::exchange(it.value, Py_NewRef(list));
    Py_DECREF(old);
  }
  return false;
}

bool refuse_changed() noexcept {
  return refuse_with(PyExc_ValueError, "a list changed its length while it was read");
}

bool refuse_too_large() noexcept {
  return refuse_with(PyExc_MemoryError, "a list is too large for the memory that is left");
}

bool refused(std::uint32_t flags) noexcept {
  if ((flags & static_cast<std::uint32_t>(nb::detail::cast_flags::convert)) == 0) {
    PyObject* old =
        may_have_notes() ? std::exchange(of_thread().notes.misfit, Misfit()).value : nullptr;
    Py_XDECREF(old);
  }
  return false;
}

PyObject* list_of_iterator(PyObject* iterator) noexcept {
  if (!may_have_notes()) {
    return nullptr;
  }
  const auto& lists = of_thread().notes.lists;
  const auto found = lists.find(iterator);
  return found == lists.end() ? nullptr : found->second;
}

bool note_list(PyObject* iterator, PyObject* list) noexcept try {
  notes().lists.emplace(iterator, list);
  Py_INCREF(iterator);
  Py_INCREF(list);
  return true;
} catch (const std::bad_alloc&) {
  return refuse_too_large();
}

}  // namespace dynet::python
