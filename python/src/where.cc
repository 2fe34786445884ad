// Reading the frame through the public functions makes a frame object for it, about 100 ns for the
// first node of each call of a Python function. In 3.11 its two fields are read directly instead.
#include <Python.h>
#if PY_VERSION_HEX < 0x030b0000
#include <frameobject.h>  // the frame itself: 3.10 has no function for where it is
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000 && \
    __has_include(<internal/pycore_frame.h>)
#define DYNET_READS_FRAME 1
#define Py_BUILD_CORE 1  // NOLINT: CPython's own name
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#endif

#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>

#include "ended.h"
#include "where.h"

namespace dynet::python {
namespace {

struct Place {
  PyCodeObject* code = nullptr;  // borrowed from the frame, or, where kept, ours
  int offset = 0;
};

/// The folder of the package, with a slash at its end; empty as long as it is not imported.
const std::string& package_folder() {
  static auto* folder = new std::string;  // never destroyed, as KeptCode
  if (folder->empty()) {
    PyObject* name = PyUnicode_FromString("dynet");
    PyObject* module = name == nullptr ? nullptr : PyImport_GetModule(name);
    PyObject* file = module == nullptr ? nullptr : PyModule_GetFilenameObject(module);
    const char* path = file == nullptr ? nullptr : PyUnicode_AsUTF8(file);
    if (path != nullptr) {
      const std::string text = path;
      *folder = text.substr(0, text.find_last_of("/\\") + 1);
    }
    Py_XDECREF(file);
    Py_XDECREF(module);
    Py_XDECREF(name);
    PyErr_Clear();
  }
  return *folder;
}

/// Code objects that nodes may refer to, and those of the package, to which none does. Never
/// shrinks: a program has a bounded number of functions. Guarded by the GIL, or by the module's
/// lock (lock.h); never destroyed, as nodes may outlive the module's own statics.
class KeptCode {
 public:
  /// False for code of the package, and for what imports it: the line that its caller is at tells
  /// the user more.
  bool keep(PyCodeObject* code) {
    const Kept& recent = recent_[place_of(code)];
    return recent.code == code ? recent.is_of_program : keep_other(code);
  }

 private:
  struct Kept {
    PyCodeObject* code = nullptr;
    bool is_of_program = false;
  };
  static std::size_t place_of(PyCodeObject* code) {
    return (reinterpret_cast<std::uintptr_t>(code) >> 6) % kRecent;
  }
  /// Not inline: nearly all code is recent, and this takes registers from the caller.
  [[gnu::noinline]] bool keep_other(PyCodeObject* code) {
    const bool is = is_of_program(code);
    recent_[place_of(code)] = {code, is};
    return is;
  }
  bool is_of_program(PyCodeObject* code) {
    const auto found = all_.find(code);
    if (found != all_.end()) {
      return found->second;
    }
    const bool is = !is_of_package(code);  // first: other threads may come here meanwhile (lock.h)
    if (all_.emplace(code, is).second) {
      Py_INCREF(code);
    }
    return is;
  }
  /// What Python itself runs between `import dynet` and the package counts as the package.
  static bool is_of_package(PyCodeObject* code) {
    static constexpr char kImport[] = "<frozen importlib";
    const std::string& folder = package_folder();
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    PyErr_Clear();
    return file != nullptr &&
           (std::strncmp(file, kImport, sizeof kImport - 1) == 0 ||
            (!folder.empty() && std::strncmp(file, folder.c_str(), folder.size()) == 0));
  }

  static constexpr std::size_t kRecent = 256;
  Kept recent_[kRecent] = {};
  std::unordered_map<PyCodeObject*, bool> all_;  ///< whether it is of a program
};
KeptCode& kept_code() {
  static auto* kept = new KeptCode;
  return *kept;
}

/// The innermost frame that is the program's.
Place innermost() {
  Place place;
#ifdef DYNET_READS_FRAME
  const _PyInterpreterFrame* frame = PyThreadState_Get()->cframe->current_frame;
  while (frame != nullptr && !kept_code().keep(frame->f_code)) {
    frame = frame->previous;
  }
  if (frame != nullptr) {
    place.code = frame->f_code;
    place.offset = _PyInterpreterFrame_LASTI(frame) * static_cast<int>(sizeof(_Py_CODEUNIT));
  }
#else
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame != nullptr && place.code == nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    if (kept_code().keep(code)) {
      place.code = code;
#if PY_VERSION_HEX < 0x030b0000
      place.offset = frame->f_lasti * 2;  // it counts instructions, of two bytes each
#else
      place.offset = PyFrame_GetLasti(frame);
#endif
    }
    Py_DECREF(code);  // kept_code() has its own
    PyFrameObject* caller = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = caller;
  }
  Py_XDECREF(frame);
#endif
  return place;
}

std::string text_of(PyObject* string) {
  const char* text = PyUnicode_AsUTF8(string);
  if (text == nullptr) {
    PyErr_Clear();
    return "?";
  }
  return text;
}

std::string describe(const void* code, unsigned offset) {
  if (Py_IsInitialized() == 0) {
    return "Python code";
  }
  const PyGILState_STATE gil = PyGILState_Ensure();
  auto* from = const_cast<PyCodeObject*>(static_cast<const PyCodeObject*>(code));
  const int line = PyCode_Addr2Line(from, static_cast<int>(offset));
  const std::string function = text_of(from->co_name);
  std::string text = text_of(from->co_filename) + ":" + std::to_string(line);
  if (function != "<module>") {
    text += " in " + function + "()";
  }
  PyGILState_Release(gil);
  return text;
}

}  // namespace

Where here() {
  const Place place = innermost();
  return place.code == nullptr ? Where()
                               : Where::in_code(place.code, static_cast<unsigned>(place.offset));
}

namespace {
struct End {
  const char* by = nullptr;
  Place place;
};
End& last_end() {
  static thread_local End of_thread;
  return of_thread;
}
std::string text_of(const Place& place) {
  return place.code == nullptr ? std::string()
                               : describe(place.code, static_cast<unsigned>(place.offset));
}
}  // namespace

void note_end(const char* by) { last_end() = {by, innermost()}; }

std::string end_text() {
  const End& end = last_end();
  const std::string place = text_of(end.place);
  return place.empty() ? place : std::string("\n  ") + end.by + " at " + place;
}

std::string line_here() { return text_of(innermost()); }

void install_location_resolver() { ext::set_location_resolver(&describe); }

}  // namespace dynet::python
