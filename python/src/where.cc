// Reading the frame through the public functions makes a frame object for it, about 100 ns for the
// first node of each call of a Python function. In 3.11 its two fields are read directly instead.
#include <Python.h>
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000 && \
    __has_include(<internal/pycore_frame.h>)
#define DYNET_READS_FRAME 1
#define Py_BUILD_CORE 1  // NOLINT: CPython's own name
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#endif

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "where.h"

namespace dynet::python {
namespace {

struct Place {
  PyCodeObject* code = nullptr;  // borrowed from the frame, or, where kept, ours
  int offset = 0;
};

/// Code objects that nodes may refer to. Never shrinks: a program has a bounded number of
/// functions. Guarded by the GIL; never destroyed, as nodes may outlive the module's own statics.
class KeptCode {
 public:
  void keep(PyCodeObject* code) {
    PyCodeObject*& recent = recent_[(reinterpret_cast<std::uintptr_t>(code) >> 6) % kRecent];
    if (recent == code) {
      return;
    }
    if (all_.insert(code).second) {
      Py_INCREF(code);
    }
    recent = code;
  }

 private:
  static constexpr std::size_t kRecent = 256;
  PyCodeObject* recent_[kRecent] = {};
  std::unordered_set<PyCodeObject*> all_;
};
KeptCode& kept_code() {
  static auto* kept = new KeptCode;
  return *kept;
}

Place innermost() {
  Place place;
#ifdef DYNET_READS_FRAME
  const _PyInterpreterFrame* frame = PyThreadState_Get()->cframe->current_frame;
  if (frame != nullptr) {
    place.code = frame->f_code;
    place.offset = _PyInterpreterFrame_LASTI(frame) * static_cast<int>(sizeof(_Py_CODEUNIT));
  }
#else
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  if (frame != nullptr) {
    place.code = PyFrame_GetCode(frame);
    place.offset = PyFrame_GetLasti(frame);
  }
#endif
  if (place.code != nullptr) {
    kept_code().keep(place.code);
  }
#ifndef DYNET_READS_FRAME
  Py_XDECREF(place.code);  // kept_code() has its own
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

struct PlaceHash {
  std::size_t operator()(const std::pair<PyCodeObject*, int>& p) const {
    return reinterpret_cast<std::uintptr_t>(p.first) * 31U + static_cast<std::size_t>(p.second);
  }
};

}  // namespace

ext::Where here() {
  const Place place = innermost();
  ext::Where where;
  where.code = place.code;
  where.line = static_cast<unsigned>(place.offset);
  return where;
}

SourceLine here_line() {
  struct Recent {
    Place place;
    SourceLine line;
  };
  constexpr std::size_t kRecent = 64;
  static auto* recents = new std::array<Recent, kRecent>;
  static auto* lines = new std::unordered_map<std::pair<PyCodeObject*, int>, SourceLine, PlaceHash>;
  static auto* files = new std::unordered_set<std::string>;
  const Place place = innermost();
  if (place.code == nullptr) {
    return {"Python code", 0};
  }
  // A loop comes to the same few lines again: they are found without a look into `lines`.
  Recent& recent = (*recents)[PlaceHash()({place.code, place.offset}) / 2 % kRecent];
  if (recent.place.code == place.code && recent.place.offset == place.offset) {
    return recent.line;
  }
  const auto [at, is_new] = lines->try_emplace({place.code, place.offset});
  if (is_new) {
    const int line = PyCode_Addr2Line(place.code, place.offset);
    at->second = {files->insert(text_of(place.code->co_filename)).first->c_str(),
                  static_cast<unsigned>(line)};
  }
  recent = {place, at->second};
  return at->second;
}

void install_location_resolver() { ext::set_location_resolver(&describe); }

}  // namespace dynet::python
